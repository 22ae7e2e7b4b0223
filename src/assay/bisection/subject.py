"""What a search searches: a study, the nodes in their order, and how each becomes something to run.

Of commits the study has one factor, whose levels are executables of commits; its own factors, arms
and design are set aside. Of a factor of the study the nodes are its levels; all others are off.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.bisection.building import Builder, BuiltNode, CommitBuilder, LevelBuilder
from assay.bisection.bundle import SearchBundle
from assay.bisection.history import Repository
from assay.bisection.plan import COMMITS, FACTOR, PlannedNode
from assay.core.errors import InputError
from assay.core.parameters import nearest
from assay.study import Arm, Case, Study, read
from assay.study.read import read_alone
from assay.targets import TARGETS, Target

STAND_IN = {"name": FACTOR, "change": "commit", "levels": {"good": "good", "bad": "bad"}}
"""The factor of a study of commits before any is known: it is read before hours of builds."""


@dataclass(frozen=True)
class Subject:
    """A study of one case whose nodes can be made and run."""

    study: Study
    over: str
    builder: Builder
    base: Path
    repo: Path | None = None

    @property
    def case(self) -> Case:
        return self.study.cases[0]

    def nodes(self, good: str, bad: str, paths: Sequence[str] = ()) -> list[PlannedNode]:
        """From good to bad; InputError where they do not stand so."""
        if self.repo is not None:
            return Repository(self.repo).between(good, bad, paths)
        if paths:
            raise InputError("--path belongs to commits", next_step="leave it out with --over")
        levels = list(self.study.factors[self.over].levels)
        for name in (good, bad):
            if name not in levels:
                raise InputError(
                    f"{self.over} has no level {name!r}{nearest(name, levels)}",
                    next_step=f"its levels are {', '.join(levels)}",
                )
        first, last = levels.index(good), levels.index(bad)
        if first == last:
            raise InputError(f"GOOD and BAD are both {good}", next_step="name two levels")
        step = 1 if first < last else -1
        return [PlannedNode(name=levels[k]) for k in range(first, last + step, step)]

    def with_builds(
        self, built: Mapping[str, BuiltNode], place: tuple[int, int] | None = None
    ) -> Study:
        """The study whose factor has these nodes as levels; `place` is the seed of the plan and the
        block, by which functions are put in order, or None."""
        if not isinstance(self.builder, CommitBuilder):
            return self.study
        return self.builder.study(self.study, built, place)

    def arm(self, name: str) -> Arm:
        """The arm of a node."""
        if self.over == COMMITS:
            return Arm(name, {FACTOR: name})
        off = {factor.name: factor.off for factor in self.study.factors.values()}
        return Arm(name, {**off, self.over: name})


def subject_of(
    study: tuple[str, str, Path],
    *,
    repo: Path | None,
    over: str | None = None,
    overrides: Mapping[str, str] | None = None,
    targets: Mapping[str, Target] = TARGETS,
) -> Subject:
    """The subject of a study as `locate` gives it; its mistakes as `read` raises them.

    `over`: the factor to search; None searches commits of `repo`.
    """
    name, text, base = study
    if over is None:
        folder = (repo or Path()).resolve()
        written = {**(overrides or {}), "build.source": json.dumps(f"git:{folder}")}
        checked = read_alone(name, text, base, STAND_IN, written, targets)
        assert checked.build is not None, "a study whose factor is a commit has a program"
        found = Subject(checked, COMMITS, CommitBuilder(checked.build), base, folder)
    else:
        checked = read(name, text, base, overrides, targets)
        if over not in checked.factors:
            known = ", ".join(checked.factors) or "none"
            raise InputError(
                f"the study has no factor {over!r}{nearest(over, checked.factors)}",
                next_step=f"its factors are {known}",
            )
        found = Subject(checked, over, LevelBuilder.of(checked.factors[over]), base)
    if len(checked.cases) != 1:
        raise InputError(
            f"a search measures one case; {checked.name} has {len(checked.cases)}",
            next_step="give a study with [target] and [workload]",
        )
    return found


def subject_of_bundle(bundle: SearchBundle, targets: Mapping[str, Target] = TARGETS) -> Subject:
    """The subject of a search that was begun."""
    plan = bundle.plan
    located = str(bundle.folder / "study.toml"), bundle.study, Path(plan.base)
    over = None if plan.over == COMMITS else plan.over
    repo = Path(plan.repo) if plan.repo else None
    return subject_of(located, repo=repo, over=over, overrides=plan.overrides, targets=targets)
