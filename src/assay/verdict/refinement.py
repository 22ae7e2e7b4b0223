"""Refining a curve: where points are added to an axis, and when.

A study opens with a few points. Once every verdict there is final, each curve that crosses zero
gets the point that halves what is not known of its crossing (`stats/crossing.py`), and goes on
until that point has its verdict; and so on, until the crossing cannot be narrowed on the grid that
the plan wrote down, or the points that may be added, or the time, are used up.

Which point is added follows from verdicts that are final, and it is measured on blocks that come
after them. So its own comparisons are as if it had been planned alone; its share of alpha was kept
for it from the beginning (`points.share`), whether it is used or not. The same blocks give the same
points: nothing is kept beside them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.plan import Plan
from assay.stats.crossing import AxisEffect, halving
from assay.stats.rule import Word
from assay.verdict.observations import Block
from assay.verdict.points import begun
from assay.verdict.rows import CurveContrastRow, CurveRow

REFINED = 0.5
"""Of a budget, so much is for the points that a refined axis opens with."""


@dataclass(frozen=True)
class Room:
    """What is left: a point takes `blocks` blocks; `seconds` of the budget are left, of which one
    block of all opening points took `block_s`."""

    blocks: int
    seconds: float
    block_s: float


def later_runs(
    plan: Plan, blocks: Sequence[Block], curves: Sequence[CurveRow], room: Room
) -> frozenset[tuple[str, str]]:
    """Case and arm of every run that is added now; none where the study is over."""
    axis = plan.axis
    if axis is None or not axis.extra or len(blocks) + room.blocks > len(plan.schedule):
        return frozenset()
    there = begun(plan, blocks)
    cases: list[str] = []
    for curve in curves:
        points = axis.points_of(curve.case)
        used = sum(p.later and p.case in there for p in points)
        left = {p.value: p.case for p in points if p.case not in there}
        found = dict.fromkeys(_asked(curve, list(left)))
        cases += [left[value] for value in found][: axis.extra - used]
    one_s = room.block_s / len(axis.opening) * room.blocks
    while cases and one_s * len(cases) > room.seconds:
        cases.pop()
    return frozenset((case, arm.name) for case in cases for arm in plan.arms)


def _asked(curve: CurveRow, left: Sequence[float]) -> Iterator[float]:
    """The point that each comparison would have next."""
    for contrast in curve.contrasts:
        value = halving(_points(contrast), left, curve.logarithmic)
        if value is not None:
            yield value


def _points(contrast: CurveContrastRow) -> list[AxisEffect]:
    signs = {str(Word.HELPS): 1, str(Word.HURTS): -1}
    return [
        AxisEffect(e.value, signs.get(e.word, 0), math.log1p(e.estimate), e.blocks)
        for e in contrast.effects
        if e.estimate is not None
    ]
