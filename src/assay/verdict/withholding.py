"""What else a word depends on: steps of the metric, steadiness of runs, and total work.

"No difference" is withheld while one of them speaks against it, and the contrast stays open until
the planned end: more blocks may settle it. "Helps" keeps its word and says where total work is not
shown to be no worse. Where runs of two arms depend on the run before them, a word stands only if
the blocks that are free of that say it too. (docs/method.md)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.core.metrics import metric
from assay.plan import Plan
from assay.reasons import Code, Reason
from assay.stats.contrast import Contrast
from assay.stats.robustness import read_off
from assay.stats.rule import Word
from assay.stats.sequence import as_fractions
from assay.stats.signed_rank import SignedRank
from assay.stats.total_work import TotalWork, differs, steps, total_work
from assay.verdict.observations import Block, amounts, observations
from assay.verdict.self_check import carried_between, not_steady, two_arms


def withheld(
    plan: Plan, blocks: Sequence[Block], cases: Sequence[str], contrast: Contrast, level: float
) -> Reason | None:
    """Why "no difference" is not to be said of a contrast on these blocks; `level` is that of a
    difference at this look, two-sided."""
    trend = not_steady(plan, blocks, cases, contrast)
    if trend is not None:
        return trend
    margin = plan.rule.margin_log
    for case in cases:
        seen = observations(blocks, (case,), contrast.arms)
        values = np.array([v for s in seen if (v := s.metrics.get(plan.primary, 0.0)) > 0])
        coarse = steps(values, margin, plan.primary)
        if coarse is not None:
            return coarse
    return differs(total_of(plan, blocks, cases, contrast, level), margin)


def total_of(
    plan: Plan, blocks: Sequence[Block], cases: Sequence[str], contrast: Contrast, level: float
) -> TotalWork | None:
    """Total work of an arm against another; None where a contrast has more arms than two."""
    weights = {arm: weight for arm, weight in contrast.weights.items() if weight}
    if sorted(weights.values()) != [-1.0, 1.0]:
        return None
    pair = sorted(weights, key=lambda arm: -weights[arm])
    every = [[amounts(block, case, plan.primary) for case in cases] for block in blocks]
    common = [rows for rows in every if all(set(pair) <= set(row) for row in rows)]
    found: list[NDArray[np.float64]] = [
        np.array([[rows[k][arm] for arm in pair] for rows in common]) for k in range(len(cases))
    ]
    return total_work(found, metric(plan.primary).sign, level)


def carried(
    plan: Plan, blocks: Sequence[Block], cases: Sequence[str], word: Word, level: float
) -> Reason | None:
    """Why a word on two arms does not stand: runs depend on the run before them, and the blocks
    that are free of that say another word; None otherwise, and where there are several cases."""
    if len(cases) > 1 or carried_between(plan, blocks, cases[0]) is None:
        return None
    values, turned = two_arms(plan, blocks, cases[0])
    free = SignedRank([value for index, value in values.items() if turned.get(index) is False])
    interval, rule = free.interval(level), plan.rule
    said = read_off(interval, free.interval(rule.alpha_equivalence), rule.margin_log)
    if said is word:
        return None
    low, high = as_fractions(interval)
    return Reason.of(Code.CARRIED, word=str(said), low=low, high=high, blocks=len(free.values))
