"""Which files depend on a changed one, by what they include: found by names, so never too few.

A build's own knowledge of this may be absent (PostgreSQL's without `--enable-depend`), and its
objects are then silently those of the source before the patch.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

_INCLUDE = re.compile(rb'(?m)^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:["<]([^">\n]+)[">]|(\w+))')
_DEFINED = re.compile(rb'(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+["<]([^">\n]+)[">]')
_GIVEN = re.compile(r'^-D(\w+)=\\*["<]([^">\\]+)')
_CODE = re.compile(r"\.(c|cc|cpp|cxx|C|h|hh|hpp|hxx|ic|inc|inl|ipp|i|y|l|s|S|in)$")


def dependants(tree: Path, changed: Iterable[str], words: Iterable[str] = ()) -> set[str]:
    """The paths in `tree` of all files that are changed or include one that is, by whatever way.

    Files count as the same if they are called the same. `words` are those of compilers, which may
    say what a macro is that is included.
    """
    includers: dict[str, set[str]] = defaultdict(set)
    by_macro: dict[str, set[str]] = defaultdict(set)
    macros: dict[str, set[str]] = defaultdict(set)
    for path in _code(tree):
        known, text = path.relative_to(tree).as_posix(), path.read_bytes()
        for name, macro in _INCLUDE.findall(text):
            if macro:
                by_macro[macro.decode()].add(known)
            else:
                includers[_called(name.decode("utf-8", "replace"))].add(known)
        for macro, name in _DEFINED.findall(text):
            macros[macro.decode()].add(_called(name.decode("utf-8", "replace")))
    for given in filter(None, map(_GIVEN.match, words)):
        macros[given[1]].add(_called(given[2]))
    for macro, files in by_macro.items():
        for name in macros.get(macro, ()):
            includers[name] |= files
    found = {PurePosixPath(c).as_posix() for c in changed}
    left = list(found)
    while left:
        new = includers.get(_called(left.pop()), set()) - found
        found |= new
        left += new
    return found


def _called(name: str) -> str:
    return PurePosixPath(name).name


def _code(tree: Path) -> Iterable[Path]:
    for folder, folders, files in os.walk(tree):
        folders[:] = [f for f in folders if f != ".git"]
        for file in files:
            path = Path(folder, file)
            if _CODE.search(file) and not path.is_symlink():
                yield path
