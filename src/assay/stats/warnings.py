"""Warnings about a set of runs that can be seen in the runs themselves.

A warning is a reason: a code with its fields. It never changes a verdict; it tells the reader what
the verdict rests on. Each statistical check speaks up by chance about once in a hundred clean
studies.

Not here: anything that needs the host or the server (steal, settings read back); those are the
bench's, and they void runs. Whether voids prefer an arm is `voids.py`; whether a latency can be
compared at all, `latency.py`.

Sources: slot effect, one-way analysis of variance of two-way residuals (Montgomery, Design and
Analysis of Experiments, randomised blocks); carry-over, the same on ranks (Conover & Iman, Am.
Stat. 35 (1981)), the design question is that of Jones & Kenward, Design and Analysis of
Cross-Over Trials; serial correlation, the large-sample bound z/sqrt(n) (Box & Jenkins, Time
Series Analysis, section 2.1).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc

from assay.reasons import Code, Reason
from assay.stats.constants import STANDARD, Constants
from assay.stats.contrast import Block
from assay.stats.signed_rank import DECIMALS, midranks


def order_warnings(
    orders: Sequence[Sequence[str]], constants: Constants = STANDARD
) -> list[Reason]:
    """Warnings from the run order inside blocks.

    `orders`: per block, in time order, its arms in the order they ran; blocks that lack an arm
    are passed over. A random order repeats by
    chance: two arms keep one order through 4 blocks in 1 of 8 studies, and `one_in` says so.
    """
    arms = max((len(order) for order in orders), default=0)
    orders = [list(order) for order in orders if len(order) == arms]
    if arms < 2 or len(orders) < constants.warning_orders_min:
        return []
    one_in = math.factorial(arms) ** min(len(orders) - 1, 10)  # beyond it nobody is told
    told = one_in if one_in <= 1 / constants.warning_rare else None
    if all(order == orders[0] for order in orders):
        return [Reason.of(Code.ORDER_FIXED, one_in=told)]
    flipped = [orders[0] if k % 2 == 0 else orders[0][::-1] for k in range(len(orders))]
    return [Reason.of(Code.ORDER_MIRRORED, one_in=told)] if orders == flipped else []


def grouped_warning(sequence: Sequence[str]) -> Reason | None:
    """Whether all runs of one arm came before those of the next (AAABBB).

    `sequence`: the arm of each run, in time order over the whole study.
    """
    arms = len(set(sequence))
    switches = sum(late != early for early, late in itertools.pairwise(sequence))
    if arms < 2 or switches != arms - 1 or len(sequence) < 2 * arms:
        return None
    return Reason.of(Code.ORDER_GROUPED)


def slot_warning(
    table: Mapping[Block, Mapping[str, float]],
    orders: Mapping[Block, Sequence[str]],
    constants: Constants = STANDARD,
) -> Reason | None:
    """Whether the place inside a block matters: means of residuals by slot differ.

    `table`: block -> arm -> log metric; `orders`: block -> its arms as they ran. Blocks with
    missing arms are left out. A random order makes this harmless; it is worth knowing.
    """
    arms = sorted({arm for row in table.values() for arm in row})
    blocks = [b for b in table if len(table[b]) == len(orders.get(b, ())) == len(arms)]
    if len(blocks) < constants.warning_blocks_min or len(arms) < 2:
        return None
    grid = np.array([[table[block][arm] for arm in arms] for block in blocks])
    residual = grid - grid.mean(axis=1, keepdims=True) - grid.mean(axis=0) + grid.mean()
    by_slot = np.array(
        [[residual[k, arms.index(arm)] for arm in orders[b]] for k, b in enumerate(blocks)]
    )
    if np.ptp(residual) < 1e-12 or slot_p(by_slot) >= constants.warning_rare:
        return None
    spread = math.expm1(float(np.ptp(by_slot.mean(axis=0))))
    return Reason.of(Code.SLOT_EFFECT, spread=spread)


def slot_p(slots: NDArray[np.float64]) -> float:
    """p value of "the slot does not matter", from two-way residuals.

    `slots`: shape (blocks, arms), row = one block's residuals in the order they ran. Blocks and
    arms have been taken out, so the F test is that of a Latin-square-like analysis: arms-1
    against (arms-1)(blocks-2) degrees of freedom. For two arms that ran in either order equally
    often it is the t test between the blocks of one order and those of the other.
    """
    blocks, arms = slots.shape
    means = slots.mean(axis=0)
    between = blocks * float(np.sum(means**2))
    inside = float(np.sum((slots - means) ** 2))
    if inside == 0:
        return 0.0
    free = arms - 1
    ratio = (between / free) / (inside / (free * (blocks - 2)))
    return float(fdtrc(free, free * (blocks - 2), ratio))


def carry_warning(
    table: Mapping[Block, Mapping[str, float]],
    orders: Mapping[Block, Sequence[Hashable]],
    baseline: str,
    case: str | None = None,
    constants: Constants = STANDARD,
) -> Reason | None:
    """Whether the arm that ran just before a run of the baseline shows in that run.

    `table`: block -> arm -> log metric, of one case; `orders`: block -> its runs as they ran,
    each an arm, or with `case` a (case, arm) pair, because a study of several cases mixes them.

    If B slows whatever follows it by c, then of n runs in a block, one run of the baseline in n
    suffers and none of B's by itself: B looks better by c/n, c/2 for two arms. Randomisation
    does not mend that; only a better reset between runs does.

    A run is taken relative to the other arms of its block, each at its median distance. The first
    run of a block has no known predecessor (a pause, or a void attempt) and is left out, so with
    three arms or more every predecessor meets the same mixture of slots, and a slot effect alone
    raises no warning. What every arm hands on alike cannot be seen, and does no harm. With two arms
    only "second" and "first" can be compared: that is the slot effect as well, and the
    sum of what each arm does to the other.
    """
    run = baseline if case is None else (case, baseline)
    groups: dict[Hashable, list[float]] = {}
    for block, value in _relative(table, baseline).items():
        order = list(orders.get(block, ()))
        if run in order:
            place = order.index(run)
            before = order[place - 1] if place else None
            before = before[1] if isinstance(before, tuple) else before
            groups.setdefault(before, []).append(value)
    known = {before: found for before, found in groups.items() if before is not None}
    alone = len(known) == 1
    groups = {before: found for before, found in groups.items() if len(found) > 1}
    groups = groups if alone else {b: found for b, found in groups.items() if b is not None}
    if rank_p(list(groups.values()), constants) >= constants.warning_rare:
        return None
    runs = max(len(order) for order in orders.values())
    return _carried(groups, baseline, runs)


def turned_warning(
    values: Mapping[int, float],
    turned: Mapping[int, bool],
    arm: str,
    baseline: str,
    constants: Constants = STANDARD,
) -> Reason | None:
    """Whether a contrast of two arms depends on what ran before each, over the borders of blocks.

    `values`: block -> contrast, log units; `turned`: block -> whether each of the two arms ran
    after the other. Where an arm repeats the one that ended the block before, both ran after the
    same arm: what it hands on meets both, and the contrast is free of it. Of two arms the test
    inside blocks (`carry_warning`) sees nothing, because every order hands on alike.
    """
    groups: dict[bool, list[float]] = {True: [], False: []}
    for block, value in values.items():
        if block in turned:
            groups[turned[block]].append(value)
    if min(map(len, groups.values())) < 2 or rank_p([*groups.values()], constants) >= (
        constants.warning_rare
    ):
        return None
    change = float(np.median(groups[True]) - np.median(groups[False]))
    return Reason.of(
        Code.CARRY_BETWEEN,
        arm=arm,
        baseline=baseline,
        change=math.expm1(change),
        free=len(groups[False]),
        blocks=len(groups[False]) + len(groups[True]),
    )


def _relative(table: Mapping[Block, Mapping[str, float]], baseline: str) -> dict[Block, float]:
    """block -> the baseline's run less the other arms', each contrast taken about its median."""
    distances: dict[Block, dict[str, float]] = {
        block: {arm: row[baseline] - value for arm, value in row.items() if arm != baseline}
        for block, row in table.items()
        if baseline in row and len(row) > 1
    }
    arms = sorted({arm for row in distances.values() for arm in row})
    centre = {a: float(np.median([r[a] for r in distances.values() if a in r])) for a in arms}
    return {
        block: sum(value - centre[arm] for arm, value in row.items()) / len(row)
        for block, row in distances.items()
    }


def _carried(groups: Mapping[Hashable, Sequence[float]], baseline: str, runs: int) -> Reason:
    """After which arm the baseline is furthest off, by how much, and against what that is known.

    Of two predecessors only the difference is known, so both are named. The size is up to a
    quarter too large, because the runs compared with have predecessors too.
    """
    away = {}
    for before, found in groups.items():
        rest = [v for other, values in groups.items() if other != before for v in values]
        away[before] = float(np.median(found) - np.median(rest))
    worst = max((b for b in away if b is not None), key=lambda b: (abs(away[b]), -away[b]))
    others = [b for b in groups if b != worst]
    against = "first" if None in groups else "arm" if len(others) == 1 else "others"
    return Reason.of(
        Code.CARRY_OVER,
        baseline=baseline,
        after=str(worst),
        change=math.expm1(away[worst]),
        against=against,
        other=str(others[0]) if against == "arm" else "",
        runs=runs,
    )


def rank_p(groups: Sequence[Sequence[float]], constants: Constants = STANDARD) -> float:
    """p value of "all groups are alike", on ranks; 1 where there is too little.

    Ranks, so that one disaster does not decide. With few runs the chi square of Kruskal and
    Wallis is too blunt for three groups or more and right for two, and the F test the reverse.
    """
    sizes = np.array([len(group) for group in groups])
    total = int(sizes.sum()) if len(groups) else 0
    if len(groups) < 2 or total < constants.warning_blocks_min:
        return 1.0
    ranks = midranks(np.round(np.concatenate([np.asarray(g) for g in groups]), DECIMALS))
    ranks -= ranks.mean()
    means = np.array([part.mean() for part in np.split(ranks, np.cumsum(sizes)[:-1])])
    between, whole = float(np.sum(sizes * means**2)), float(np.sum(ranks**2))
    if whole == 0:
        return 1.0
    free, rest = len(groups) - 1, total - len(groups)
    if free == 1:
        return float(chdtrc(1, between / whole * (total - 1)))
    inside = whole - between
    return float(fdtrc(free, rest, (between / free) / (inside / rest))) if inside > 0 else 0.0


def serial_warning(
    name: str, values: Sequence[float] | NDArray[np.float64], constants: Constants = STANDARD
) -> Reason | None:
    """Whether contrasts of neighbouring blocks are alike (lag-1 correlation)."""
    n = len(values)
    centred = np.asarray(values) - np.median(values) if n else np.zeros(0)
    scale = float(np.sum(centred**2))
    if n < constants.warning_blocks_min or scale < 1e-24:
        return None
    correlation = float(np.sum(centred[1:] * centred[:-1])) / scale
    if abs(correlation) <= constants.warning_rare_z / math.sqrt(n):
        return None
    return Reason.of(Code.SERIAL_CORRELATION, name=name, correlation=correlation)


def ties_warning(
    name: str, values: Sequence[float] | NDArray[np.float64], constants: Constants = STANDARD
) -> Reason | None:
    """Whether the metric is too coarse: many contrasts are zero or equal in size."""
    n = len(values)
    if n < constants.warning_blocks_min:
        return None
    sizes, counts = np.unique(np.round(np.abs(np.asarray(values)), 12), return_counts=True)
    tied = int(np.sum(counts[(counts > 1) | (sizes == 0)]))
    if tied / n <= constants.warning_ties_max:
        return None
    return Reason.of(Code.COARSE_METRIC, name=name, tied=tied, blocks=n)
