"""How long to warm up and how long to measure, from a pilot whose runs never count.

A run that starts cold is cut by MSER-5: of all points where it could be cut, the one after which
the mean has the smallest standard error. Cutting each run by itself would cut arms differently,
so the longest cut of all runs and arms, half as much again, becomes the warm-up of every run.

The length of a run follows from where its noise is. What windows of one run share (its pages,
its threads' places) no longer run averages out; what differs from window to window, it does.

Nothing here knows a server: a series is one number per window, in order, positive, such as
operations per second.

Sources: White, Simulation 69:6 (1997), the rule; Spratt, MS thesis, University of Virginia
(1998), batches of five; Hoad, Robinson and Davies, Winter Simulation Conference 2008, a minimum
in the second half as the rule's own sign of failure; Kalibera and Jones, ISMM 2013, repetitions
at each level of an experiment from cost and variance; batch means: Schmeiser, Operations
Research 30 (1982), who finds 10 to 30 batches enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

BATCH = 5
"""Windows in a batch of MSER-5."""

TAIL = 5
"""Batches that every cut leaves: the error of the mean of fewer is small by chance. A guess."""

SAFETY = 1.5
"""Warm-up for each second of the longest cut: later runs may start slower than the pilot's."""

CORRELATED = 20
"""Windows in a batch mean, at least: neighbouring windows are alike, distant batches are not."""

BATCH_MEANS = 10
"""Batch means of one run, at most."""

LEAST_WINDOWS = 100
"""Windows that a run of the pilot needs, so that a cut of half leaves five batch means."""

OVERHEAD_LEAST = 0.1
"""Share of a run's time that overhead keeps, however quiet runs are among each other."""


def mser5(series: ArrayLike) -> int:
    """How many windows to cut from the start of a run: a multiple of 5, at most half.

    With the means z_1..z_k of batches of five windows, the d that minimises
    var(z_{d+1}..z_k) / (k - d), the square of the standard error of their mean. 0 for a series
    too short to have a tail.
    """
    errors = _standard_errors(series)
    if not len(errors):
        return 0
    half = errors[: _batches(series) // 2 + 1]
    return BATCH * _first_minimum(half)


def has_settled(series: ArrayLike) -> bool:
    """Whether the smallest error of all lies in the first half: the rule's own test of itself.

    Where it lies later the run was still changing, or is too noisy to tell.
    """
    errors = _standard_errors(series)
    return bool(len(errors)) and _first_minimum(errors) <= _batches(series) // 2


def drift(series: ArrayLike) -> float:
    """ln of the last quarter's mean over the third's: how much a run still moved at its end."""
    x = np.asarray(series, dtype=float)
    quarter = len(x) // 4
    last, before = float(x[-quarter:].mean()), float(x[-2 * quarter : -quarter].mean())
    return math.log(last / before) if last > 0 and before > 0 else math.inf


def warmup_seconds(runs: Iterable[ArrayLike], window_s: float) -> float:
    """The warm-up of every run: half as much again as the longest cut of any run of any arm."""
    return SAFETY * window_s * max((mser5(series) for series in runs), default=0)


def inside_variance(series: ArrayLike) -> float:
    """Relative variance of one window, so defined that a mean of n windows has 1/n of it.

    From batch means, because neighbouring windows are alike: the variance of single windows
    would promise more than n of them keep. `series` is a run without its warm-up, of at least
    40 windows.
    """
    x = np.asarray(series, dtype=float)
    size = max(CORRELATED, len(x) // BATCH_MEANS)
    count = len(x) // size
    if count < 2:
        raise ValueError(f"{len(x)} windows are too few for two batch means of {size}")
    means = x[: count * size].reshape(count, size).mean(axis=1)
    return float(size * means.var(ddof=1) / x.mean() ** 2)


def between_variance(run_means: ArrayLike, inside: float, windows: int) -> float:
    """Relative variance that a run has as a whole, beyond that of the windows it consists of.

    `run_means`: shape (blocks, arms), positive; each of `windows` windows of variance `inside`.
    Blocks and arms are taken out, as contrasts take them out, so this is what pairing leaves;
    with one arm only the mean is. The estimate is the mean square minus what windows explain of
    it, but not below the standard error of that mean square under no variance between runs: so
    few runs cannot tell a smaller one from none. (Three runs of two arms, in simulation: lengths
    chosen with this floor cost 2 to 20 % more than the best one, with a floor of zero 6 to 44 %.)
    """
    y = np.log(np.asarray(run_means, dtype=float))
    blocks, arms = y.shape
    residual = y - y.mean(axis=0)
    free: int = blocks - 1
    if arms > 1:
        residual = residual - residual.mean(axis=1, keepdims=True)
        free *= arms - 1
    explained = inside / windows
    floor = math.sqrt(2 / free) * explained
    return max(floor, float(np.sum(residual**2)) / free - explained)


def run_windows(
    inside_var: float, between_var: float, overhead_s: float, window_cost_s: float
) -> int:
    """The number of windows per run at which a given precision costs the least time.

    R runs of n windows take R (c_b + n c_w) seconds, and their mean has the variance
    (b + w/n) / R, with w the variance inside and b the variance between runs. What one
    unit of precision costs is the product

        (b + w/n) (c_b + n c_w)  =  b c_b + w c_w  +  n b c_w + w c_b / n,

    whose derivative b c_w - w c_b / n^2 vanishes at n = sqrt((c_b/c_w) (w/b)): the two-level
    form of Kalibera and Jones, rounded up as they do. R has dropped out: precision buys runs.

    As b goes to 0 the best n goes to infinity, for ever smaller gains: at n = 10 c_b / c_w a run
    costs 10 % more than the limit w c_w that no n beats. There it is capped, so a variance
    between runs that was estimated as 0 from a few of them cannot ask for endless runs.
    """
    if min(inside_var, between_var, overhead_s) < 0 or window_cost_s <= 0:
        raise ValueError("variances and costs cannot be negative, and a window takes time")
    if not inside_var:
        return 1
    ratio = overhead_s / window_cost_s
    cap = max(1, math.ceil(ratio / OVERHEAD_LEAST))
    if between_var * cap**2 <= ratio * inside_var:
        return cap
    return max(1, math.ceil(math.sqrt(ratio * inside_var / between_var)))


def _batches(series: ArrayLike) -> int:
    return len(np.asarray(series)) // BATCH


def _standard_errors(series: ArrayLike) -> NDArray[np.float64]:
    """The squared standard error of the mean for every cut that leaves a tail."""
    count = _batches(series)
    x = np.asarray(series, dtype=float)[: count * BATCH]
    z = x.reshape(count, BATCH).mean(axis=1)
    z = z - z[-1:]  # shifts nothing, and spares a constant its rounding
    cuts: Sequence[int] = range(count - TAIL + 1)
    return np.array([z[d:].var() / (count - d) for d in cuts])


def _first_minimum(errors: NDArray[np.float64]) -> int:
    """The first of equal minima; what differs by rounding alone is equal."""
    return int(np.argmax(errors <= errors.min() + 1e-12 * errors[0]))
