"""What is in the folder: bundles, studies and diagnoses, each under a name that is drawn from its
path. A request has such a name and never a path, so none leads out of the folder.

No link is followed; nothing is opened but plain files; a folder that is too deep or too wide is cut
off, which is said. A study is read as text only: none of its programs is looked for or run.
"""

from __future__ import annotations

import os
import time
import tomllib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import TypeAdapter, ValidationError

from assay.core.digest import digest
from assay.core.errors import AlteredError, InputError
from assay.diagnosis import Diagnosis
from assay.record import files

DEPTH = 4
"""Folders below the first one."""
ENTRIES = 20_000
"""Files and folders that are looked at."""
FRESH_S = 1.0
"""For how long a look is not repeated."""
STUDY_BYTES = 1 << 20
DIAGNOSIS_BYTES = 64 << 20
OF_A_BUNDLE = frozenset({"plan.json", "study.toml", "runs.jsonl"})
OF_A_DIAGNOSIS = b'"candidates"'
"""Near the beginning of what `assay doctor --json` prints."""


@dataclass
class ShelfContents:
    """Folders and files by name; `is_cut` where there is more."""

    bundles: dict[str, Path] = field(default_factory=dict)
    studies: dict[str, Path] = field(default_factory=dict)
    diagnoses: dict[str, Path] = field(default_factory=dict)
    is_cut: bool = False


@dataclass(frozen=True)
class ShelvedStudy:
    """A study as its text says; nothing of it was checked."""

    name: str
    text: str
    values: Mapping[str, Any]

    def said(self, *keys: str) -> str:
        """A text of it; empty where there is none."""
        found: Any = self.values
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        return found if isinstance(found, str) else ""


class Shelf:
    """One folder."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._lock = Lock()
        self._seen = ShelfContents()
        self._looked_s = float("-inf")

    def contents(self) -> ShelfContents:
        """What is there now."""
        with self._lock:
            if time.monotonic() - self._looked_s > FRESH_S:
                self._seen = _look(self.root)
                self._looked_s = time.monotonic()
            return self._seen

    def bundle(self, name: str) -> Path:
        """The folder of a bundle. InputError where there is none of that name."""
        return _named(self.contents().bundles, name, "bundle")

    def address(self, folder: str) -> str:
        """The page of the bundle in a folder; empty where it is none of these."""
        name = name_of(Path(folder))
        return f"/bundles/{name}" if name in self.contents().bundles else ""

    def study(self, name: str) -> ShelvedStudy:
        """A study of the folder. InputError where there is none of that name."""
        path = _named(self.contents().studies, name, "study")
        found = study_in(path)
        if found is None:
            raise InputError(f"{self.shown(path)} is no study any more")
        return found

    def diagnosis(self, name: str) -> Diagnosis:
        """A diagnosis of the folder. InputError where there is none, or it cannot be read."""
        path = _named(self.contents().diagnoses, name, "diagnosis")
        try:
            return TypeAdapter(Diagnosis).validate_json(_bytes(path, DIAGNOSIS_BYTES))
        except ValidationError as error:
            raise InputError(
                f"{self.shown(path)} is no diagnosis: {error.error_count()} mistakes",
                next_step="keep what `assay doctor --json` printed as it is",
            ) from error

    def shown(self, path: Path) -> str:
        """A path for people: what is below the folder."""
        if path == self.root or not path.is_relative_to(self.root):
            return str(path)
        return str(path.relative_to(self.root))


def name_of(path: Path) -> str:
    """What a file or folder is called in addresses."""
    return digest(os.fsencode(path))[:16]


def study_in(path: Path) -> ShelvedStudy | None:
    """The study of a file; None where it is none."""
    try:
        text = _bytes(path, STUDY_BYTES).decode("utf-8")
        values = tomllib.loads(text)
    except (AlteredError, ValueError, RecursionError):
        return None
    is_study = isinstance(values.get("question"), str) and ("target" in values or "case" in values)
    return ShelvedStudy(path.name, text, values) if is_study else None


def _named(known: Mapping[str, Path], name: str, kind: str) -> Path:
    if name not in known:
        raise InputError(
            f"there is no such {kind} in this folder", next_step="go back to the list of them"
        )
    return known[name]


def _bytes(path: Path, most: int) -> bytes:
    """AlteredError where it is no plain file or larger."""
    with files.plain(path, os.O_RDONLY) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise AlteredError(f"{path} is too large")
    return data


def _look(root: Path) -> ShelfContents:
    found, seen = ShelfContents(), 0
    waiting = deque([(root, 0)])
    while waiting:
        folder, depth = waiting.popleft()
        inside = _inside(folder)
        seen += len(inside)
        if seen > ENTRIES:
            found.is_cut = True
            break
        if {entry.name for entry in inside} >= OF_A_BUNDLE:
            found.bundles[name_of(folder)] = folder
            continue
        for entry in inside:
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                found.is_cut = found.is_cut or depth == DEPTH
                if depth < DEPTH:
                    waiting.append((path, depth + 1))
            elif entry.is_file(follow_symlinks=False):
                _sort(found, path)
    return found


def _inside(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder in order of names, without what is hidden; nothing where we may not."""
    try:
        with os.scandir(folder) as entries:
            return sorted((e for e in entries if e.name[:1] != "."), key=lambda e: e.name)
    except OSError:
        return []


def _sort(found: ShelfContents, path: Path) -> None:
    if path.suffix == ".toml" and study_in(path) is not None:
        found.studies[name_of(path)] = path
    elif path.suffix == ".json" and OF_A_DIAGNOSIS in _head(path):
        found.diagnoses[name_of(path)] = path


def _head(path: Path) -> bytes:
    try:
        with files.plain(path, os.O_RDONLY) as file:
            return file.read(512)
    except AlteredError:
        return b""
