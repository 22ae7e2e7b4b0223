"""A machine's speed over time, and what it does to comparisons: two speeds, and pair noise.

A series holds one CPU's work for each step of equal length, of one program that never changes.
Whatever it varies by is the machine's. Two runs of equal arms, cut from it where a study would
have made them, differ by the pair noise that the machine alone gives: a server's own luck is on
top.

Source: the two groups are those of Otsu (IEEE Trans. SMC 9, 1979), on the logs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.stats.rounds import levels_of

Floats = NDArray[np.float64]

SMOOTH_S = 0.05
"""A state is told from stretches of this length: single steps are too noisy."""

LEAST_GAP = 0.05
"""Two speeds are at least so far apart, as a fraction of the slower one,"""

CLEARLY = 4.0
"""and so many times the spread inside the groups,"""

LEAST_SHARE = 0.03
"""and each is there for such a share of the time."""

LEAST_PAIRS = 8


@dataclass(frozen=True)
class TwoSpeeds:
    """A machine that has two: `slow` as a share of the fast one, how long each lasts (s, means),
    and the share of time that it is slow."""

    slow: float
    slow_share: float
    slow_dwell_s: float
    fast_dwell_s: float


def two_speeds(series: Floats, step_s: float) -> TwoSpeeds | None:
    """The two speeds of a series; None where it has one, or too many to tell."""
    logs = np.log(_smooth(series, step_s))
    if len(logs) < 20 or float(np.ptp(logs)) == 0:
        return None
    slow = logs < border(logs)
    share = float(slow.mean())
    if not LEAST_SHARE <= share <= 1 - LEAST_SHARE:
        return None
    low, high = logs[slow], logs[~slow]
    gap = float(np.median(high) - np.median(low))
    inside = math.sqrt(share * float(np.var(low)) + (1 - share) * float(np.var(high)))
    if gap < math.log1p(LEAST_GAP) or gap < CLEARLY * inside:
        return None
    stretch = max(1, round(SMOOTH_S / step_s)) * step_s
    return TwoSpeeds(
        math.exp(-gap), share, stretch * _mean_run(slow, True), stretch * _mean_run(slow, False)
    )


def _smooth(series: Floats, step_s: float) -> Floats:
    """Means over stretches; what is left at the end is cut off."""
    each = max(1, round(SMOOTH_S / step_s))
    whole = len(series) // each * each
    found: Floats = series[:whole].reshape(-1, each).mean(axis=1)
    return np.maximum(found, 1e-12)


def border(logs: Floats) -> float:
    """Where two groups part so that the variance between them is largest."""
    ordered = np.sort(logs)
    count = np.arange(1, len(ordered))
    sums = np.cumsum(ordered)[:-1]
    rest = ordered.sum() - sums
    between = count * (len(ordered) - count) * (sums / count - rest / (len(ordered) - count)) ** 2
    best = int(np.argmax(between))
    return float(ordered[best] + ordered[best + 1]) / 2


def _mean_run(states: NDArray[np.bool_], state: bool) -> float:
    """Mean length of unbroken stretches in one state."""
    turns = int(np.count_nonzero(np.diff(states.astype(int)))) + 1
    mine = (turns + int(states[0] == state)) // 2
    return float(np.count_nonzero(states == state)) / max(mine, 1)


def of_runs(series: Floats, step_s: float, window_s: float, between_s: float) -> Floats:
    """Contrasts (log units) of two runs of `window_s` with `between_s` between their windows.

    Pairs overlap by half, so that a short series gives more of them; none where it is too short.
    """
    window, gap = _steps(window_s, step_s), _steps(between_s, step_s)
    whole = 2 * window + gap
    starts = np.arange(0, len(series) - whole + 1, max(1, whole // 2))
    sums = np.concatenate([[0.0], np.cumsum(series)])
    first = sums[starts + window] - sums[starts]
    second = sums[starts + whole] - sums[starts + window + gap]
    known = (first > 0) & (second > 0)
    found: Floats = np.log(second[known] / first[known])
    return found


def of_slices(
    series: Floats, step_s: float, window_s: float, slice_s: float, seed: int = 1
) -> Floats:
    """Contrasts (log units) of two arms that take turns of `slice_s` until each has `window_s`.

    The order inside a round is random, as in a study.
    """
    turn = _steps(slice_s, step_s)
    rounds = max(1, round(window_s / slice_s))
    each = 2 * turn * rounds
    blocks = len(series) // each
    drawn = np.random.default_rng(seed)
    slices = series[: blocks * each].reshape(blocks, rounds, 2, turn).sum(axis=3)
    found = []
    for block in np.log(np.maximum(slices, 1e-12)):
        turned = drawn.random(rounds) < 0.5
        first, second = levels_of(np.where(turned[:, None], block[:, ::-1], block).tolist())
        found.append(second - first)
    return np.array(found)


def _steps(seconds: float, step_s: float) -> int:
    return max(1, round(seconds / step_s))


def pair_noise(contrasts: Floats) -> float | None:
    """The deviation of contrasts of equal arms about zero (log units); None below eight."""
    if len(contrasts) < LEAST_PAIRS:
        return None
    return float(np.sqrt(np.mean(contrasts**2)))
