"""One step of a search: does the middle have the speed of the good end, of the bad end, or neither?

Every block runs both ends and the middle once, in a random order. Two claims are tested, each by
signed ranks and group-sequentially (`boundary.py`), and each is exact: if the middle is as fast as
the good end, exchanging their runs only flips the sign of their contrast.

    left    the middle is slower than the good end: a change lies between them
    right   the bad end is slower than the middle: a change lies between those

With one change exactly one of the two is false, so a step errs with the chance of one test on one
side. Left alone is "bad", right alone is "good", both are "between". Where one claim holds and the
other is open, the step goes on until the open one is the smaller by half, or holds too.

A step that is open after its planned blocks is made half as long again, at most three times, out of
what the rule keeps back for extensions (`rule.py`).

Not the sign of the middle against the mean of the ends: an effect is twice as large against an end
as against the mean, and the mean is the truth of neither end.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from assay.stats.boundary import schedule
from assay.stats.rule import Rule
from assay.stats.sample_size import blocks_for_smallest, least_blocks, study_size
from assay.stats.sequence import extended
from assay.stats.signed_rank import Interval, SignedRank

EXTENSIONS = 3
NEARER = 0.5
"""A claim that holds ends the step once the other contrast is estimated below this share of it."""


class StepAnswer(enum.StrEnum):
    """What a step says of its middle."""

    GOOD = "good"
    BAD = "bad"
    BETWEEN = "between"
    UNCLEAR = "unclear"


def rule_for(effect: float, alpha: float) -> Rule:
    """The rule of a step or a confirmation that looks for an effect (log units, above zero)."""
    size = min(math.expm1(effect), 0.99)
    return Rule(size, size / 2, alpha)


def blocks_for(noise: float, rule: Rule) -> int:
    """Blocks that see the rule's effect, where a pair of runs differs by `noise` (log units)."""
    wanted = max(blocks_for_smallest(noise, rule, 1), least_blocks(rule, 1))
    return study_size(wanted, rule.constants)


@lru_cache(maxsize=1024)
def levels_of(rule: Rule, planned: int) -> dict[int, float]:
    """Two-sided nominal level of each look, by its block count, those of extensions after them."""
    planned_looks = schedule(planned, rule.alpha_main, rule.constants)
    found = dict(zip(planned_looks.looks, planned_looks.levels(rule.alpha_main), strict=True))
    for number in range(1, EXTENSIONS + 1):
        total = extended(planned, number, rule.constants)
        found[total] = rule.extension(number).alpha_main
    return found


@dataclass
class StepTest:
    """A step as far as it was asked. Contrasts are in log units, towards the bad end."""

    rule: Rule
    planned: int
    left: list[float] = field(default_factory=list)
    right: list[float] = field(default_factory=list)
    answer: StepAnswer | None = None
    left_interval: Interval | None = None
    right_interval: Interval | None = None

    def add(self, left: float, right: float) -> None:
        """Take in a block: middle against good end, bad end against middle."""
        self.left.append(left)
        self.right.append(right)
        level = levels_of(self.rule, self.planned).get(len(self.left))
        if level is not None:
            self._look(level)

    @property
    def blocks(self) -> int:
        return len(self.left)

    @property
    def at_most(self) -> int:
        """Blocks after the last extension."""
        return extended(self.planned, EXTENSIONS, self.rule.constants)

    def estimates(self) -> tuple[float, float]:
        """Of the two contrasts; zero without a block."""
        if not self.left:
            return 0.0, 0.0
        return SignedRank(self.left).estimate, SignedRank(self.right).estimate

    def noise(self) -> float:
        """Standard deviation of the difference of a pair of runs (log units)."""
        return pooled([SignedRank(self.left).noise(), SignedRank(self.right).noise()])

    def _look(self, level: float) -> None:
        samples = SignedRank(self.left), SignedRank(self.right)
        self.left_interval, self.right_interval = (s.interval(level) for s in samples)
        holds = self.left_interval[0] > 0, self.right_interval[0] > 0
        left, right = (s.estimate for s in samples)
        last = self.blocks >= self.at_most
        if all(holds):
            self.answer = StepAnswer.BETWEEN
        elif holds[0] and (right <= NEARER * left or last):
            self.answer = StepAnswer.BAD
        elif holds[1] and (left <= NEARER * right or last):
            self.answer = StepAnswer.GOOD
        elif last:
            self.answer = StepAnswer.UNCLEAR


def pooled(noises: Sequence[float]) -> float:
    """The root mean square."""
    return math.sqrt(sum(n * n for n in noises) / len(noises))
