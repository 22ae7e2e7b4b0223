"""One command and no other: how its runs are distributed, and what difference they could show.

The median has a percentile bootstrap interval (Efron & Tibshirani, An Introduction to the
Bootstrap, 1993). What could be seen follows from the spread of runs, as the sample size of a study
does: two commands that vary alike differ by that spread times the root of two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from assay.core.errors import RunError
from assay.core.interrupt import stop_if_asked
from assay.stats.rule import Rule
from assay.stats.sample_size import blocks_for_smallest
from assay.study import Study, arms
from assay.targets import TARGETS
from assay.targets.base import Measured

RUNS_LEAST, RUNS_MOST = 10, 200
ENOUGH_S = 10.0
"""Without a budget so long, once the least number of runs is made."""

RESAMPLES = 10_000
EFFECTS = (0.01, 0.02, 0.05, 0.10)


@dataclass(frozen=True)
class Alone:
    """The runs of one command. `values` in the metric's unit, in the order of runs; `to_see`: by
    effect how many blocks of two such commands a study would plan."""

    name: str
    metric: str
    values: tuple[float, ...]
    low: float
    high: float
    empty_ns: float | None
    executions: int
    to_see: dict[float, int]

    @property
    def median(self) -> float:
        """The median of the runs."""
        return float(np.median(self.values))


def measure_alone(
    study: Study,
    budget_s: float | None,
    seed: int,
    told: Callable[[Sequence[float]], object] = lambda values: None,
) -> Alone:
    """Run the only command of a study again and again; RunError if it fails."""
    (case,), (arm, *_) = study.cases, arms(study)
    target, launch = TARGETS[case.target], study.launch(case, arm, seed=seed)
    values: list[float] = []
    empty: list[float] = []
    executions = 0
    begun = time.monotonic()
    with TemporaryDirectory(prefix="assay-alone-") as folder:
        target.check(launch)
        while not _enough(len(values), time.monotonic() - begun, budget_s):
            stop_if_asked()
            server = target.start(launch, Path(folder) / "log")
            try:
                measured = server.measure(lambda done, spent: None)
            finally:
                server.stop()
            values.append(_value(measured, study.primary, len(values)))
            executions += measured.operations
            empty += [n for k, n in measured.counters.items() if k == "empty.wall_ns"]
            told(values)
    low, high = interval_of_median(values, seed)
    return Alone(
        name=arm.levels["command"],
        metric=study.primary,
        values=tuple(values),
        low=low,
        high=high,
        empty_ns=float(np.median(empty)) if empty else None,
        executions=executions,
        to_see=to_see(values, study.alpha),
    )


def _enough(runs: int, spent_s: float, budget_s: float | None) -> bool:
    if runs < RUNS_LEAST:
        return False
    return runs >= RUNS_MOST or spent_s >= (ENOUGH_S if budget_s is None else budget_s)


def _value(measured: Measured, metric: str, run: int) -> float:
    if not measured.complete:
        raise KeyboardInterrupt("nothing is kept of one command alone")
    value = measured.metrics.get(metric, 0.0)
    if value <= 0:
        raise RunError(f"run {run} has no {metric}")
    return value


def interval_of_median(values: Sequence[float], seed: int) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the median."""
    drawn = np.random.default_rng(seed)
    whole = np.asarray(values)
    medians = np.median(drawn.choice(whole, (RESAMPLES, len(whole))), axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return float(low), float(high)


def to_see(values: Sequence[float], alpha: float) -> dict[float, int]:
    """By effect the blocks that a study of two commands as noisy as this one would plan."""
    spread = float(np.std(np.log(values), ddof=1)) * float(np.sqrt(2))
    return {e: blocks_for_smallest(spread, Rule(e, e, alpha), 1) for e in EFFECTS}
