"""How a node becomes something that runs: the seam between a search and what builds.

A builder turns the name of a node into `BuiltNode`, or says that it cannot: `BuildFailed`. Equal
codes are equal builds. Commits are built by `[build]` of the study; levels of a factor are there
already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from assay.bench.variations import in_order
from assay.bisection.plan import FACTOR
from assay.builds import (
    PLAIN,
    BuildError,
    BuiltProgram,
    Variation,
    differences,
    make,
    relinked,
)
from assay.changes import Level, generic_change, image_of
from assay.changes.witness import BuiltAs
from assay.core.digest import canonical, digest, file_digest
from assay.core.errors import AssayError
from assay.study import Factor, Study
from assay.study.build import StudyBuild

MARK = 32
"""Characters of a build's mark that its build id begins with."""


class BuildFailed(AssayError):
    """A node that does not build: the first line of why, and the log."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True)
class BuiltNode:
    """A node that can run. `program` is None where a level is no build of ours.

    `seconds`: what the build took when it was made.
    """

    code: str
    sha256: str = ""
    seconds: float = 0.0
    program: BuiltProgram | None = None


class Builder(Protocol):
    """Makes nodes."""

    def build(self, name: str) -> BuiltNode:
        """Make a node, or take it from the cache. BuildFailed where it does not build."""
        ...

    def compared(self, one: BuiltNode, other: BuiltNode) -> list[str]:
        """The functions and data in which two nodes differ; empty where that is not known."""
        ...


@dataclass(frozen=True)
class CommitBuilder:
    """Builds commits of a git folder as `[build]` says."""

    program: StudyBuild

    def variation(self, name: str) -> Variation:
        return self.program.common.merged(Variation(commit=name))

    def build(self, name: str) -> BuiltNode:
        variation = self.variation(name)
        try:
            made = make(self.program.program, variation)
            if self.program.layout == "shuffled":
                relinked(made, PLAIN + 1)
        except BuildError as error:
            raise BuildFailed(error.line or error.message, _text(error.log)) from error
        return BuiltNode(made.code, made.sha256, made.seconds, made)

    def compared(self, one: BuiltNode, other: BuiltNode) -> list[str]:
        if one.program is None or other.program is None:
            return []
        found = differences(one.program, other.program)
        return sorted({*found.touched, *found.data})

    def study(
        self, base: Study, built: Mapping[str, BuiltNode], place: tuple[int, int] | None
    ) -> Study:
        """The study whose one factor has these nodes as levels; `place` is the seed of the plan and
        the block, by which functions are put in order, or None for the order of the build."""
        names = {name: name for name in built}
        case = base.cases[0]
        change = generic_change("commit", FACTOR, None, names, target=case.target, base=Path("/"))
        programs = {name: node.program for name, node in built.items() if node.program}
        marks = {name: (program.mark[:MARK],) for name, program in programs.items()}
        change = replace(change, witness=BuiltAs(marks))
        factor = Factor(FACTOR, change, dict(change.levels), change.effort)
        made = {self.variation(name): program for name, program in programs.items()}
        return in_order(replace(base, factors={FACTOR: factor}, built=made), place)


def _text(log: Path) -> str:
    try:
        return log.read_text("utf-8", "replace")
    except OSError:
        return ""


@dataclass(frozen=True)
class LevelBuilder:
    """The levels of a factor: nothing is built, equal executables are one node."""

    codes: Mapping[str, str]
    """By level."""

    @classmethod
    def of(cls, factor: Factor) -> LevelBuilder:
        return cls({name: _code(factor, level) for name, level in factor.levels.items()})

    def build(self, name: str) -> BuiltNode:
        return BuiltNode(self.codes[name])

    def compared(self, one: BuiltNode, other: BuiltNode) -> list[str]:
        return []


def _code(factor: Factor, level: Level) -> str:
    binary = level.application.binary
    image = None if binary is None else image_of(Path(binary))
    return digest(canonical([factor.name, level.name])) if image is None else file_digest(image)
