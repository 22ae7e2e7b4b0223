"""What a study says of a program: its settings, and what stands in its commands for what."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.parameters import Parameter, by_name
from assay.targets.base import Launch
from assay.targets.commands import filled, pairs
from assay.targets.native.embedded import environment
from assay.targets.servers.framework.adapter import Place
from assay.targets.servers.framework.load import CLIENT, CLIENT_NAMES

PATIENCE_S = 120.0
"""How long a program may take to be ready, and each of its commands to end."""

SETTINGS = by_name(
    (
        Parameter("start", "words", "the server in the foreground, as words that no shell reads"),
        Parameter("let", "words", 'what {NAME} in all commands stands for: ["NAME=value", ...]'),
        Parameter("env", "words", 'variables of the server: ["NAME=value", ...]'),
        Parameter("directory", "any", "the folder that it works in; where Assay was started"),
        Parameter("template", "any", "a folder whose contents are copied to {dir} for each run"),
        Parameter("reset", "words", "a command before each start, after the copy"),
        Parameter("port", "count", "the port, of one that takes no other", low=1, high=65535),
        Parameter("ready_log", "any", "ready when a line of its output matches this expression"),
        Parameter("ready_command", "words", "ready when this command ends with code 0"),
        Parameter("patience", "duration", "one that is not ready by then fails", PATIENCE_S),
        Parameter("stop", "words", "a command that ends it; by default SIGTERM"),
        Parameter("quiet", "flag", "its output is thrown away", False),
        Parameter("witness", "words", "a command that shows what is in force, once it is ready"),
        Parameter("expect", "any", "the expression that what this prints must match"),
        Parameter("url", "any", 'where it answers: "redis://127.0.0.1:{port}"'),
        Parameter("prepared", "flag", "the template holds the workload's data", False),
        *CLIENT.values(),
    )
)


def own(launch: Launch) -> dict[str, Any]:
    """The settings that are given, without those of Assay's own load."""
    given = launch.settings.items()
    return {n: v for n, v in given if n in SETTINGS and n not in CLIENT_NAMES and v is not None}


def values(launch: Launch, place: Place, seconds: float = 0.0) -> dict[str, str]:
    """What stands for each {NAME}: the study's own names first, whose values may hold the others.

    Generators take whole seconds, so these are rounded up.
    """
    known = {
        **pairs(launch.settings.get("let", ())),
        "port": str(place.port),
        "dir": str(place.folder),
        "host": place.host,
        "seed": str(launch.seed),
        "seconds": str(max(1, math.ceil(seconds))),
    }
    url = launch.settings.get("url")
    return known if url is None else {"url": str(url), **known}


def words(launch: Launch, name: str, place: Place) -> list[str]:
    """A command among the settings, filled in; empty where none is given."""
    return filled(launch.settings.get(name, ()), values(launch, place))


def uses(words: Sequence[str], name: str) -> bool:
    """Whether {NAME} stands in a command."""
    return any(f"{{{name}}}" in word for word in words)


def variables(launch: Launch, folder: Path) -> dict[str, str]:
    """The environment of the server."""
    given = {**launch.env, **pairs(launch.settings.get("env", ()))}
    return {**environment(given), **mark(folder)}


def mark(folder: Path) -> Mapping[str, str]:
    """The variable by which all that a run starts is found again."""
    return {"TMPDIR": str(folder)}
