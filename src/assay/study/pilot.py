"""The pilot as a plan records it: which runs it has, what it may cost, and what it found.

A study file that says `warmup = "auto"` or `window = "auto"` leaves these times to a pilot. Its
runs never count; what they showed stands in the plan, so that a reader can check the choice.
"""

from __future__ import annotations

from collections.abc import Callable

from assay.plan.names import CONTROLS
from assay.study.designs import arms
from assay.study.model import Arm, Case, Study
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


def piloted_arms(study: Study) -> list[Arm]:
    """The arms a pilot runs: those that are measured first, without the baseline's twin."""
    made = arms(study)
    screen = planned_screen(study, made)
    first = {made[0].name, *screen.cells} if screen else {a.name for a in made}
    return [a for a in made if a.name in first and a.name not in CONTROLS]


def pilot_cost_s(
    study: Study, seconds: Callable[[Case, Arm], float], length_s: float = LEAST_S
) -> float:
    """How long a pilot with runs of `length_s` takes; `seconds` is what a run takes beside it."""
    made = piloted_arms(study)
    beside = sum(seconds(case, arm) for case in study.opening for arm in made)
    return RUNS * (beside + length_s * len(made) * len(study.opening))
