"""Order statistics of Walsh averages, with memory linear in the sample once it is large.

The Walsh averages of x are (x_i + x_j)/2 for i <= j. Sorted, they give the Hodges-Lehmann
estimate (their median) and every signed-rank interval (their C-th from either end). Up to
`MATERIALISE_MAX` values all of them are sorted; beyond that one order statistic is found by
bisection on its value, counting per row by binary search. Both ways see the same averages and
agree to within `_RESOLUTION`; the tests hold them to it.

Not a general selection library: it expects values already rounded by `signed_rank`, whose
grid (1e-12) is what lets the bisection stop.

Sources: Hodges & Lehmann, Ann. Math. Stat. 34 (1963); for the row-wise monotone search,
Johnson & Mizoguchi, SIAM J. Comput. 7 (1978), of which this is the plain bisection variant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MATERIALISE_MAX = 1000  # 500,500 averages, 4 MB; above it the quadratic array stops paying
_RESOLUTION = 1e-13  # averages of values on a 1e-12 grid closer than this are one number

Floats = NDArray[np.float64]


class Walsh:
    """The Walsh averages of one sample, asked for by rank.

    `values`: shape (n,), finite, sorted ascending, n >= 1. Ranks count from 1 to `count`.
    """

    def __init__(self, values: Floats) -> None:
        self._values = values
        n = len(values)
        self.count = n * (n + 1) // 2
        self._sorted: Floats | None = None
        if n <= MATERIALISE_MAX:
            rows, columns = _upper_triangle(n)
            self._sorted = np.sort((values[rows] + values[columns]) / 2)

    def kth(self, rank: int) -> float:
        """The `rank`-th smallest average (1-based)."""
        if not 1 <= rank <= self.count:
            raise IndexError(f"rank {rank} outside 1..{self.count}")
        if self._sorted is not None:
            return float(self._sorted[rank - 1])
        return select(self._values, rank)

    def median(self) -> float:
        """The Hodges-Lehmann estimate."""
        upper = self.count // 2 + 1
        if self.count % 2:
            return self.kth(upper)
        return (self.kth(upper - 1) + self.kth(upper)) / 2


_TRIANGLES: dict[int, tuple[NDArray[np.intp], NDArray[np.intp]]] = {}


def _upper_triangle(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Row and column indices of i <= j; kept for the small n that studies ask for over and over."""
    if n not in _TRIANGLES:
        indices = np.triu_indices(n)
        if n > 128:
            return indices
        _TRIANGLES[n] = indices
    return _TRIANGLES[n]


def select(values: Floats, rank: int) -> float:
    """The `rank`-th Walsh average of sorted `values` without forming them all."""
    low, high = float(values[0]), float(values[-1])
    if _ends(values, low)[1] >= rank:
        return low
    while high - low > _RESOLUTION:  # fewer than `rank` averages are <= low, at least are <= high
        middle = low + (high - low) / 2
        if _ends(values, middle)[1] >= rank:
            high = middle
        else:
            low = middle
    ends, _ = _ends(values, high)
    rows = np.flatnonzero(ends > np.arange(len(values)))
    return float(np.max((values[rows] + values[ends[rows] - 1]) / 2))


def _ends(values: Floats, bound: float) -> tuple[NDArray[np.intp], int]:
    """For each row i, the end of the columns whose average with x_i is <= bound; and how many
    averages with i <= j that is. Binary search over all rows at once."""
    n = len(values)
    low, high = np.zeros(n, dtype=np.intp), np.full(n, n, dtype=np.intp)
    while np.any(low < high):
        middle = (low + high) // 2
        inside = (low < high) & ((values + values[np.minimum(middle, n - 1)]) / 2 <= bound)
        low, high = np.where(inside, middle + 1, low), np.where(inside, high, middle)
        # A finished row has low == high, hence middle == low: both assignments leave it alone.
    return low, int(np.maximum(low - np.arange(n), 0).sum())
