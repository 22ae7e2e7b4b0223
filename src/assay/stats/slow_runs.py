"""Rare disasters, which a robust estimate hides: are there more slow runs in an arm?

The verdict on an arm is a median of sorts; a change that gains 2 % and loses half the throughput
in one run of ten still "helps". Here such runs are counted, beside the verdict and never in its
place. A difference is a lead ("suggests"): what counts as slow is a convention.

A run is slow when it lies more than max(10 %, 5 median absolute deviations) below its arm's
median, after the level of its time has been taken out. The deviation is that of all arms
together, so both counts of a comparison are of the same thing. 5 plain deviations are 3.4
standard deviations of normal noise; at a noise of 8 % the plain 10 % would call every tenth run a
disaster.

The level of a time is the median, over the blocks around it with at least 9 runs in all, of the
arms' distances to their own medians. Drift of the machine moves all arms and is taken out; a bad
run or two cannot move a median of nine. Raw values lose disasters to drift (15 % slow runs, 160
blocks, a walk of half a run deviation of 5 %: found in 23 studies of 100 in place of all); a
median inside one block needs at least three arms and calls twice as many clean runs slow.

An arm is compared with the baseline over the blocks in which both ran: a bad hour that only one
of them lived through must not count for the other.

What it cannot do: 5 slow runs of 40 against none are still chance (p = .055). A share of 5 %
takes some 200 blocks to be found; the interval says what share a short study can rule out. An arm
that is slow more often than not has a slow median, and its verdict says so, not this.

Sources: Newcombe, Statist. Med. 17 (1998) 873, method 10 (hybrid score interval); Tukey's median
polish (Exploratory Data Analysis, chapter 11) with a running median for the rows.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.reasons import Code, Reason
from assay.stats.constants import STANDARD, Constants
from assay.stats.fisher import fisher_two_sided, holm
from assay.stats.proportion import wilson
from assay.stats.rule import Word

Table = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True)
class Stability:
    """Slow runs of an arm beside the baseline's, over the blocks in which both ran.

    `estimate`, `low`, `high`: the baseline's share of slow runs minus the arm's, so that up is
    better, with its 95 % interval. `p`: Fisher's, adjusted for the number of arms (Holm); it
    gives the `word`, which is helps, hurts or undecided.
    """

    arm: str
    slow: int
    runs: int
    baseline_slow: int
    baseline_runs: int
    p: float
    word: Word
    estimate: float
    low: float
    high: float
    why: Reason

    @property
    def reason(self) -> str:
        """What was counted, as a text."""
        return self.why.text


def stability(
    table: Table,
    baseline: str,
    arms: Sequence[str],
    alpha: float = 0.05,
    constants: Constants = STANDARD,
) -> list[Stability]:
    """The stability of each arm beside the baseline.

    `table`: block -> arm -> log metric, up is better, runs may be missing; every arm in it helps
    to tell the level of a time. Arms that share no block with the baseline are left out.
    """
    residual = without_level(table, constants)
    limit = slow_limit(residual, constants)
    counts: dict[str, tuple[int, int, int]] = {}
    for arm in arms:
        both = [row for row in residual.values() if arm in row and baseline in row]
        if both and arm != baseline:
            slow, base = (sum(row[name] < -limit for row in both) for name in (arm, baseline))
            counts[arm] = slow, base, len(both)
    p_values = holm(
        {arm: fisher_two_sided(s, n - s, b, n - b) for arm, (s, b, n) in counts.items()}
    )
    return [
        _line(arm, *counts[arm], p_values[arm], alpha, limit, len(counts), constants)
        for arm in counts
    ]


def without_level(table: Table, constants: Constants = STANDARD) -> dict[int, dict[str, float]]:
    """Each run's distance to its arm's median and to the level of its time, blocks in order."""
    rest = {block: dict(table[block]) for block in sorted(table) if table[block]}
    arms = sorted({arm for row in rest.values() for arm in row})
    for _ in range(constants.slow_sweeps):
        _centre_arms(rest, arms)
        levels = _levels(rest, len(arms), constants.slow_level_runs)
        rest = {b: {arm: v - levels[b] for arm, v in row.items()} for b, row in rest.items()}
    _centre_arms(rest, arms)
    return rest


def slow_limit(residual: Table, constants: Constants = STANDARD) -> float:
    """How far below its arm's median a run is slow (log units)."""
    sizes = [abs(value) for row in residual.values() for value in row.values()]
    least = math.log(1 / (1 - constants.slow_share))
    return max(least, constants.slow_deviations * statistics.median(sizes)) if sizes else least


def newcombe(
    hits: int, runs: int, others: int, other_runs: int, z: float = STANDARD.slow_z
) -> tuple[float, float]:
    """95 % hybrid score interval of hits/runs - others/other_runs."""
    first, second = hits / runs, others / other_runs
    low, high = wilson(hits, runs, z)
    other_low, other_high = wilson(others, other_runs, z)
    difference = first - second
    return (
        difference - math.hypot(first - low, other_high - second),
        difference + math.hypot(high - first, second - other_low),
    )


def _centre_arms(rest: dict[int, dict[str, float]], arms: Sequence[str]) -> None:
    for arm in arms:
        centre = statistics.median(row[arm] for row in rest.values() if arm in row)
        for row in rest.values():
            if arm in row:
                row[arm] -= centre


def _levels(rest: Table, arms: int, runs: int) -> dict[int, float]:
    """block -> median of the runs around it; at either end the window leans inwards."""
    blocks = list(rest)
    width = min(len(blocks), 2 * math.ceil((runs / arms - 1) / 2) + 1 if arms else 1)
    width = max(width, 1)
    found = {}
    for k, block in enumerate(blocks):
        start = min(max(0, k - width // 2), len(blocks) - width)
        near = blocks[start : start + width]
        found[block] = statistics.median(v for b in near for v in rest[b].values())
    return found


def _line(
    arm: str,
    slow: int,
    base: int,
    runs: int,
    p: float,
    alpha: float,
    limit: float,
    arms: int,
    constants: Constants,
) -> Stability:
    word = Word.UNDECIDED
    if p <= alpha:
        word = Word.HURTS if slow > base else Word.HELPS
    low, high = newcombe(base, runs, slow, runs, constants.slow_z)
    why = Reason.of(
        Code.SLOW_RUNS,
        slow=slow,
        runs=runs,
        slower=-math.expm1(-limit),
        baseline=base,
        baseline_runs=runs,
        p=p,
        arms=arms,
    )
    estimate = (base - slow) / runs
    return Stability(arm, slow, runs, base, runs, p, word, estimate, low, high, why)
