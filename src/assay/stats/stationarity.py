"""Was a run still warming up while it was measured? Looked at after the study.

Each run gives one number, the log of its second half's throughput over its first half's; blocks
make them independent, so the signed-rank interval applies as it does to contrasts. An arm is not
steady when that interval, or the interval of its difference to the baseline's trend block by
block, lies wholly outside half the margin: then the window's length is part of the result, and
"no difference" is withheld.

This is evidence of a trend, not proof of steadiness. To prove steadiness the interval would have
to lie inside half the margin, and a trend is noisier than what it is to protect: with all noise
inside the windows its deviation is twice that of the run's own log, so a study just long enough
for "no difference" would withhold it most times on machines with nothing wrong. The other way
round, a false alarm needs an interval that misses zero by half a margin, which noise small enough
for "no difference" brings in 2 to 3 studies of a hundred for each arm, and half that noise in
fewer than one (simulated). The price, at half that noise: a trend as large as the margin is found
in one study of five, one twice as large in nine of ten. Arms are not corrected for one another:
withholding is the cheap mistake.

What it cannot see: a warm-up longer than several windows (a slope too small), and one that goes
up and down within a window.

Sources: docs/method.md for the interval; the log ratio of halves follows the idea of Geweke
(1992), who compares an early with a late part of a series.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.reasons import Code, Reason
from assay.stats.constants import STANDARD, Constants
from assay.stats.sequence import as_fractions
from assay.stats.signed_rank import Interval, SignedRank


@dataclass(frozen=True)
class Steady:
    """One arm: its trend from the first half of a window to the second, as a fraction, with the
    95 % interval (None where fewer than 6 runs bound nothing)."""

    arm: str
    trend: float
    low: float | None
    high: float | None
    steady: bool
    why: Reason | None = None
    """The trend that is too large; None where none is."""


class Stretch(Protocol):
    """A part of a window; times in milliseconds."""

    @property
    def start_ms(self) -> float: ...

    @property
    def length_ms(self) -> float: ...

    @property
    def operations(self) -> int: ...


def trend_of(intervals: Sequence[Stretch]) -> float | None:
    """Log of the second half's operations per ms over the first half's, of one run.

    An interval that straddles the middle counts for both halves in proportion. None with fewer
    than two intervals, or when a half has no operation.
    """
    parts = [i for i in intervals if i.length_ms > 0]
    if len(parts) < 2:
        return None
    start = min(i.start_ms for i in parts)
    end = max(i.start_ms + i.length_ms for i in parts)
    middle = (start + end) / 2
    first, second = _rate(parts, start, middle), _rate(parts, middle, end)
    return math.log(second / first) if first > 0 and second > 0 else None


def _rate(parts: Sequence[Stretch], start: float, end: float) -> float:
    """Operations per ms between two times, over the time that intervals cover."""
    operations = covered = 0.0
    for part in parts:
        begins, length = part.start_ms, part.length_ms
        inside = min(end, begins + length) - max(start, begins)
        if inside > 0:
            operations += part.operations * inside / length
            covered += inside
    return operations / covered if covered else 0.0


def steadiness(
    trends: Mapping[str, Mapping[int, float]],
    baseline: str,
    margin_log: float,
    constants: Constants = STANDARD,
) -> dict[str, Steady]:
    """Each arm's steadiness, the baseline's among them; arms without a trend are left out.

    `trends`: arm -> block -> trend (log units); `margin_log`: the study's margin in log units.
    """
    return {
        arm: _steady(arm, found, trends.get(baseline, {}), margin_log, constants)
        for arm, found in trends.items()
        if found
    }


def _steady(
    arm: str,
    found: Mapping[int, float],
    baseline: Mapping[int, float],
    margin_log: float,
    constants: Constants,
) -> Steady:
    sample = SignedRank(found.values())
    level = constants.stationarity_level
    interval = sample.interval(level)
    common = sorted(found.keys() & baseline.keys())
    difference = SignedRank(found[b] - baseline[b] for b in common) if common else None
    half = margin_log / 2
    why = None
    if _outside(interval, half):
        why = _trend(arm, "halves", sample, half, level)
    elif difference is not None and _outside(difference.interval(level), half):
        why = _trend(arm, "windows", difference, half, level)
    low, high = as_fractions(interval)
    return Steady(arm, math.expm1(sample.estimate), low, high, why is None, why)


def _outside(interval: Interval, half: float) -> bool:
    return interval[0] > half or interval[1] < -half


def _trend(arm: str, of: str, sample: SignedRank, half: float, level: float) -> Reason:
    """`of`: "halves" of its windows, or "windows" against the baseline's."""
    low, high = sample.interval(level)
    return Reason.of(
        Code.TREND,
        arm=arm,
        of=of,
        change=math.expm1(sample.estimate),
        low=math.expm1(low),
        high=math.expm1(high),
        beyond=math.expm1(half),
    )
