"""The ruling: from a plan and its complete blocks to verdicts, live arms, and whether it is over.

Pure: the same plan and blocks give the same ruling, byte for byte, so that the
bench can ask after every block, a resumed study goes on where it was, and a
stranger recomputes what a bundle says. It knows no server and no file.

What is asked depends on the design and on how far it has got: a screen first asks about effects
(`screening.py`), a scaling study about curves (`scaled.py`), everything else about the contrasts
of its family (`confirming.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.plan import Plan
from assay.verdict.contrast_ruling import Ruling, Task, confirm
from assay.verdict.family import confirming, family
from assay.verdict.observations import Block
from assay.verdict.scaling_ruling import scale
from assay.verdict.screen_ruling import screen_rows, screened


def adjudicate(
    plan: Plan, blocks: Sequence[Block], extensions: int = 0, stopped: str = ""
) -> Ruling:
    """The ruling on a plan's complete blocks.

    `extensions`: how many were asked for. `stopped` says why a study ends undecided.
    """
    if plan.scaling is not None:
        return scale(plan, blocks, stopped)
    if plan.screen is not None:
        return _in_phases(plan, blocks, extensions, stopped)
    return confirm(Task(plan, family(plan), blocks, plan.runs_budget_s, extensions, stopped))


def _in_phases(plan: Plan, blocks: Sequence[Block], extensions: int, stopped: str) -> Ruling:
    """First the screen, then its shortlist on the blocks that follow."""
    assert plan.screen is not None
    first, rest = blocks[: plan.screen.blocks], blocks[plan.screen.blocks :]
    if len(first) < plan.screen.blocks:
        live = {(case.name, arm) for case in plan.cases for arm in plan.screen.cells}
        return Ruling([], None, frozenset() if stopped else frozenset(live), bool(stopped), [])
    screen = screened(plan, first)
    rows = screen_rows(plan, first, screen)
    if not screen.shortlist:
        return Ruling(rows, None, frozenset(), True, [], screen=screen)
    budget_s = max(0.0, plan.runs_budget_s - sum(b.took_s for b in first))
    asked = confirming(plan, screen.shortlist)
    found = confirm(Task(plan, asked, rest, budget_s, extensions, stopped))
    return replace(found, rows=found.rows + rows, offset=len(first), screen=screen)
