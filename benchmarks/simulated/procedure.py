"""Assay's own way from contrasts to a verdict, and what is counted about many of them.

`whole` is what a user gets: pilot of 8 blocks, plan from |c|, looks, new plans, stop. `planned`
leaves the pilot out and fixes the number of blocks, which uses up the error of the looks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from assay.stats import Judgement, Rule, Word, judge
from assay.stats.sample_size import (
    blocks_for_margin,
    blocks_for_smallest,
    least_blocks,
    plan_looks,
)

from .noise import Floats

ARM = "arm"
SIGN = {Word.HELPS: 1, Word.HURTS: -1}


def whole(values: Floats, rule: Rule, budget: int) -> Judgement:
    """The procedure on one study of two arms; `values` holds at least `budget` contrasts."""
    series = {ARM: list(enumerate(values[:budget].tolist()))}
    _, looks = plan_looks(series, rule, budget, budget)
    return judge({ARM: series[ARM][: looks.planned]}, rule, looks, looks.planned)[ARM]


def planned(values: Floats, rule: Rule, blocks: int) -> Judgement:
    """The looks of a study that was planned for `blocks` blocks."""
    return judge({ARM: list(enumerate(values[:blocks].tolist()))}, rule, blocks, blocks)[ARM]


def known_plan(noise: float, rule: Rule, budget: int) -> int:
    """Blocks that would be planned if the noise were known instead of estimated in a pilot."""
    wanted = max(
        blocks_for_smallest(noise, rule, 1), blocks_for_margin(noise, rule), least_blocks(rule, 1)
    )
    return min(wanted, budget)


def sign(judgement: Judgement) -> int:
    """What it says of the arm: +1 helps, -1 hurts, 0 neither."""
    return SIGN.get(judgement.word, 0)


def agrees(judgement: Judgement, rule: Rule) -> bool:
    """The word is the one that the interval beside it shows."""
    low, high = judgement.low, judgement.high
    if low is None or high is None:
        return judgement.word == Word.UNDECIDED
    if judgement.word == Word.NO_DIFFERENCE:
        return math.expm1(-rule.margin_log) < low and high < rule.margin
    return {1: low > 0, -1: high < 0, 0: low <= 0 <= high}[sign(judgement)]


@dataclass
class Tally:
    """What became of many studies of one truth (a fraction; 0.02 is a gain of 2 %)."""

    rule: Rule
    truth: float
    studies: int = 0
    words: dict[str, int] = field(default_factory=dict)
    covered: int = 0
    agreeing: int = 0
    blocks: list[int] = field(default_factory=list)

    def add(self, judgements: Iterable[Judgement]) -> None:
        """Count more studies."""
        for found in judgements:
            self.studies += 1
            self.words[found.word] = self.words.get(found.word, 0) + 1
            unbounded = found.low is None or found.high is None
            self.covered += unbounded or found.low <= self.truth <= found.high
            self.agreeing += agrees(found, self.rule)
            self.blocks.append(found.blocks)

    def count(self, *words: Word) -> int:
        """Studies that ended with one of `words`."""
        return sum(self.words.get(word, 0) for word in words)

    @property
    def mean_runs(self) -> float:
        """Runs of both arms together, on average."""
        return 2 * float(np.mean(self.blocks))

    @property
    def most_runs(self) -> int:
        """Runs of both arms together, in the longest study."""
        return 2 * max(self.blocks)
