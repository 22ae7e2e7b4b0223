"""The user's own change, without code: `setting`, `env`, `binary`, `host`, `command`, and builds.

Each builds an ordinary `Change` from what a study file says of a factor, with
the witness that its kind allows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from assay.changes.build_levels import (
    ALLOCATOR,
    ALLOCATORS,
    BUILD_CHANGES,
    allocator_levels,
    build_levels,
)
from assay.changes.declaration import Application, Change, Command, Level, LevelError
from assay.changes.witness import CommandSays, Environ, Executable, HostShows, ReadBack, Witness
from assay.core.digest import file_digest
from assay.core.terms import Effort

GENERIC = {
    "setting": "any setting of the target, by its own name; a level may be a table of settings",
    "env": "an environment variable of the server; a level left out means unset",
    "binary": "another build or version of the server, recognised by its contents; of a library "
    "in a Python wheel, the folder that `pip install --target` filled",
    "host": "a value of the kernel's, by key of sysctl or path; a level may be a table of values",
    "command": "anything with an apply, an undo and a witness command",
    ALLOCATOR: ALLOCATORS,
    **BUILD_CHANGES,
}
MAY_BE_UNSET = frozenset({"env", "binary", ALLOCATOR, *BUILD_CHANGES})
"""Changes of which one level may be what there is without any."""


def generic_change(
    kind: str,
    factor: str,
    key: str | None,
    levels: Mapping[str, Any],
    *,
    target: str,
    base: Path,
    effort: Effort = "C",
) -> Change:
    """A change of one generic kind.

    `key` is the setting or the variable; `levels` maps level names to what the
    study file gives; relative paths start at `base`. LevelError names a level that cannot be,
    ValueError any other mistake.
    """
    made, witness = _BUILDS[kind](factor, key, levels, base)
    names = list(levels)
    return Change(
        f"{kind}.{factor}",
        GENERIC[kind],
        frozenset({target}),
        made,
        names[0],
        names[-1],
        witness,
        effort,
    )


Built = tuple[dict[str, Level], Witness]


def _table(value: Any, key: str | None) -> dict[str, Any] | None:
    """A level as a table, or as the value of one key; None where it is neither."""
    if isinstance(value, dict):
        return value
    return None if key is None else {key: value}


def _setting(factor: str, key: str | None, levels: Mapping[str, Any], base: Path) -> Built:
    made = {}
    for name, value in levels.items():
        settings = _table(value, key)
        if settings is None:
            message = f'factor {factor}: add setting = "NAME", or make each level a table'
            raise LevelError(message, value)
        made[name] = Level(name, Application(settings))
    return made, ReadBack()


def _env(factor: str, key: str | None, levels: Mapping[str, Any], base: Path) -> Built:
    if key is None:
        raise ValueError(f'factor {factor}: an env change needs variable = "NAME"')
    for value in levels.values():
        if value is not None and not isinstance(value, str):
            message = f"factor {factor}: {value!r} is not text; variables hold text"
            raise LevelError(message, value)
    made = {n: Level(n, Application(env={key: v})) for n, v in levels.items()}
    return made, Environ()


def _binary(factor: str, key: str | None, levels: Mapping[str, Any], base: Path) -> Built:
    made: dict[str, Level] = {}
    digests: dict[str, str | None] = {}
    for name, value in levels.items():
        # Links stay: some programs go by the name that they are called by.
        path = Path(os.path.abspath(base / value)) if isinstance(value, str) else None
        image = None if path is None else image_of(path)
        if value is not None and image is None:
            message = f"factor {factor}: {value!r} is not a file, nor holds a library"
            raise LevelError(message, value)
        made[name] = Level(name, Application(binary=str(path) if path else None))
        digests[name] = file_digest(image) if image else None
    twice = [n for n, d in digests.items() if list(digests.values()).count(d) > 1]
    if twice:
        message = f"factor {factor}: two levels name the same executable"
        raise LevelError(message, levels[twice[-1]])
    return made, Executable(digests)


def image_of(path: Path) -> Path | None:
    """The file that tells builds apart: itself, or of a folder (`pip install --target`) its own
    shared library, the largest; None if there is none."""
    if path.is_file():
        return path
    found = (p for p in path.rglob("*.so") if p.is_file())
    return max(found, key=lambda p: p.stat().st_size, default=None)


def _host(factor: str, key: str | None, levels: Mapping[str, Any], base: Path) -> Built:
    made = {}
    for name, value in levels.items():
        values = _table(value, key)
        if values is None:
            message = f'factor {factor}: add setting = "KEY", or make each level a table'
            raise LevelError(message, value)
        wrong = [k for k, v in values.items() if type(v) not in (str, int)]
        if wrong:
            message = f"factor {factor}: {wrong[0]} is neither text nor a whole number"
            raise LevelError(message, value)
        made[name] = Level(name, Application(host={k: str(v) for k, v in values.items()}))
    given = [frozenset(level.application.host) for level in made.values()]
    for value, keys in zip(levels.values(), given, strict=True):
        if keys != given[0]:
            raise LevelError(f"factor {factor}: every level gives the same keys a value", value)
    return made, HostShows()


def _command(factor: str, key: str | None, levels: Mapping[str, Any], base: Path) -> Built:
    made = {}
    for name, value in levels.items():
        wanted = {"apply", "undo", "witness", "expect"}
        if not isinstance(value, dict) or set(value) != wanted:
            message = f"factor {factor}: level {name} needs {', '.join(sorted(wanted))}"
            raise LevelError(message, value)
        programs = (value["apply"], value["undo"], value["witness"])
        if not all(_is_command(p) for p in programs) or not isinstance(value["expect"], str):
            message = f"factor {factor}: commands are lists of words, expect is text"
            raise LevelError(message, value)
        apply, undo, witness = map(tuple, programs)
        command = Command(apply, undo, witness, value["expect"])
        made[name] = Level(name, Application(commands={factor: command}))
    return made, CommandSays(factor)


_BUILDS = {
    "setting": _setting,
    "env": _env,
    "binary": _binary,
    "host": _host,
    "command": _command,
}


def _build(kind: str, factor: str, key: str | None, levels: Mapping[str, Any], base: Path) -> Built:
    return build_levels(kind, factor, levels, base)


_BUILDS |= {kind: partial(_build, kind) for kind in BUILD_CHANGES}
_BUILDS[ALLOCATOR] = lambda factor, key, levels, base: allocator_levels(factor, levels)


def _is_command(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(w, str) for w in value)


def applied_values(level: Level, factor: str, target: str = "") -> dict[str, Any]:
    """What a level sets for this kind of target, as its witness wants it."""
    application = level.application.of(target)
    if factor in application.commands:
        return {"expect": application.commands[factor].expect}
    host = {**application.host, **application.steer}
    return {**application.settings, **application.env, **host}
