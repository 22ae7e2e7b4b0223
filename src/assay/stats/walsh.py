"""Order statistics of Walsh averages, exactly, with memory linear in the sample.

The Walsh averages of x are (x_i + x_j)/2 for i <= j. Sorted, they give the Hodges-Lehmann
estimate (their median) and every signed-rank interval (their C-th from either end). A sample of
100,000 has five thousand million of them, so they are not formed. Values are whole multiples of
1e-12; so are the sums x_i + x_j, without rounding. One pass counts how many sums lie at or below
a bound: a binary search per row, all rows in one call. Bounds are halved between two for which
the count is known until few sums lie between them, and only these are formed and sorted.

Every count and every window is kept, because the ranks asked for one after the other (the median,
then intervals at several levels) are neighbours. What is found does not depend on what was asked
before, nor on the size of the window: it is the order statistic itself.

Not a general selection library: values come sorted and on the grid, from `signed_rank`.

Sources: Hodges & Lehmann, Ann. Math. Stat. 34 (1963); for counting along sorted rows, Johnson &
Mizoguchi, SIAM J. Comput. 7 (1978), of which this is the plain bisection variant.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

UNIT = 10**12  # grid steps in one log unit
LIMIT = 4000.0  # log units; below it sums of two are exact as float64 too (2 * 4000e12 < 2^53)
WINDOW_MIN = 4000  # so few sums are formed and sorted rather than halved; all of them up to n = 88

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def on_grid(values: Floats) -> Integers:
    """`values` (log units, within +-LIMIT) as the nearest whole multiples of 1/UNIT."""
    return np.rint(values * UNIT).astype(np.int64)


class Walsh:
    """The Walsh averages of one sample, asked for by rank; answers are in log units.

    `grid`: shape (n,), multiples of 1/UNIT, sorted ascending, n >= 1. Ranks count from 1 to
    `count`.
    """

    def __init__(self, grid: Integers) -> None:
        n = len(grid)
        self.count = n * (n + 1) // 2
        self._grid = grid
        self._window_max = max(WINDOW_MIN, n // 2)
        self._bounds = [2 * int(grid[0]) - 1, 2 * int(grid[-1])]  # ascending
        self._counts = [0, self.count]  # sums at or below each bound
        self._windows: dict[int, Integers] = {}  # by the bound below them

    def kth(self, rank: int) -> float:
        """The `rank`-th smallest average (1-based)."""
        return self._sum(rank) / (2 * UNIT)

    def median(self) -> float:
        """The Hodges-Lehmann estimate."""
        upper = self.count // 2 + 1
        lower = upper if self.count % 2 else upper - 1
        return (self._sum(lower) + self._sum(upper)) / (4 * UNIT)

    def _sum(self, rank: int) -> int:
        """The `rank`-th smallest sum of two values."""
        if not 1 <= rank <= self.count:
            raise IndexError(f"rank {rank} outside 1..{self.count}")
        while True:
            place = bisect_left(self._counts, rank)
            low, high = self._bounds[place - 1 : place + 1]
            before, upto = self._counts[place - 1 : place + 1]
            if high - low == 1:
                return high
            if upto - before <= self._window_max:
                return int(self._window(low, high)[rank - before - 1])
            middle = (low + high) // 2
            self._bounds.insert(place, middle)
            self._counts.insert(place, self._upto(middle))

    def _upto(self, bound: int) -> int:
        """How many sums are at or below `bound`."""
        ends = self._ends(bound, self._rows(bound))
        return int(ends.sum()) - len(ends) * (len(ends) - 1) // 2

    def _rows(self, bound: int) -> int:
        """How many rows i have a sum x_i + x_j, j >= i, at or below `bound`: the first ones."""
        return int(np.searchsorted(self._grid, bound // 2, side="right"))

    def _ends(self, bound: int, rows: int) -> NDArray[np.intp]:
        """Of each of the first `rows` rows, the end of the columns at or below `bound`.

        The keys are handed over ascending: searchsorted then keeps to one place in memory.
        """
        keys = (bound - self._grid[:rows])[::-1]
        return np.searchsorted(self._grid, keys, side="right")[::-1]

    def _window(self, low: int, high: int) -> Integers:
        """The sums above `low` and up to `high`, neighbouring known bounds, sorted."""
        if low not in self._windows:
            self._windows[low] = np.sort(self._form(low, high))
        return self._windows[low]

    def _form(self, low: int, high: int) -> Integers:
        if len(self._bounds) == 2:  # all of them
            rows, columns = _triangle(len(self._grid))
            return self._grid[rows] + self._grid[columns]
        count = self._rows(high)
        begins = np.maximum(self._ends(low, count), np.arange(count))
        sizes = self._ends(high, count) - begins
        firsts = np.cumsum(sizes) - sizes  # where each row begins among the sums formed
        columns = np.arange(int(sizes.sum())) + np.repeat(begins - firsts, sizes)
        sums: Integers = np.repeat(self._grid[:count], sizes) + self._grid[columns]
        return sums


_TRIANGLES: dict[int, tuple[NDArray[np.intp], NDArray[np.intp]]] = {}


def _triangle(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Row and column indices of i <= j, kept: studies ask for small n over and over."""
    if n not in _TRIANGLES:
        _TRIANGLES[n] = np.triu_indices(n)
    return _TRIANGLES[n]
