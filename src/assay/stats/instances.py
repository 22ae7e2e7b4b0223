"""Two types of machine, several instances of each: what can be said of the types.

Machines of one type differ. Fresh virtual machines of a type were seen to differ by 1 to 8 %
(standard deviation) where runs on one of them differ by 1 to 4 % [VM noise], so blocks, however
many, only say which of *these* machines is faster. For the types the instance is the unit:

    y[i, b] = type + instance i + block b of the type + run        (log units)

Instances are drawn at random; blocks span all of them at the same time. Each instance counts once,
by the mean of its blocks, and the types are compared by Welch's t over those means: levels of
machines need not vary alike in both types. More blocks only take the runs' share out of the
means; what is left is between instances and shrinks with their number alone.

A change that is switched on every instance is the same with differences in place of levels: what
is given then is on minus off, the instance's own level cancels, and the contrast of the types is
the interaction of change and machine.

With one instance of a type nothing can be said of it; `signed_rank.py` over blocks then answers for
these two machines.

Sources: Welch, Biometrika 34 (1947), with Satterthwaite's degrees of freedom (1946); the variances
are those of a balanced one-way layout with random effects (Searle, Casella & McCulloch, Variance
Components (1992), chapter 3); power by the noncentral t. [VM noise]: Freischuetz et al., EuroSys
2025, the Azure data set of 11,000 machines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtr, stdtr, stdtrit

LEAST_INSTANCES = 2
"""Of each type: one has no spread."""
LEAST_BLOCKS = 2
"""One cannot part runs from instances."""
MOST_INSTANCES = 1000


@dataclass(frozen=True)
class TypeContrast:
    """The second type against the first, in log units.

    `low` and `high` bound the difference of the types at the level asked for; `p` is two-sided.
    `between_sd` is the standard deviation between instances of a type, of which the runs' share is
    taken off; `run_sd` that of runs on one instance.
    """

    estimate: float
    low: float
    high: float
    p: float
    degrees: float
    instances: tuple[int, int]
    blocks: int
    between_sd: float
    run_sd: float


def type_contrast(
    first: NDArray[np.float64], second: NDArray[np.float64], alpha: float = 0.05
) -> TypeContrast:
    """Compare two types: arrays of shape (instances, blocks), the same blocks in both.

    ValueError with fewer than two instances or blocks, or a value that is not finite.
    """
    for values in (first, second):
        if values.ndim != 2 or not np.all(np.isfinite(values)):
            raise ValueError("a type has a finite value for each of its instances and blocks")
        if len(values) < LEAST_INSTANCES:
            raise ValueError("one instance says nothing of its type")
    if first.shape[1] != second.shape[1] or first.shape[1] < LEAST_BLOCKS:
        raise ValueError("both types have the same blocks, two at least")
    estimate, error, degrees = (
        float(found) for found in welch(first.mean(axis=1), second.mean(axis=1))
    )
    between_sd, run_sd = deviations(first, second)
    half = -float(stdtrit(degrees, alpha / 2)) * error
    return TypeContrast(
        estimate=estimate,
        low=estimate - half,
        high=estimate + half,
        p=float(p_value(np.float64(estimate), np.float64(error), np.float64(degrees))),
        degrees=degrees,
        instances=(len(first), len(second)),
        blocks=first.shape[1],
        between_sd=between_sd,
        run_sd=run_sd,
    )


def welch(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Difference of means, its standard error and degrees of freedom, over the last axis.

    Without any spread the error is 0 and the degrees are those of both samples together.
    """
    n, m = first.shape[-1], second.shape[-1]
    of_first, of_second = first.var(axis=-1, ddof=1) / n, second.var(axis=-1, ddof=1) / m
    whole = of_first + of_second
    parts = of_first**2 / (n - 1) + of_second**2 / (m - 1)
    degrees = np.divide(whole**2, parts, out=np.full_like(whole, n + m - 2.0), where=parts > 0)
    return second.mean(axis=-1) - first.mean(axis=-1), np.sqrt(whole), degrees


def p_value(
    estimate: NDArray[np.float64] | np.float64,
    error: NDArray[np.float64] | np.float64,
    degrees: NDArray[np.float64] | np.float64,
) -> NDArray[np.float64]:
    """Two-sided p values of Welch's t; an error of 0 leaves 1 for no difference and 0 for any."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(estimate) / error
    t = np.where(np.isnan(t), 0.0, t)
    return np.asarray(2 * stdtr(degrees, -t), dtype=np.float64)


def deviations(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[float, float]:
    """Standard deviations between instances of a type and between runs of one instance (log units),
    of arrays of shape (instances, blocks); both types are taken to vary alike."""
    blocks = first.shape[1]
    squares = degrees = of_means = 0.0
    for values in (first, second):
        means = values.mean(axis=1, keepdims=True)
        rest = values - means - values.mean(axis=0, keepdims=True) + values.mean()
        squares += float(np.sum(rest**2))
        of_means += float(np.sum((means - means.mean()) ** 2))
        degrees += len(values) - 1
    run = squares / (degrees * (blocks - 1))
    return math.sqrt(max(0.0, of_means / degrees - run / blocks)), math.sqrt(run)


def power(
    effect: float,
    instances: int,
    blocks: int,
    between_sd: float,
    run_sd: float,
    alpha: float = 0.05,
) -> float:
    """The chance to tell two types apart that differ by `effect` (log units), with as many
    instances of each."""
    degrees = 2 * (instances - 1)
    spread = math.sqrt(2 * (between_sd**2 + run_sd**2 / blocks) / instances)
    limit = -float(stdtrit(degrees, alpha / 2))
    center = abs(effect) / spread
    return float(1 - nctdtr(degrees, center, limit) + nctdtr(degrees, center, -limit))


def instances_needed(
    effect: float,
    blocks: int,
    between_sd: float,
    run_sd: float,
    chance: float = 0.8,
    alpha: float = 0.05,
) -> int | None:
    """How many instances of each type see `effect` (log units) with that chance; None if more than
    a thousand would be needed."""
    few, many = LEAST_INSTANCES - 1, LEAST_INSTANCES
    while power(effect, many, blocks, between_sd, run_sd, alpha) < chance:
        few, many = many, 2 * many
        if many > MOST_INSTANCES:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        enough = power(effect, middle, blocks, between_sd, run_sd, alpha) >= chance
        few, many = (few, middle) if enough else (middle, many)
    return many
