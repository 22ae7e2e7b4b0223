"""Estimate, p value and interval of one sample of contrasts, from signed ranks.

If the run order inside every block is a uniformly random permutation, a contrast that changes
nothing is symmetric about zero whatever the noise: drift, steps, tails, slots. The signed-rank
test asks for no more than that, which is why it and not a t test decides here. Estimate and
interval come from the same Walsh averages, so the answer and the interval cannot disagree.

Zeros count half to each side (half the Walsh averages that are exactly zero). The interval is
closed, hence on tied data it is at least as cautious as the test. The null distribution is that
of untied ranks; ties make it slightly conservative.

Values are rounded to 1e-12 log units first: far below any measurement, and enough to make
mathematically equal contrasts equal, whatever unit the metric came in. Whole multiples of 1e-12
are what `walsh.py` computes with, so order statistics are exact however large the sample.

Not here: any correction for looking more than once (`boundary.py`) or at several arms.

Sources: Wilcoxon, Biometrics Bull. 1 (1945); Hodges & Lehmann (1963); the interval by inversion
is Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, section 3.3; the correction to
the normal limit is Fellingham & Stoker, JASA 59 (1964).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from assay.stats.walsh import LIMIT, UNIT, Walsh, on_grid

DECIMALS = 12  # of a log unit: the grid of walsh.py, 1/UNIT
EXACT_MAX = 400  # above it the exact null costs over 50 ms and a smooth one is as good

Interval = tuple[float, float]
UNBOUNDED: Interval = (-math.inf, math.inf)


class SignedRank:
    """One sample of contrasts in log units, sorted once and then asked many questions.

    `values`: any iterable of at least one finite float. Raises ValueError otherwise.
    """

    def __init__(self, values: Iterable[float]) -> None:
        given = values if isinstance(values, np.ndarray) else list(values)
        sample = np.asarray(given, dtype=np.float64)
        if sample.ndim != 1 or len(sample) == 0:
            raise ValueError("a sample needs at least one value")
        if not np.all(np.abs(sample) <= LIMIT):
            raise ValueError(f"a sample may only hold finite values, none beyond {LIMIT:g}")
        grid = np.sort(on_grid(sample))
        self.values = grid / UNIT
        self.count = len(grid)
        self._walsh = Walsh(grid)
        self.estimate = self._walsh.median()

    def p_value(self) -> float:
        """Two-sided p value of "the centre of symmetry is zero"."""
        ranks = midranks(np.abs(self.values))
        weight = (self.values > 0) + 0.5 * (self.values == 0)
        statistic = float(np.sum(ranks * weight))
        total = self.count * (self.count + 1) // 2
        return min(1.0, 2 * null_cdf(self.count, math.floor(min(statistic, total - statistic))))

    def interval(self, level: float) -> Interval:
        """The values a two-sided test at nominal `level` does not reject (log units).

        Unbounded when no sample of this size can reject at `level`.
        """
        depth = critical_count(self.count, level)
        if depth == 0:
            return UNBOUNDED
        return self._walsh.kth(depth), self._walsh.kth(self._walsh.count + 1 - depth)

    def noise(self) -> float:
        """Standard deviation of one contrast about the estimate (log units), robustly.

        The half-width of the plain 90 % interval, turned back into a deviation by the t quantile
        at the level that interval attains: for normal noise within a few percent from 8 blocks
        on (tests), and much less erratic than a median absolute deviation. Below 5 blocks, where
        the interval is unbounded, the median absolute deviation.
        """
        depth = critical_count(self.count, 0.10)
        if depth == 0:
            return float(np.median(np.abs(self.values - self.estimate))) / 0.6745
        low, high = self.interval(0.10)
        attained = 2 * null_cdf(self.count, depth - 1)
        quantile = -float(stdtrit(self.count - 1, attained / 2))
        return (high - low) / 2 * math.sqrt(self.count) / quantile


def midranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1, equal values sharing the mean of theirs.

    The same as scipy.stats.rankdata; importing scipy.stats for it would make every command of
    Assay start visibly later.
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place]


@lru_cache(maxsize=256)
def _null_cdf_table(n: int) -> NDArray[np.float64]:
    """P(W0 <= w) for w = 0..n(n+1)/4, where W0 sums each of 1..n with probability one half.

    One pass per rank: either it is in the sum or not. Exact up to rounding of additions.
    """
    density = np.ones(1)
    for rank in range(1, n + 1):
        longer = np.zeros(len(density) + rank)
        longer[: len(density)] = density
        longer[rank:] += density
        density = longer / 2
    return np.cumsum(density[: n * (n + 1) // 4 + 1])


def null_cdf(n: int, statistic: int) -> float:
    """P(W0 <= statistic) for the lower half of the null, exact for n <= EXACT_MAX."""
    if n <= EXACT_MAX:
        return float(_null_cdf_table(n)[statistic])
    return _smooth_cdf(n, statistic)


def _smooth_cdf(n: int, statistic: float) -> float:
    """The null by its normal limit, continuity and kurtosis corrected (Fellingham & Stoker).

    W0 is a sum of independent k*Bernoulli(1/2): mean n(n+1)/4, variance n(n+1)(2n+1)/24, third
    cumulant 0, fourth cumulant -(1/8) * sum k^4.
    """
    mean, variance = n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24
    fourth_powers = n * (n + 1) * (2 * n + 1) * (3 * n * n + 3 * n - 1) / 30
    excess = -fourth_powers / 8 / variance**2
    z = (statistic + 0.5 - mean) / math.sqrt(variance)
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return float(ndtr(z)) - density * excess / 24 * (z**3 - 3 * z)


@lru_cache(maxsize=65536)
def critical_count(n: int, level: float) -> int:
    """How many values w have 2 P(W0 <= w) <= level: the depth C of the interval."""
    if n <= EXACT_MAX:
        return int(np.searchsorted(2 * _null_cdf_table(n), level, side="right"))
    low, high = -1, n * (n + 1) // 4  # 2P(low) <= level < 2P(high), by bisection
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if 2 * _smooth_cdf(n, middle) <= level else (low, middle)
    return low + 1
