"""Which files depend on a changed one, by what they include: found by names, so never too few.

A build's own knowledge of this may be absent (PostgreSQL's without `--enable-depend`), and its
objects are then silently those of the source before the patch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

_INCLUDE = re.compile(rb'(?m)^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:["<]([^">\n]+)[">]|(\w))')
_CODE = re.compile(r"\.(c|cc|cpp|cxx|C|h|hh|hpp|hxx|ic|inc|inl|ipp|i|y|l|s|S|in)$")


def dependants(tree: Path, changed: Iterable[str]) -> set[str]:
    """The paths in `tree` of all files that are changed or include one that is, by whatever way.

    Files count as the same if they are called the same; one that includes what a macro says counts
    as including everything.
    """
    includers: dict[str, set[str]] = {}
    of_anything: set[str] = set()
    for path in _code(tree):
        known = path.relative_to(tree).as_posix()
        for name, by_macro in _INCLUDE.findall(path.read_bytes()):
            if by_macro:
                of_anything.add(known)
            else:
                called = PurePosixPath(name.decode("utf-8", "replace")).name
                includers.setdefault(called, set()).add(known)
    found = {PurePosixPath(c).as_posix() for c in changed}
    left = [*found, *of_anything]
    found |= of_anything
    while left:
        for includer in includers.get(PurePosixPath(left.pop()).name, ()):
            if includer not in found:
                found.add(includer)
                left.append(includer)
    return found


def _code(tree: Path) -> Iterable[Path]:
    for folder, folders, files in os.walk(tree):
        folders[:] = [f for f in folders if f != ".git"]
        for file in files:
            path = Path(folder, file)
            if _CODE.search(file) and not path.is_symlink():
                yield path
