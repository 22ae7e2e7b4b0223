"""The question a study asks, once it is known to make sense: cases, factors, arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from assay.builds import BuiltProgram, Variation
from assay.changes import Application, Change, Level
from assay.core.metrics import WRITTEN
from assay.core.terms import Direction, Effort
from assay.plan import Measuring, PlannedAxis
from assay.plan.measuring import LEAD_S
from assay.study.build import StudyBuild
from assay.targets import Launch
from assay.workloads.promise import Promise

DesignKind = Literal[
    "arms", "one-at-a-time", "ladder", "factorial", "sweep", "screen", "race", "scaling"
]


ROUNDS = 10
"""Slices of an arm in a window, where the study does not say how long they are."""

SLICE_LEAST_S, SLICE_MOST_S = 0.02, 0.1
"""Shorter ones would be mostly their beginning, which does not count; longer ones would not meet
the machine at the same speed."""


@dataclass(frozen=True)
class Case:
    """One target with one workload; settings and parameters common to all arms."""

    name: str
    target: str
    settings: Mapping[str, Any]
    workload: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Factor:
    """A change in a study. `levels` by the name used in the study; the first is off.

    `predicts`: the study's own signature, in place of the change's. `touches`: the functions that
    its builds may differ in; None is any.
    """

    name: str
    change: Change
    levels: Mapping[str, Level]
    effort: Effort
    absent: Literal["error", "skip"] = "error"
    requires: tuple[str, ...] = ()
    predicts: Mapping[str, Direction] | None = None
    touches: frozenset[str] | None = None

    def predicted(self, level: str) -> dict[str, Direction]:
        """What a level should do to metrics, against off."""
        if self.predicts is not None:
            return dict(self.predicts)
        return self.change.predicted(self.levels[self.off].name, self.levels[level].name)

    @property
    def off(self) -> str:
        """The level that the baseline has."""
        return next(iter(self.levels))

    @property
    def others(self) -> tuple[str, ...]:
        """The levels that are not off."""
        return tuple(self.levels)[1:]

    def label(self, level: str) -> str:
        """What an arm is called by: the factor, and its level where there are several."""
        return self.name if len(self.levels) == 2 else f"{self.name}={level}"


@dataclass(frozen=True)
class Arm:
    """One assignment of levels to all factors."""

    name: str
    levels: Mapping[str, str]
    placebo: bool = False


@dataclass(frozen=True)
class Absent:
    """A level that this host cannot do and the study chose to go without."""

    factor: str
    level: str
    why: str


@dataclass(frozen=True)
class Network:
    """Server and client as two hosts, each with this many queues each way between them."""

    queues: int = 1


@dataclass(frozen=True)
class Study:
    """A checked study file. Times in seconds, percentages as fractions.

    `order`: the factors of a ladder; the one of a sweep; that of scaling, and then the one it
    compares. `control`: asked for, forbidden, or left to the design. `size`: cells of a screen;
    `blocks`: of a screen or of scaling; None where the design chooses. `auto`: which of warmup
    and window a pilot is to choose; until it has, they hold stand-ins. `counters`: groups that are
    read beside each window. `profile`: whether the server is sampled over each window.
    `axis`: what its cases are points of.
    `timeline`: whether counters and the server's own statistics are kept for each interval.
    `promise`: what each run searches the highest rate of, in place of one window.
    `build`: the program whose variations are arms; `built` has each of them once it was made, and
    `executables` what is run of it, for a placebo (True) and for all other arms.
    """

    name: str
    question: str
    source: str
    text: str
    cases: tuple[Case, ...]
    factors: Mapping[str, Factor]
    primary: str
    also: tuple[str, ...]
    warmup_s: float
    window_s: float
    design: DesignKind
    order: tuple[str, ...]
    control: bool | None
    size: int | None
    blocks: int | None
    arms_listed: tuple[Arm, ...]
    smallest: float
    margin: float
    alpha: float
    budget_s: float
    absent: tuple[Absent, ...] = field(default=())
    auto: frozenset[str] = frozenset()
    interval_s: float = 1.0
    measuring: Measuring | Literal["auto"] = "runs"
    slice_asked_s: float | None = None
    lead_s: float = LEAD_S
    counters: tuple[str, ...] = ()
    profile: bool = False
    timeline: bool = False
    promise: Promise | None = None
    network: Network | None = None
    axis: PlannedAxis | None = None
    build: StudyBuild | None = None
    built: Mapping[Variation, BuiltProgram] = field(default_factory=dict)
    executables: Mapping[tuple[Variation, bool], str] = field(default_factory=dict)

    @property
    def slice_s(self) -> float:
        """How long a turn is: what the study says, or a tenth of its window within bounds."""
        if self.slice_asked_s is not None:
            return self.slice_asked_s
        return min(SLICE_MOST_S, max(SLICE_LEAST_S, round(self.window_s / ROUNDS, 3)))

    @property
    def opening(self) -> tuple[Case, ...]:
        """The cases that are measured from the first block on; a refined axis adds others."""
        if self.axis is None:
            return self.cases
        first = set(self.axis.opening)
        return tuple(c for c in self.cases if c.name in first)

    @property
    def predicted(self) -> tuple[str, ...]:
        """Every metric that some level is to move, or to leave alone."""
        every = [m for f in self.factors.values() for v in f.others for m in f.predicted(v)]
        return tuple(dict.fromkeys(every))

    def application(self, arm: Arm, target: str) -> Application:
        """All that the arm's levels apply to a kind of target; ValueError if two set one thing."""
        merged = Application()
        for name, level in arm.levels.items():
            merged = merged.merged(self.factors[name].levels[level].application.of(target))
        return merged

    def variation(self, arm: Arm, target: str) -> Variation | None:
        """The build that an arm runs; None where the study builds nothing."""
        if self.build is None:
            return None
        own = self.application(arm, target).variation
        return self.build.common.merged(own or Variation())

    def _binary(self, case: Case, arm: Arm) -> str | None:
        variation = self.variation(arm, case.target)
        found = None
        if variation is not None:
            found = self.executables.get((variation, arm.placebo))
        return found or self.application(arm, case.target).binary

    def launch(self, case: Case, arm: Arm, *, seed: int) -> Launch:
        """The launch of one run."""
        application = self.application(arm, case.target)
        return Launch(
            settings={**case.settings, **application.settings},
            workload=case.workload,
            parameters=case.parameters,
            seed=seed,
            warmup_s=self.warmup_s,
            window_s=self.window_s,
            env=application.env,
            binary=self._binary(case, arm),
            interval_s=min(self.interval_s, self.window_s / 2),
            timeline=self.timeline,
            promise=self.promise,
            storage=bool(WRITTEN & {self.primary, *self.also}),
        )

    def without(self, absent: Absent) -> Study:
        """The same study minus one level of a factor; a factor left with only off goes too."""
        factor = self.factors[absent.factor]
        levels = {n: v for n, v in factor.levels.items() if n != absent.level}
        factors = dict(self.factors)
        if absent.level == factor.off or len(levels) < 2:
            del factors[absent.factor]
        else:
            factors[absent.factor] = replace(factor, levels=levels)
        listed = [a for a in self.arms_listed if a.levels.get(absent.factor) != absent.level]
        kept = [
            replace(a, levels={f: v for f, v in a.levels.items() if f in factors}) for a in listed
        ]
        return replace(
            self,
            factors=factors,
            order=tuple(f for f in self.order if f in factors),
            arms_listed=tuple(kept),
            absent=(*self.absent, absent),
        )

    def effort(self, arm: Arm) -> Effort | None:
        """The largest effort among the factors that are not off; None for the baseline."""
        efforts = [
            self.factors[f].effort for f, v in arm.levels.items() if v != self.factors[f].off
        ]
        return max(efforts, default=None)
