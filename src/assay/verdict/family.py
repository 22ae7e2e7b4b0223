"""The family of a study: every contrast that its design asks about, fixed before the first run.

arms, one-at-a-time, sweep   each arm against the baseline
ladder                       each rung against the rung below
factorial                    each cell against the baseline; main effects and interactions
                             over the legal cells where every factor has two levels
"""

from __future__ import annotations

import itertools

from assay.study import Plan
from assay.verdict.contrast import Cell, Contrast, change, interaction, main_effect, step


def family(plan: Plan) -> list[Contrast]:
    """The contrasts of a plan, in the order of its arms."""
    names = [a.name for a in plan.arms]
    if plan.design == "ladder":
        return [step(arm, previous) for previous, arm in itertools.pairwise(names)]
    found = [change(arm, plan.baseline) for arm in names[1:]]
    if plan.design == "factorial":
        found += _effects(plan)
    return found


def _effects(plan: Plan) -> list[Contrast]:
    """Main effects and two-way interactions; a design of one factor has neither."""
    if len(plan.factors) < 2 or any(len(f.levels) != 2 for f in plan.factors.values()):
        return []
    cells: dict[str, Cell] = {
        a.name: {f: plan.factors[f].levels.index(v) for f, v in a.levels.items()} for a in plan.arms
    }
    found = []
    for factor in plan.factors:
        found += _possible(lambda factor=factor: main_effect(factor, cells))
    for first, second in itertools.combinations(plan.factors, 2):
        found += _possible(lambda f=first, s=second: interaction(f, s, cells))
    return found


def _possible(build) -> list[Contrast]:
    """The contrast, or none where the legal cells do not allow it."""
    try:
        return [build()]
    except ValueError:
        return []
