"""How a node becomes something that runs: the seam between a search and what builds.

A builder turns the name of a node into `BuiltNode`, or says that it cannot: `BuildFailed`. Equal
codes are equal builds. Commits are built by `[build]` of the study; levels of a factor are there
already.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.bisection.history import SAFE
from assay.changes import image_of
from assay.core.cache import cache, keep, scratch
from assay.core.digest import canonical, digest, file_digest
from assay.core.errors import AssayError, InputError
from assay.study import Factor

LIMIT_S = 3600.0
"""A build that takes longer is ended."""
ABOUT = "build.json"
_LAST = 4000


class BuildFailed(AssayError):
    """A node that does not build: the first line of why, and the log."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True)
class BuiltNode:
    """A node that can run: `path` of its executable, None where a level is a setting.

    `seconds`: what the build took when it was made.
    """

    code: str
    sha256: str = ""
    path: Path | None = None
    seconds: float = 0.0


class Builder(Protocol):
    """Makes nodes."""

    def build(self, name: str) -> BuiltNode:
        """Make a node, or take it from the cache. BuildFailed where it does not build."""
        ...


class BuildSection(BaseModel):
    """`[build]` of a study: commands without a shell, run in the unpacked tree."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    configure: list[str] = []
    make: list[str]
    product: str

    @classmethod
    def read(cls, name: str, values: object) -> BuildSection:
        """InputError where the table is not as it should be."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            raise InputError(
                f"{name}: [build] {key}: {first['msg']}",
                next_step='write make = ["make", "server"] and product = "server" there',
            ) from error


@dataclass(frozen=True)
class CommitBuilder:
    """Builds commits of a git folder by the commands of `[build]`."""

    repo: Path
    section: BuildSection

    def build(self, name: str) -> BuiltNode:
        tree = self._git("rev-parse", f"{name}^{{tree}}").decode().strip()
        named = digest(canonical([tree, self.section.model_dump()]))[:32]
        place = keep(cache("commits") / named, lambda folder: self._fill(folder, name))
        path = place / Path(self.section.product).name
        sha256 = file_digest(path)
        return BuiltNode(sha256, sha256, path, float((place / ABOUT).read_text()))

    def _fill(self, place: Path, name: str) -> None:
        begun = time.monotonic()
        with scratch("build") as made:
            tree = made / "tree"
            tree.mkdir()
            with (made / "tree.tar").open("w+b") as archive:
                archive.write(self._git("archive", "--format=tar", name))
                archive.seek(0)
                with tarfile.open(fileobj=archive) as packed:
                    packed.extractall(tree, filter="data")
            for command in (self.section.configure, self.section.make):
                if command:
                    self._run(command, tree)
            product = tree / self.section.product
            if not product.is_file():
                raise BuildFailed(f"{self.section.make[0]} made no {self.section.product}")
            shutil.copy2(product, place / product.name)
        (place / ABOUT).write_text(str(round(time.monotonic() - begun, 3)))

    def _git(self, *words: str) -> bytes:
        command = ["git", *SAFE, "-C", str(self.repo), *words]
        done = subprocess.run(command, capture_output=True)
        if done.returncode:
            raise InputError(f"{self.repo}: {done.stderr.decode('utf-8', 'replace').strip()}")
        return done.stdout

    def _run(self, command: Sequence[str], folder: Path) -> None:
        try:
            done = subprocess.run(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=LIMIT_S, text=True, errors="replace",
            )  # fmt: skip
        except FileNotFoundError as error:
            raise InputError(f"[build] {command[0]} is not here") from error
        except subprocess.TimeoutExpired as error:
            raise BuildFailed(f"{command[0]} did not end within {LIMIT_S:.0f} s") from error
        if done.returncode:
            lines = [line for line in done.stdout.splitlines() if "error" in line.lower()]
            why = lines[0].strip() if lines else f"{command[0]} ended with {done.returncode}"
            raise BuildFailed(why, done.stdout[-_LAST:])


@dataclass(frozen=True)
class LevelBuilder:
    """The levels of a factor: nothing is built, equal executables are one node."""

    levels: Mapping[str, str]
    """Level -> its code."""

    @classmethod
    def of(cls, factor: Factor) -> LevelBuilder:
        return cls({name: _code(factor, name) for name in factor.levels})

    def build(self, name: str) -> BuiltNode:
        return BuiltNode(self.levels[name])


def _code(factor: Factor, name: str) -> str:
    binary = factor.levels[name].application.binary
    image = None if binary is None else image_of(Path(binary))
    return digest(canonical([factor.name, name])) if image is None else file_digest(image)
