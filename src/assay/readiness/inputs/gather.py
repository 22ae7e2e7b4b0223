"""Sorting what was named: folders are walked, packages unpacked, and nothing else is followed.

Inside a folder links are not followed, so that no loop of links can hold the walk, and a file is
taken once whatever its names. Of a package only what may be inspected is written, into a folder
of ours and under names of ours: no path of a package is ever used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from assay.core.errors import InputError
from assay.core.printable import printable
from assay.readiness.inputs.items import (
    Binary,
    Inputs,
    RefusedInput,
    SourceFile,
    SourceTree,
)
from assay.readiness.inputs.kinds import HEAD_BYTES, PACKAGES, kind_of, language
from assay.readiness.inputs.streams import CHUNK, Budget, PackageRefusal, Readable

MOST_NESTED = 2
"""How deep packages may lie in packages."""

_LARGEST_SOURCE = 32 << 20
_IN_FOLDERS = (".deb", ".rpm", ".whl")
_WHAT = {
    stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}  # fmt: skip
_OTHER = "neither an ELF file, a static library, a package nor a source by its name"
_WHY = {
    "empty": "it is empty",
    "thin": "it is a thin archive: its members are elsewhere; name them instead",
    "other": f"it is {_OTHER}",
}


def gather(paths: Iterable[Path], scratch: Path) -> Inputs:
    """Everything to inspect. InputError if a path is not there; `scratch` is an empty folder."""
    found = _Gathering(scratch)
    for path in paths:
        try:
            mode = path.stat().st_mode
        except FileNotFoundError as error:
            raise InputError(
                f"{path} is not there", next_step="name a file, a folder or a package"
            ) from error
        except OSError as error:
            found.refuse(str(path), str(error.strerror or error))
            continue
        if stat.S_ISDIR(mode):
            found.folder(path)
        else:
            found.named(path, mode)
    return found.inputs


class _Gathering:
    """What was found so far."""

    def __init__(self, scratch: Path) -> None:
        self.inputs = Inputs()
        self._scratch = scratch
        self._written = 0
        self._seen: set[tuple[int, int]] = set()

    def refuse(self, shown: str, why: str) -> None:
        """Say that something is not inspected."""
        self.inputs.refused.append(RefusedInput(printable(shown), why))

    def folder(self, top: Path) -> None:
        """Everything below a folder that may be inspected; the rest is passed over."""
        tree = SourceTree(printable(str(top)).rstrip("/"))

        def barred(error: OSError) -> None:
            self.refuse(str(error.filename), str(error.strerror))

        for folder, names, files in os.walk(top, onerror=barred):
            names[:] = sorted(n for n in names if n not in (".git", ".svn", ".hg"))
            for name in sorted(files):
                path = Path(folder, name)
                self._in_folder(path, path.relative_to(top).as_posix(), tree)
        self._add(tree)

    def _add(self, tree: SourceTree) -> None:
        if tree.files:
            self.inputs.trees.append(tree)

    def _in_folder(self, path: Path, name: str, tree: SourceTree) -> None:
        try:
            about = path.lstat()
            if not stat.S_ISREG(about.st_mode) or (about.st_dev, about.st_ino) in self._seen:
                return
            self._seen.add((about.st_dev, about.st_ino))
            if language(name):
                self._source(path, name, tree, about.st_size)
                return
            kind = kind_of(_head(path), name)
        except OSError as error:
            self.refuse(str(path), str(error.strerror or error))
            return
        if kind in ("elf", "archive"):
            self.inputs.binaries.append(Binary(path, printable(str(path)), printable(name)))
        elif kind in PACKAGES and path.suffix in _IN_FOLDERS:
            self._package(path, kind, str(path), 1)

    def named(self, path: Path, mode: int) -> None:
        """A file that was named: if it is not inspected, that is said."""
        shown = str(path)
        if not stat.S_ISREG(mode):
            what = _WHAT.get(stat.S_IFMT(mode), "no regular file")
            self.refuse(shown, f"it is {what}, which is not opened")
            return
        try:
            kind = kind_of(_head(path), path.name)
        except OSError as error:
            self.refuse(shown, str(error.strerror or error))
            return
        if kind in ("elf", "archive"):
            self.inputs.binaries.append(Binary(path, printable(shown), printable(path.name)))
        elif kind in PACKAGES:
            self._package(path, kind, shown, 1)
        elif kind == "source":
            tree = SourceTree(printable(str(path.parent)) if path.parent != Path(".") else "")
            self._source(path, path.name, tree, path.stat().st_size)
            self._add(tree)
        else:
            self.refuse(shown, _WHY[kind])

    def _source(self, path: Path, name: str, tree: SourceTree, size: int) -> None:
        if size > _LARGEST_SOURCE:
            self.refuse(str(path), f"it is a source of more than {_LARGEST_SOURCE >> 20} MiB")
        elif size:
            tree.files.append(SourceFile(path, printable(name)))

    def _package(self, path: Path, kind: str, shown: str, depth: int) -> None:
        """What may be inspected of a package. What reads them is imported for the first."""
        from assay.readiness.inputs.packages import BROKEN, damage, members

        tree = SourceTree(printable(shown), is_archive=True)
        inner: list[tuple[Path, str, str]] = []
        budget = Budget()
        try:
            for name, content in members(path, kind, budget):
                self._member(content, name, tree, inner)
        except PackageRefusal as refusal:
            self.refuse(shown, f"{refusal}; what came before that is inspected")
        except BROKEN as error:
            self.refuse(shown, f"{damage(error)}; what came before that is inspected")
        self._add(tree)
        for kept, inner_kind, name in inner:
            label = f"{shown}:{name}"
            if depth >= MOST_NESTED:
                self.refuse(label, f"packages in packages are opened {MOST_NESTED} deep")
            else:
                self._package(kept, inner_kind, label, depth + 1)

    def _member(
        self, content: Readable, name: str, tree: SourceTree, inner: list[tuple[Path, str, str]]
    ) -> None:
        head = content.read(CHUNK)
        kind = kind_of(head, name)
        is_inner = kind in PACKAGES and Path(name).suffix in _IN_FOLDERS
        if kind not in ("elf", "archive", "source") and not is_inner:
            return
        kept = self._write(head, content, Path(name).suffix if is_inner else "")
        if kind == "source":
            self._source(kept, name.removeprefix("./"), tree, kept.stat().st_size)
        elif is_inner:
            inner.append((kept, kind, name))
        else:
            plain = printable(name.removeprefix("./"))
            self.inputs.binaries.append(Binary(kept, f"{tree.shown}:{plain}", plain))

    def _write(self, head: bytes, content: Readable, suffix: str) -> Path:
        self._written += 1
        place = self._scratch / f"{self._written}{suffix if suffix in _IN_FOLDERS else ''}"
        with place.open("wb") as file:
            file.write(head)
            while part := content.read(CHUNK):
                file.write(part)
        return place


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)
