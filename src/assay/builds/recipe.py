"""What every recipe is, and what it hands over."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from assay.core.digest import file_digest
from assay.core.errors import InputError


@dataclass(frozen=True)
class Built:
    """One executable or library, and all that its contents follow from. Digests are SHA-256."""

    path: Path
    sha256: str
    version: str
    source_sha256: str
    compiler: str
    flags: str


def load(folder: Path) -> Built:
    """What was made in a folder, by its `build.json`; InputError if its file was changed since."""
    built = Built(**json.loads((folder / "build.json").read_text()))
    path = folder / built.path
    if file_digest(path) != built.sha256:
        raise InputError(
            f"{path} was changed since it was built", next_step=f"remove {folder}; it is made again"
        )
    return replace(built, path=path)


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
