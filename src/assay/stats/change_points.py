"""Where a series of numbers changed its level: change points, each with a permutation test.

The best split of the ranks into two parts, and if that is not clear into three, is found by
ruptures (KernelCPD, linear kernel). It is kept if few random orders of the same values split as
clearly, and every part is searched again: the hierarchical procedure of E-divisive (Matteson &
James, J. Am. Stat. Assoc. 109 (2014) 334), and three parts since one split alone does not see a
level that comes back. The two tests share `level`. It holds whatever the distribution, as long as
values of an unchanged series are exchangeable: no drift, no dependence of one on the next. Where
there is no change at all, one is named with a probability of at most `level`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

LEVEL = 0.05
ORDERS = 999
"""Random orders of a test: its smallest p value is 0.001."""
LEAST = 3
"""Values on either side of a change point."""
PARTS = (1, 2)
"""Change points that are looked for at once."""
LEAST_VALUES = 9
"""Of fewer, no order is rare enough."""


@dataclass(frozen=True)
class ChangePoint:
    """`index` is the first value of the new level; `before` and `after` are the medians of the
    two sides, between the neighbouring change points; `p` is that of its test."""

    index: int
    p: float
    before: float
    after: float


def change_points(
    values: Sequence[float], level: float = LEVEL, orders: int = ORDERS
) -> list[ChangePoint]:
    """The change points of a series in its order; values must be finite. The same series always
    gives the same ones."""
    found = np.asarray(values, dtype=float)
    if not np.isfinite(found).all():
        raise ValueError("change points of values that are not finite")
    if len(found) < LEAST_VALUES:
        return []
    draws = np.random.default_rng(len(found))
    splits = sorted(_splits(found, 0, (level, orders), draws))
    ends = [0, *(index for index, _ in splits), len(found)]
    medians = [float(np.median(found[a:b])) for a, b in itertools.pairwise(ends)]
    return [
        ChangePoint(index, p, medians[place], medians[place + 1])
        for place, (index, p) in enumerate(splits)
    ]


def _splits(
    values: NDArray[np.float64], start: int, test: tuple[float, int], draws: np.random.Generator
) -> list[tuple[int, float]]:
    """Change points of a part of a series that begins at `start`, each with its p value; `test`
    is level and number of orders."""
    level, orders = test
    if len(values) < LEAST_VALUES:
        return []
    ranks = rankdata(values)
    for count in PARTS:
        ends, gain = _best(ranks, count)
        if gain <= 0:
            return []
        others = sum(_best(draws.permutation(ranks), count)[1] >= gain for _ in range(orders))
        p = (1 + others) / (1 + orders)
        if p <= level / len(PARTS):
            bounds = [0, *ends, len(values)]
            inner = [_splits(values[a:b], start + a, test, draws)
                     for a, b in itertools.pairwise(bounds)]  # fmt: skip
            return [*((start + end, p) for end in ends), *itertools.chain(*inner)]
    return []


def _best(ranks: NDArray[np.float64], count: int) -> tuple[list[int], float]:
    """The change points after which the sum of squares within is smallest, and what they take
    away."""
    from ruptures import KernelCPD

    found = KernelCPD(kernel="linear", min_size=LEAST).fit(ranks.reshape(-1, 1))
    *ends, size = found.predict(n_bkps=count)
    mean = ranks.mean()
    parts = (ranks[a:b] for a, b in itertools.pairwise([0, *ends, size]))
    return ends, float(sum(len(part) * (part.mean() - mean) ** 2 for part in parts))
