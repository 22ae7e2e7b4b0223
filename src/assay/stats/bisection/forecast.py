"""What a search will take, said before it: builds, and runs between the least and the most."""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.stats.bisection.step import blocks_for, levels_of, rule_for

ENDS, STEP = 2, 3
"""Runs of a block: of the ends or of a confirmation, and of a step."""


@dataclass(frozen=True)
class Forecast:
    """`builds` at most; `runs` if every look is the first that can decide, `runs_most` if every
    stage takes its planned blocks."""

    builds: int
    runs: int
    runs_most: int

    def plus(self, other: Forecast) -> Forecast:
        """Both together."""
        return Forecast(
            self.builds + other.builds, self.runs + other.runs, self.runs_most + other.runs_most
        )


def steps_of(span: int) -> int:
    """Steps that a search needs at most among `span` neighbouring pairs."""
    return max(0, math.ceil(math.log2(span))) if span > 0 else 0


def forecast_of(
    span: int, path_alpha: float, pair_alpha: float, effect: float, noise: float
) -> Forecast:
    """The rest of a search among `span` neighbouring pairs, whose ends are built and told apart.

    `path_alpha`: error left for its steps together; `effect` and `noise` of a pair in log units.
    """
    steps = steps_of(span)
    least, most = _blocks(rule_alpha=pair_alpha, effect=effect, noise=noise)
    runs, runs_most = ENDS * least, ENDS * most
    if steps:
        least, most = _blocks(2 * path_alpha / steps, effect, noise)
        runs, runs_most = runs + STEP * steps * least, runs_most + STEP * steps * most
    return Forecast(steps, runs, runs_most)


def _blocks(rule_alpha: float, effect: float, noise: float) -> tuple[int, int]:
    rule = rule_for(effect, rule_alpha)
    planned = blocks_for(noise, rule)
    return next(iter(levels_of(rule, planned))), planned
