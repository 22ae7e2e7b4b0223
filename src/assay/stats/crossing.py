"""Where an effect changes its sign along an axis: the crossing, its interval, where to look next.

The effect is known at some points of the axis, each with an interval, and all the intervals hold
together (a band). Where two neighbours among the points whose interval excludes zero have opposite
signs, the effect crosses zero between them: at least once whatever its shape, and exactly once if
it changes its sign once there. So [low, high] holds the crossing whenever the band holds the
effects, and needs no error of its own; what it costs is width, because nothing is supposed about
the effect between two points. That is Fieller's way, to invert the test, for a curve without a
formula.

The place inside the interval is an estimate only: the estimates at the points are made monotone by
least squares (isotonic regression) and joined by straight lines.

Sources: Fieller, JRSS B 16 (1954), inversion; Barlow, Bartholomew, Bremner & Brunk, Statistical
Inference under Order Restrictions (1972), isotonic regression.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression


@dataclass(frozen=True)
class AxisEffect:
    """The effect at one place of the axis.

    `sign`: +1 or -1 where the band excludes zero, else 0. `estimate`: in log units, up is better.
    `weight`: above zero, such as the number of blocks.
    """

    at: float
    sign: int
    estimate: float
    weight: float = 1.0


@dataclass(frozen=True)
class Crossing:
    """A change of sign: the effect is known on both sides of [`low`, `high`], and the other way
    round. `at`: the estimate. `rising`: from worse to better."""

    at: float
    low: float
    high: float
    rising: bool


def crossings(points: Sequence[AxisEffect], logarithmic: bool) -> list[Crossing]:
    """Every change of sign that the band shows, from low to high.

    `points`: in any order, each place once. `logarithmic`: the axis is, between points too; all
    places are then above zero.
    """
    ordered = sorted(points, key=lambda p: p.at)
    known = [p for p in ordered if p.sign]
    found = []
    for left, right in itertools.pairwise(known):
        if left.sign != right.sign:
            between = [p for p in ordered if left.at <= p.at <= right.at]
            rising = left.sign < 0
            place = _zero(between, rising, logarithmic)
            found.append(Crossing(place, left.at, right.at, rising))
    return found


def _zero(points: Sequence[AxisEffect], rising: bool, logarithmic: bool) -> float:
    """Where the monotone curve through the points is zero; they begin and end on either side."""
    places = np.array([math.log(p.at) if logarithmic else p.at for p in points])
    effects = np.array([p.estimate for p in points]) * (1 if rising else -1)
    fitted = isotonic_regression(effects, weights=np.array([p.weight for p in points])).x
    below, above = int(np.flatnonzero(fitted < 0)[-1]), int(np.flatnonzero(fitted > 0)[0])
    if above == below + 1:
        share = -fitted[below] / (fitted[above] - fitted[below])
        place = places[below] + share * (places[above] - places[below])
    else:
        place = (places[below + 1] + places[above - 1]) / 2
    return float(math.exp(place) if logarithmic else place)


def halving(
    points: Sequence[AxisEffect], candidates: Sequence[float], logarithmic: bool
) -> float | None:
    """Which candidate to measure next, so that the interval of a crossing becomes shorter.

    Only the two gaps at the ends of an interval can shorten it: those between a point whose sign is
    known and its neighbour inside. Of all such gaps the widest that has a candidate is halved.
    None where there is no crossing, or no candidate in a gap.
    """
    scale: Callable[[float], float] = math.log if logarithmic else float
    best: tuple[float, float] | None = None
    for crossing in crossings(points, logarithmic):
        inside = sorted(p.at for p in points if crossing.low <= p.at <= crossing.high)
        for left, right in ((inside[0], inside[1]), (inside[-2], inside[-1])):
            middle, width = (scale(left) + scale(right)) / 2, scale(right) - scale(left)
            within = [(abs(scale(c) - middle), c) for c in candidates if left < c < right]
            if within:
                best = max(best or (-1.0, 0.0), (width, -min(within)[1]))
    return None if best is None else -best[1]
