"""The pilot as a plan records it: which runs it has, what it may cost, and what it found.

A study file that says `warmup = "auto"` or `window = "auto"` leaves these times to a pilot. Its
runs never count; what they showed stands in the plan, so that a reader can check the choice.
"""

from __future__ import annotations

from collections.abc import Callable

from pydantic import BaseModel, ConfigDict

from assay._units import format_duration
from assay.study.designs import arms
from assay.study.model import SENTINEL, Arm, Case, Study
from assay.study.phases import planned_screen

RUNS = 3
"""Runs of each arm in each case: the least from which noise between runs can be told."""

SHARE = 0.15
"""Of the budget, at most, goes into the pilot."""

LEAST_S = 0.5
"""The shortest pilot run: 100 intervals of 5 ms."""

AUTO_TIMES = frozenset({"warmup", "window"})
"""What a study may leave to a pilot."""

STAND_INS = {"warmup": 0.2, "window": 0.5}
"""Seconds that an `auto` counts for in the budget until a pilot has chosen."""


class Piloted(BaseModel):
    """The base of what a plan says about its pilot: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PilotedArm(Piloted):
    """One arm in one case. Variances are relative, of the primary metric in one interval or run.

    `cuts_s`: where each run became steady; `settled`: whether that was seen, in most of the runs;
    `inside_variance`: of one interval, so that n of them have 1/n of it; `between_variance`: of
    whole runs, beyond what their intervals explain.
    """

    arm: str
    cuts_s: list[float]
    settled: bool
    inside_variance: float
    between_variance: float


class PilotedCase(Piloted):
    """One case: noise as contrasts see it (blocks and arms taken out), and what follows from it.

    `overhead_s`: what a run takes beside warm-up and window; `intervals`: how many make the
    cheapest window.
    """

    case: str
    inside_variance: float
    between_variance: float
    overhead_s: float
    intervals: int
    arms: list[PilotedArm]


class PlannedPilot(Piloted):
    """`pilot` in `plan.json`. Times in seconds; `chosen` names what the plan took from it."""

    chosen: list[str]
    runs: int
    took_s: float
    length_s: float
    interval_s: float
    warmup_s: float
    window_s: float
    cases: list[PilotedCase]

    @property
    def unsettled(self) -> list[str]:
        """Arms that were still changing when the longest pilot ended."""
        return list(dict.fromkeys(a.arm for c in self.cases for a in c.arms if not a.settled))

    @property
    def doubt(self) -> str:
        """What the pilot could not see, as a sentence; or nothing."""
        if not self.unsettled:
            return ""
        return (
            f"{', '.join(self.unsettled)} still changed after {format_duration(self.length_s)}, "
            "the longest runs that the pilot could afford: the warm-up may be too short, and "
            "a larger budget would tell"
        )

    @property
    def overhead_s(self) -> float:
        """What a run takes beside warm-up and window, on average."""
        return sum(c.overhead_s for c in self.cases) / len(self.cases)

    @property
    def last_cut_s(self) -> float:
        """When the slowest run became steady."""
        return max(cut for c in self.cases for a in c.arms for cut in a.cuts_s)


def piloted_arms(study: Study) -> list[Arm]:
    """The arms a pilot runs: those that are measured first, without the baseline's twin."""
    made = arms(study)
    screen = planned_screen(study, made)
    first = {made[0].name, *screen.cells} if screen else {a.name for a in made}
    return [a for a in made if a.name in first and a.name != SENTINEL]


def pilot_cost_s(
    study: Study, seconds: Callable[[Case, Arm], float], length_s: float = LEAST_S
) -> float:
    """How long a pilot with runs of `length_s` takes; `seconds` is what a run takes beside it."""
    made = piloted_arms(study)
    beside = sum(seconds(case, arm) for case in study.cases for arm in made)
    return RUNS * (beside + length_s * len(made) * len(study.cases))
