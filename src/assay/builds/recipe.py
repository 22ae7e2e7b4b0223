"""What every recipe is, and what it hands over."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Built:
    """One executable or library, and all that its contents follow from. Digests are SHA-256."""

    path: Path
    sha256: str
    version: str
    source_sha256: str
    compiler: str
    flags: str


class Recipe(Protocol):
    """Makes arms of one program."""

    name: str
    arms: tuple[str, ...]
    takes: str
    """How long making takes where nothing is kept, in words."""

    def kept(self, arm: str) -> bool:
        """Whether the arm seems to have been made before: a look into the cache."""
        ...

    def make(self, arm: str) -> Built:
        """The arm's file, made now if it is not kept; MissingError says what it lacks."""
        ...
