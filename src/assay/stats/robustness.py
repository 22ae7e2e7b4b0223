"""Whether a verdict hangs on the choice of a robust estimator.

Beside every signed-rank verdict stands the mean-based paired t interval at the same nominal
level. When the two would use different words, the reader should know: a few extreme blocks pull
the mean, or the noise is so regular that the t interval is shorter. This never changes a
verdict; it adds a remark to its reason.

Source: Student's paired interval; Hollander, Wolfe & Chicken, chapter 3, on comparing the two.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from assay.reasons import Code, Reason
from assay.stats.rule import Word
from assay.stats.signed_rank import UNBOUNDED, Interval


def mean_interval(values: NDArray[np.float64], level: float) -> Interval:
    """Paired t interval at nominal two-sided `level`, log units; unbounded below 2 values."""
    n = len(values)
    if n < 2:
        return UNBOUNDED
    mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
    reach = -float(stdtrit(n - 1, level / 2)) * deviation / math.sqrt(n)
    return mean - reach, mean + reach


def read_off(interval: Interval, equivalence: Interval, margin_log: float) -> Word:
    """The word two intervals stand for: the one place where that is decided."""
    if interval[0] > 0:
        return Word.HELPS
    if interval[1] < 0:
        return Word.HURTS
    if within(equivalence, margin_log):
        return Word.NO_DIFFERENCE
    return Word.UNDECIDED


def within(interval: Interval, margin_log: float) -> bool:
    """The whole interval lies strictly inside the margin."""
    return -margin_log < interval[0] and interval[1] < margin_log


def robustness(
    values: NDArray[np.float64],
    word: Word,
    level: float,
    level_equivalence: float,
    margin_log: float,
) -> tuple[Reason, ...]:
    """A reason when the mean-based intervals at the same nominal levels use another word."""
    other = read_off(
        mean_interval(values, level), mean_interval(values, level_equivalence), margin_log
    )
    return () if other == word else (Reason.of(Code.NOT_ROBUST, word=str(other)),)
