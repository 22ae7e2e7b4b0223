"""Going on with a bundle that somebody else began: whether it can be here, and what it runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from assay.changes import Application
from assay.core.errors import BundleError
from assay.record import Bundle
from assay.study import arms, read
from assay.targets import TARGETS, Target

SAME = {"arch": "architecture", "cpu_model": "processor", "cpus": "CPUs", "page_bytes": "page size"}
"""Facts of a machine that a study's runs have in common."""


VARIABLES = ("env", "let")
"""Settings of a job whose words are no command."""


class Begun(Protocol):
    """The bundle of a study or of a search."""

    folder: Path

    @property
    def host(self) -> dict[str, Any]: ...


def require_same_machine(bundle: Begun, facts: Mapping[str, Any]) -> None:
    """BundleError if a study was begun on another machine: its runs are no runs of this one."""
    begun = bundle.host
    for name, title in SAME.items():
        if name in begun and begun[name] != facts[name]:
            raise BundleError(
                f"{bundle.folder} was begun on another machine: {title} {begun[name]}, "
                f"here {facts[name]}",
                next_step=f"go on there, or begin anew with {bundle.folder}/study.toml",
            )


def uses(bundle: Bundle, targets: Mapping[str, Target] = TARGETS) -> list[str]:
    """What runs or is changed on this machine when a bundle's study goes on, a line each: commands
    and undos, executables, variables, values of the host, and settings that name a place."""
    plan = bundle.plan
    name = str(bundle.folder / "study.toml")
    study = read(name, bundle.study, Path(plan.base or "."), plan.overrides, targets)
    found: dict[str, None] = {}
    for case in study.cases:
        found |= dict.fromkeys(_places(case.settings))
        for arm in arms(study):
            found |= dict.fromkeys(_uses(study.application(arm, case.target)))
    return list(found)


def _uses(application: Application) -> Iterator[str]:
    for command in application.commands.values():
        for words in (command.apply, command.witness, command.undo):
            yield f"runs {shlex.join(words)}"
    if application.build is not None:
        yield f"builds {application.build.recipe} {application.build.arm}"
    if application.binary is not None:
        yield f"runs {application.binary}"
    for name, value in application.env.items():
        yield f"sets the server's variable {name} to {value}" if value else f"unsets {name}"
    for key, value in application.host.items():
        yield f"writes {value} to {key}, and back"
    yield from _places(application.settings)


def _places(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if isinstance(value, list) and name not in VARIABLES:
            yield f"runs {shlex.join(value)}"
        elif isinstance(value, list):
            yield f"sets for commands {', '.join(value)}"
        elif isinstance(value, str) and "/" in value:
            yield f"gives the server {name} = {value}"
