"""Warnings about a set of runs that can be seen in the runs themselves.

A closed list of codes, so that a warning is data: stored with the result, countable, testable. A
warning never changes a verdict; it tells the reader what the verdict rests on. Each statistical
check speaks up by chance about once in a hundred clean studies.

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

import enum
import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc

from assay.core.units import percent
from assay.stats.constants import STANDARD, Constants
from assay.stats.contrast import Block
from assay.stats.signed_rank import DECIMALS, midranks


class Code(enum.StrEnum):
    """Every warning there is."""

    FIXED_SAMPLE = "fixed-sample"
    UNFINISHED = "unfinished"
    BEYOND_PLAN = "beyond-plan"
    BLOCKS_DROPPED = "blocks-dropped"
    ORDER_UNKNOWN = "order-unknown"
    ORDER_GROUPED = "order-grouped"
    ORDER_FIXED = "order-fixed"
    ORDER_MIRRORED = "order-mirrored"
    SLOT_EFFECT = "slot-effect"
    SERIAL_CORRELATION = "serial-correlation"
    COARSE_METRIC = "coarse-metric"
    CARRY_OVER = "carry-over"
    VOIDS_DEPEND = "voids-depend"
    STAND_IN = "stand-in"
    CLOSED_LOOP = "closed-loop"
    PILOT_UNSETTLED = "pilot-unsettled"


@dataclass(frozen=True)
class StatWarning:
    """One warning: its code and the sentence for people."""

    code: Code
    text: str


def order_warnings(
    orders: Sequence[Sequence[str]], constants: Constants = STANDARD
) -> list[StatWarning]:
    """Warnings from the run order inside blocks.

    `orders`: per block, in time order, its arms in the order they ran; blocks that lack an arm
    are passed over. A random order repeats by
    chance: two arms keep one order through 4 blocks in 1 of 8 studies, and the text says so.
    """
    arms = max((len(order) for order in orders), default=0)
    orders = [list(order) for order in orders if len(order) == arms]
    if arms < 2 or len(orders) < constants.warning_orders_min:
        return []
    one_in = math.factorial(arms) ** min(len(orders) - 1, 10)  # beyond it nobody is told
    odds = f" A random order does that by chance once in {one_in} studies."
    odds = odds if one_in <= 1 / constants.warning_rare else ""
    if all(order == orders[0] for order in orders):
        return [
            StatWarning(
                Code.ORDER_FIXED,
                "every block ran the arms in the same order, so whatever favours a slot favours "
                "an arm; this cannot be repaired afterwards, only by runs in a random order."
                + odds,
            )
        ]
    flipped = [orders[0] if k % 2 == 0 else orders[0][::-1] for k in range(len(orders))]
    if orders == flipped:
        return [
            StatWarning(
                Code.ORDER_MIRRORED,
                "the order mirrors from block to block (ABBA), so periodic disturbances count "
                "for an arm; this cannot be repaired afterwards, only by a random order." + odds,
            )
        ]
    return []


def grouped_warning(sequence: Sequence[str]) -> StatWarning | None:
    """Whether all runs of one arm came before those of the next (AAABBB).

    `sequence`: the arm of each run, in time order over the whole study.
    """
    arms = len(set(sequence))
    switches = sum(late != early for early, late in itertools.pairwise(sequence))
    if arms < 2 or switches != arms - 1 or len(sequence) < 2 * arms:
        return None
    return StatWarning(
        Code.ORDER_GROUPED,
        "the arms ran one after the other (AAABBB), so drift of the machine looks like an "
        "effect; this order cannot be repaired afterwards, and more runs make it worse.",
    )


def slot_warning(
    table: Mapping[Block, Mapping[str, float]],
    orders: Mapping[Block, Sequence[str]],
    constants: Constants = STANDARD,
) -> StatWarning | None:
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
    means = by_slot.mean(axis=0)
    spread = math.expm1(float(np.ptp(means)))
    return StatWarning(
        Code.SLOT_EFFECT,
        f"the place inside a block matters: slots differ by about {percent(spread)}. "
        "A random order keeps the verdict valid; a better reset between runs would make it "
        "cheaper.",
    )


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
) -> StatWarning | None:
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
    return StatWarning(Code.CARRY_OVER, _carried(groups, baseline, runs))


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


def _carried(groups: Mapping[Hashable, Sequence[float]], baseline: str, runs: int) -> str:
    """The sentence: after which arm the baseline is furthest off, by how much, what follows.

    Of two predecessors only the difference is known, so both are named. The size is up to a
    quarter too large, because the runs compared with have predecessors too; hence "about".
    """
    away = {}
    for before, found in groups.items():
        rest = [v for other, values in groups.items() if other != before for v in values]
        away[before] = float(np.median(found) - np.median(rest))
    worst = max((b for b in away if b is not None), key=lambda b: (abs(away[b]), -away[b]))
    others = [b for b in groups if b != worst]
    slower = away[worst] < 0
    against, or_else = "right after the other arms", ""
    if None in groups:
        against = "when it ran first"
        or_else = " With two arms this may also be an effect of the slot."
    elif len(others) == 1:
        against = f"right after {others[0]}"
        or_else = f" It may be {others[0]} that does the opposite."
    size = percent(abs(math.expm1(away[worst])))
    return (
        f"{baseline} ran about {size} {'slower' if slower else 'faster'} right after {worst} than "
        f"{against}: a run depends on the run before it. If {worst} does that to whatever "
        f"follows it, {worst} looks {'better' if slower else 'worse'} by about 1/{runs} of it; a "
        f"random order does not mend that, only a better reset between runs.{or_else}"
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
) -> StatWarning | None:
    """Whether contrasts of neighbouring blocks are alike (lag-1 correlation)."""
    n = len(values)
    centred = np.asarray(values) - np.median(values) if n else np.zeros(0)
    scale = float(np.sum(centred**2))
    if n < constants.warning_blocks_min or scale < 1e-24:
        return None
    correlation = float(np.sum(centred[1:] * centred[:-1])) / scale
    if abs(correlation) <= constants.warning_rare_z / math.sqrt(n):
        return None
    return StatWarning(
        Code.SERIAL_CORRELATION,
        f"{name}: the effect in one block resembles that in the next (correlation "
        f"{correlation:.2f}), so something slower than a block acts on one arm only.",
    )


def ties_warning(
    name: str, values: Sequence[float] | NDArray[np.float64], constants: Constants = STANDARD
) -> StatWarning | None:
    """Whether the metric is too coarse: many contrasts are zero or equal in size."""
    n = len(values)
    if n < constants.warning_blocks_min:
        return None
    sizes, counts = np.unique(np.round(np.abs(np.asarray(values)), 12), return_counts=True)
    tied = int(np.sum(counts[(counts > 1) | (sizes == 0)]))
    if tied / n <= constants.warning_ties_max:
        return None
    return StatWarning(
        Code.COARSE_METRIC,
        f"{name}: {tied} of {n} blocks tie with another or show no change at all; the metric "
        "is rounded too coarsely for its effect.",
    )
