"""The points of an axis while a study runs: when each began, and how they share alpha.

A point is a case. Those that the study opens with begin at its first block; one that a refinement
added begins with its first run, and from there on has a clock of its own: its looks are those of
the study, counted in its own blocks. Without an axis every case begins at the first block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.plan import Plan
from assay.stats.contrast import Contrast
from assay.verdict.observations import Block
from assay.verdict.rows import SUITE

Values = list[tuple[int, float]]
Key = tuple[str, str]
"""Case and contrast name."""


def begun(plan: Plan, blocks: Sequence[Block]) -> dict[str, int]:
    """Case -> the block that it began with, of all that have begun; the suite is one of them."""
    if plan.axis is None:
        return dict.fromkeys([c.name for c in plan.cases] + [SUITE] * plan.has_suite, 0)
    found = dict.fromkeys(plan.axis.opening, 0)
    for index, block in enumerate(blocks):
        for case, _ in block.cells:
            found.setdefault(case, index)
    return found


def cases_begun(plan: Plan, blocks: Sequence[Block]) -> list[str]:
    """The cases that have begun, without the suite."""
    there = begun(plan, blocks)
    return [case.name for case in plan.cases if case.name in there]


def share(plan: Plan, contrasts: Sequence[Contrast]) -> int | None:
    """Into how many equal parts alpha is divided: one for each contrast at each point, those that
    may be added among them. None without an axis, where Holm's method divides it."""
    if plan.axis is None:
        return None
    most = len(plan.axis.opening) + plan.axis.extra * len(plan.axis.curves)
    return most * len(contrasts)


def together(values: Mapping[Key, Values], starts: Mapping[str, int]) -> dict[int, list[Key]]:
    """Start -> the comparisons whose blocks are counted from there."""
    found: dict[int, list[Key]] = {}
    for key in values:
        found.setdefault(starts[key[0]], []).append(key)
    return found


def since(values: Values, start: int) -> Values:
    """A comparison by its own blocks, counted from 0."""
    return [(block - start, value) for block, value in values if block >= start]
