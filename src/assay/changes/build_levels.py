"""Levels that are builds: `patch`, `flags`, `compiler`, `commit`, `configure`, `link`.

Each makes an `Application` with a variation of the program that `[build]` of the study names; which
executables these become is known once they are built. `allocator` is the library that a server
takes its memory from, put before its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from assay.builds import Variation
from assay.changes.declaration import Application, Level, LevelError
from assay.changes.witness import BuiltAs, Environ, Witness

BUILD_CHANGES = {
    "patch": "a patch of the source, a unified diff, or several in order; off is the source as it "
    "is",
    "flags": "flags for the compiler, which come after the program's own; { add, remove } takes "
    "some away",
    "compiler": "the compiler by its command, such as gcc-12 or clang-14",
    "commit": "a commit of a source that is git's",
    "configure": "options or variables for the program's configure or, where it has none, its make",
    "link": "how the program is linked: static, or words for the last link",
}
ALLOCATOR = "allocator"
ALLOCATORS = (
    "a library with malloc, loaded before the server's own: jemalloc, tcmalloc, mimalloc or a path"
)
PRELOAD = "LD_PRELOAD"

LIBRARIES: Mapping[str, tuple[str, str]] = {
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    "mimalloc": ("libmimalloc.so.2", "libmimalloc2.0"),
}
"""Allocators of the distribution: the file, and the package that has it."""

FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/lib/*-linux-gnu")


def build_levels(
    kind: str, factor: str, levels: Mapping[str, Any], base: Path
) -> tuple[dict[str, Level], Witness]:
    """The levels of a factor that is a build; LevelError names one that cannot be."""
    made = {}
    for name, value in levels.items():
        variation = Variation() if value is None else _VARIATIONS[kind](factor, value, base)
        made[name] = Level(name, Application(variation=variation))
    known: list[Variation | None] = [level.application.variation for level in made.values()]
    for value, own in zip(levels.values(), known, strict=True):
        if known.count(own) > 1:
            raise LevelError(f"factor {factor}: two levels are the same build", value)
    return made, BuiltAs()


def allocator_levels(factor: str, levels: Mapping[str, Any]) -> tuple[dict[str, Level], Witness]:
    """The levels of an allocator; the one that names none has the server's own."""
    made = {}
    for name, value in levels.items():
        path = None if value is None else _library(factor, value)
        made[name] = Level(name, Application(env={PRELOAD: path}))
    return made, Environ()


def _library(factor: str, value: Any) -> str:
    if not isinstance(value, str):
        raise LevelError(f"factor {factor}: {value!r} is no allocator", value)
    if "/" in value:
        found = [Path(value)] if Path(value).is_file() else []
        package = ""
    else:
        file, package = LIBRARIES.get(value, (value, ""))
        found = [
            place
            for folder in FOLDERS
            for place in Path("/").glob(f"{folder.lstrip('/')}/{file}")
            if place.is_file()
        ]
    if not found:
        advice = f": sudo apt-get install {package}" if package else ""
        raise LevelError(f"factor {factor}: the allocator {value} is not here{advice}", value)
    return str(found[0])


def _words(factor: str, value: Any) -> tuple[str, ...]:
    """A text as a shell would split it, or a list of words."""
    if isinstance(value, list) and all(isinstance(w, str) for w in value):
        return tuple(value)
    try:
        if isinstance(value, str):
            return tuple(shlex.split(value))
    except ValueError as error:
        raise LevelError(f"factor {factor}: {value!r}: {error}", value) from error
    raise LevelError(f"factor {factor}: {value!r} should be a text, or a list of texts", value)


def _text(factor: str, value: Any) -> str:
    if not isinstance(value, str) or not value or value.startswith("-"):
        raise LevelError(f"factor {factor}: {value!r} should be a name", value)
    return value


def _patch(factor: str, value: Any, base: Path) -> Variation:
    names = value if isinstance(value, list) else [value]
    return Variation(patches=tuple(_patch_file(factor, name, base) for name in names))


def _patch_file(factor: str, name: Any, base: Path) -> Path:
    """A file next to the study, or one that comes with Assay."""
    if not isinstance(name, str) or not name:
        raise LevelError(f"factor {factor}: {name!r} should be the path of a patch", name)
    own = base / name
    shipped = Path(str(resources.files("assay") / "library" / "patches" / name))
    found = own if own.is_file() or "/" in name or not shipped.is_file() else shipped
    if not found.is_file():
        raise LevelError(f"factor {factor}: {name!r} is not a file", name)
    return found


def _flags(factor: str, value: Any, base: Path) -> Variation:
    if not isinstance(value, dict):
        return Variation(flags=tuple(w.removeprefix("+") for w in _words(factor, value)))
    if not set(value) <= {"add", "remove"}:
        raise LevelError(f"factor {factor}: a level has add and remove, and no more", value)
    added, removed = (_words(factor, value.get(key, [])) for key in ("add", "remove"))
    return Variation(flags=added, without=removed)


def _link(factor: str, value: Any, base: Path) -> Variation:
    words = _words(factor, value)
    return Variation(link=("-static",) if words == ("static",) else words)


_VARIATIONS: Mapping[str, Callable[[str, Any, Path], Variation]] = {
    "patch": _patch,
    "flags": _flags,
    "compiler": lambda factor, value, base: Variation(compiler=_text(factor, value)),
    "commit": lambda factor, value, base: Variation(commit=_text(factor, value)),
    "configure": lambda factor, value, base: Variation(configure=_words(factor, value)),
    "link": _link,
}
