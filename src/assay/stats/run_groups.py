"""Two speeds in one arm: its runs fall into a fast and a slow group, and what tells them apart.

A median of two groups is a run that nobody had. So the groups are said, with the counter that
parts them; and where the arms have them alike, arms are compared inside the groups too.

Runs are parted where the variance between two groups is largest (Otsu). There are two groups where
the gap between their medians is at least 4.5 + 20/n times the deviation inside them, of n runs.
One group of normal noise has such a gap in fewer than 1 study of 200, one of flat noise in 1 of 30
(tests). A few bad runs are no group: those are rare slow runs.

Blocks in which both runs are of one group give contrasts inside groups. Equal arms exchange their
groups with their runs, so such contrasts are symmetric about zero, as all are.

Sources: Otsu, IEEE Trans. SMC 9 (1979); the counter is the one with the largest share of pairs in
order (Mann and Whitney, Ann. Math. Stat. 18 (1947)), Bonferroni over the counters.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.stats.constants import STANDARD, Constants
from assay.stats.speeds import border
from assay.stats.warnings import rank_p

ByBlock = Mapping[int, float]


@dataclass(frozen=True)
class Groups:
    """Two groups of runs. `slow`: block -> whether its run is of the slow one; `gap`: how much
    slower that one is, a fraction of the fast one."""

    slow: Mapping[int, bool]
    gap: float

    @property
    def slow_runs(self) -> int:
        """How many runs are of the slow group."""
        return sum(self.slow.values())


@dataclass(frozen=True)
class Separator:
    """What parts two groups: a counter's median in slow runs and in fast ones."""

    name: str
    slow: float
    fast: float


def run_groups(values: ByBlock, constants: Constants = STANDARD) -> Groups | None:
    """The two groups of an arm's runs; None where there is one, or too few runs to tell.

    `values`: block -> log metric, up is better.
    """
    logs = np.array([values[block] for block in sorted(values)])
    if len(logs) < constants.groups_runs or float(np.ptp(logs)) == 0:
        return None
    slow = logs < border(logs)
    count = int(slow.sum())
    if min(count, len(logs) - count) < max(3, constants.groups_share * len(logs)):
        return None
    low, high = logs[slow], logs[~slow]
    gap = float(np.median(high) - np.median(low))
    inside = math.sqrt(float(np.sum((low - low.mean()) ** 2) + np.sum((high - high.mean()) ** 2)))
    inside /= math.sqrt(len(logs) - 2)
    clear = constants.groups_clear + constants.groups_extra / len(logs)
    if gap < max(math.log1p(constants.groups_gap), clear * inside):
        return None
    return Groups(dict(zip(sorted(values), slow.tolist(), strict=True)), -math.expm1(-gap))


def separator(
    groups: Groups, counters: Mapping[str, ByBlock], constants: Constants = STANDARD
) -> Separator | None:
    """The counter that parts the groups best; None where none of them does.

    `counters`: name -> block -> its value; one that some run lacks is passed over.
    """
    whole = {n: c for n, c in counters.items() if all(block in c for block in groups.slow)}
    best, found = constants.groups_order, None
    for name, counter in whole.items():
        slow = [counter[block] for block, is_slow in groups.slow.items() if is_slow]
        fast = [counter[block] for block, is_slow in groups.slow.items() if not is_slow]
        share = _in_order(slow, fast)
        if share > best and rank_p([slow, fast], constants) * len(whole) <= constants.groups_level:
            best = share
            found = Separator(name, statistics.median(slow), statistics.median(fast))
    return found


def inside(contrasts: ByBlock, first: Groups, second: Groups) -> dict[int, float]:
    """The contrasts of blocks in which both arms' runs are of the same group."""
    return {
        block: value
        for block, value in contrasts.items()
        if block in first.slow and first.slow[block] == second.slow.get(block)
    }


def _in_order(slow: list[float], fast: list[float]) -> float:
    """The share of pairs of a slow and a fast run that are in the order of most; 0.5 is chance."""
    above = sum((a > b) + 0.5 * (a == b) for a in slow for b in fast) / (len(slow) * len(fast))
    return max(above, 1 - above)
