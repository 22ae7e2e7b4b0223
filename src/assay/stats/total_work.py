"""What a verdict on the typical run does not show: total work, and steps of the metric.

A verdict is about the typical run: the pseudo-median of log ratios. An arm that is 3 % faster in
most runs and loses nine tenths in every tenth does less work in all. The ratio of arithmetic
means says that, with the interval of Student's t on what each block adds to it, block by block
paired: the machine's speed in a block meets both arms.

Source: the ratio estimator and its linearised variance, Cochran, Sampling Techniques (1977),
chapter 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from assay.reasons import Code, Reason

LEAST_BLOCKS = 3
RATIO_LOG_MAX = 700.0  # log units; exp of more is no float


@dataclass(frozen=True)
class TotalWork:
    """The ratio of totals less one, with its interval; fractions, up is better."""

    estimate: float
    low: float
    high: float


def total_work(cases: Sequence[NDArray[np.float64]], sign: int, level: float) -> TotalWork | None:
    """The total of an arm against that of another, over the same blocks of every case.

    `cases`: of each case, shape (blocks, 2): what the arm and what the other measured, all above
    zero; over several the mean of their logs. `sign`: 1 where more is better, -1 where less is.
    `level`: two-sided. None with fewer than three blocks.
    """
    blocks = len(cases[0]) if cases else 0
    if blocks < LEAST_BLOCKS:
        return None
    tops = [amounts.max(axis=0) for amounts in cases]
    scaled = [amounts / top for amounts, top in zip(cases, tops, strict=True)]
    means = [amounts.mean(axis=0) for amounts in scaled]
    logs = [np.log(mean) + np.log(top) for mean, top in zip(means, tops, strict=True)]
    ratio = float(np.mean([log[0] - log[1] for log in logs]))
    shares = [amounts / mean for amounts, mean in zip(scaled, means, strict=True)]
    added = np.mean([share[:, 0] - share[:, 1] for share in shares], axis=0)
    reach = -float(stdtrit(blocks - 1, level / 2)) * float(np.std(added, ddof=1))
    reach /= math.sqrt(blocks)
    middle = sign * ratio
    ends = (middle, middle - reach, middle + reach)
    return TotalWork(*(math.expm1(min(end, RATIO_LOG_MAX)) for end in ends))


def typical_only(total: TotalWork | None, margin_log: float) -> Reason | None:
    """What "helps" does not say; None where total work is shown to be no worse than the margin."""
    if total is None or math.log1p(total.low) > -margin_log:
        return None
    return _reason(Code.TYPICAL_ONLY, total)


def differs(total: TotalWork | None, margin_log: float) -> Reason | None:
    """Total work that lies wholly outside the margin, whatever the typical run does."""
    if total is None:
        return None
    low, high = math.log1p(total.low), math.log1p(total.high)
    return _reason(Code.TOTAL_DIFFERS, total) if low > margin_log or high < -margin_log else None


def _reason(code: Code, total: TotalWork) -> Reason:
    return Reason.of(code, total=total.estimate, low=total.low, high=total.high)


def steps(values: NDArray[np.float64], margin_log: float, metric: str) -> Reason | None:
    """Whether the values that a metric takes, all above zero, lie further apart than the margin."""
    logs = np.diff(np.log(np.unique(values)))
    if not len(logs) or (least := float(logs.min())) <= margin_log:
        return None
    return Reason.of(Code.COARSE_STEPS, metric=metric, step=math.expm1(least))
