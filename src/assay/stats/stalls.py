"""Stalls inside a run: intervals in which a server did far less than in the rest of the run.

An interval is a part of a stall where its rate is below half of the run's median, and lower than
the run's own unrest explains: six deviations, from the median of absolute deviations. So a run
whose seconds all differ has no stall, and a calm one has none for a small dip. Of normal noise
six deviations are never met (tests); of a run that is slow for a third of its time the median is
still that of the other two thirds, beyond half of the time there is no saying which is the rule.

A run of at least `LEAST` intervals is looked at; fewer have no rest to be compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DEEP = 0.5
"""Of the run's median rate: what is below may be a stall."""

DEVIATIONS = 6.0

LEAST = 6

MAD = 0.6745
"""Median absolute deviation of a standard normal."""


@dataclass(frozen=True)
class Stall:
    """Intervals `first` to `last`, one after the other; `depth` is the least rate as a fraction of
    the run's median."""

    first: int
    last: int
    depth: float


def stalls(rates: Sequence[float]) -> list[Stall]:
    """The stalls of one run, in their order. `rates`: of each whole interval, in any unit."""
    if len(rates) < LEAST:
        return []
    given = np.asarray(rates, dtype=np.float64)
    median = float(np.median(given))
    deviation = float(np.median(np.abs(given - median))) / MAD
    low = given < min(DEEP * median, median - DEVIATIONS * deviation)
    found: list[Stall] = []
    for place in np.flatnonzero(low).tolist():
        depth = float(given[place]) / median
        if found and found[-1].last == place - 1:
            before = found.pop()
            found.append(Stall(before.first, place, min(before.depth, depth)))
        else:
            found.append(Stall(place, place, depth))
    return found
