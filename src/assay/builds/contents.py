"""What builds really differ in: read from the objects that were linked, not from the programs.

Each function and each variable has a digest of its bytes and of what it refers to by name
(`assayer object`, `contents`), so that where things lie has no part in it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay import native
from assay.core.digest import canonical, digest
from assay.core.errors import MissingError

_CLONE = re.compile(r"\.(constprop|isra|part|cold|lto_priv|llvm)(\.\d+)*")
Item = tuple[str, str, str, str, str]
"""Object, name, kind ("function", "data"), digest, and the digest without numbers."""


@dataclass(frozen=True)
class BuildDifference:
    """Names of the functions and variables in which two builds differ, sorted.

    `functions` is how many functions the first has. Those in `numbers` are changed as well, but in
    nothing except numbers within their instructions: a constant, or the number of a line.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    functions: int = 0

    @property
    def touched(self) -> tuple[str, ...]:
        """All functions that differ in any way."""
        return tuple(sorted({*self.added, *self.removed, *self.changed}))

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.data)


def of_objects(paths: Sequence[Path], folder: Path) -> list[Item]:
    """Every function and variable of objects and static libraries below `folder`.

    MissingError if one of them cannot be read.
    """
    found: list[Item] = []
    for about in native.objects(paths, contents=True):
        if isinstance(about, native.RefusedFile):
            if about.path.endswith((".o", ".a", ".lo")):
                message = f"{about.path} is no object that can be compared: {about.why}"
                raise MissingError(message, next_step="build without it")
            continue
        where = Path(about.path).relative_to(folder).as_posix()
        where += f"({about.member})" if about.member else ""
        found += [(where, c.name, c.kind, c.digest, c.shape) for c in about.contents or ()]
    return sorted(found)


def code_digest(items: Iterable[Item]) -> str:
    """One digest of all of it."""
    return digest(canonical([list(item[:4]) for item in items]))


def save(items: Sequence[Item], file: Path) -> None:
    """Writes them down."""
    file.write_text(json.dumps(items, separators=(",", ":")))


def load_items(file: Path) -> list[Item]:
    """What `save` has written."""
    return [(o, n, k, d, s) for o, n, k, d, s in json.loads(file.read_text())]


def stem(name: str) -> str:
    """A function's name without what a compiler adds for a copy or a part of it."""
    return _CLONE.sub("", name)


def compared(one: Sequence[Item], other: Sequence[Item]) -> BuildDifference:
    """In what the second differs from the first."""
    mine, theirs = _by_name(one), _by_name(other)
    found: dict[str, set[str]] = defaultdict(set)
    for key in mine.keys() | theirs.keys():
        before, after = mine.get(key, []), theirs.get(key, [])
        if [b[0] for b in before] == [a[0] for a in after]:
            continue
        _, name, kind = key
        if kind == "data":
            found["data"].add(name)
        elif not before or not after:
            found["removed" if before else "added"].add(stem(name))
        else:
            found["changed"].add(stem(name))
            same = sorted(b[1] for b in before) == sorted(a[1] for a in after)
            found["numbers" if same else "more"].add(stem(name))
    _without_moves(found, mine, theirs)
    both = found["added"] & found["removed"]
    found["changed"] |= both | (found["changed"] & (found["added"] | found["removed"]))
    changed = found["changed"]
    return BuildDifference(
        added=tuple(sorted(found["added"] - changed)),
        removed=tuple(sorted(found["removed"] - changed)),
        changed=tuple(sorted(changed)),
        numbers=tuple(sorted(found["numbers"] - found["more"] - found["added"] - found["removed"])),
        data=tuple(sorted(found["data"])),
        functions=sum(1 for item in one if item[2] == "function"),
    )


Named = dict[tuple[str, str, str], list[tuple[str, str]]]


def _by_name(items: Iterable[Item]) -> Named:
    """By object, name and kind, what stands under it."""
    found: Named = defaultdict(list)
    for where, name, kind, contents, shape in items:
        found[(where, name, kind)].append((contents, shape))
    return {key: sorted(values) for key, values in found.items()}


def _without_moves(found: Mapping[str, set[str]], mine: Named, theirs: Named) -> None:
    """Takes out what is the same in another object: a file was renamed, or split."""
    before, after = _by_stem(mine), _by_stem(theirs)
    for name in found["added"] & found["removed"]:
        if sorted(before[name]) == sorted(after[name]):
            found["added"].discard(name)
            found["removed"].discard(name)


def _by_stem(side: Named) -> Mapping[str, list[tuple[str, str]]]:
    """All functions of a name, in whatever object."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for (_, name, kind), values in side.items():
        if kind == "function":
            found[stem(name)] += values
    return found
