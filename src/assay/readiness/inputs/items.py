"""The things that are inspected, and those that are not, each with its name for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Binary:
    """An ELF file or a static library. `name` is what it is called whatever holds it."""

    path: Path
    shown: str
    name: str


@dataclass(frozen=True)
class SourceFile:
    """A file of a source tree; `name` is relative to the tree, with slashes."""

    path: Path
    name: str


@dataclass
class SourceTree:
    """A source tree: a folder, or what a tarball holds."""

    shown: str
    files: list[SourceFile] = field(default_factory=list)
    is_archive: bool = False

    def shown_of(self, name: str) -> str:
        """How people find a file of it."""
        if not self.shown:
            return name
        return f"{self.shown}{':' if self.is_archive else '/'}{name}"


@dataclass(frozen=True)
class RefusedInput:
    """What is not inspected, and why."""

    shown: str
    why: str


@dataclass
class Inputs:
    """All that was named, sorted."""

    binaries: list[Binary] = field(default_factory=list)
    trees: list[SourceTree] = field(default_factory=list)
    refused: list[RefusedInput] = field(default_factory=list)
