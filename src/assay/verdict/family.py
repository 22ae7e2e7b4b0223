"""The family of a study: every contrast that its design asks about, fixed before the first run.

arms, one-at-a-time, sweep, race   each arm against the baseline
ladder                             each rung against the rung below
factorial                          each cell against the baseline; per factor its effect averaged
                                   over the legal settings of the others, and its simple effect
                                   at each of them; two-way interactions
screen                             nothing, until its shortlist is known: `confirming`

The A/A control is one of them. A factor of several levels is compared level by level with off.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from assay.plan import CONTROLS, Plan
from assay.stats.contrast import (
    Cell,
    Contrast,
    change,
    interaction,
    main_effect,
    simple_effect,
    simple_effects,
    step,
)


def family(plan: Plan) -> list[Contrast]:
    """The contrasts of a plan, in the order of its arms."""
    names = [a.name for a in plan.arms if a.name not in CONTROLS]
    watch = [change(a.name, plan.baseline) for a in plan.arms if a.name in CONTROLS]
    if plan.design == "ladder":
        return [step(arm, previous) for previous, arm in itertools.pairwise(names)] + watch
    found = [change(arm, plan.baseline) for arm in names[1:]]
    if plan.design == "factorial" and len(plan.factors) > 1:
        found += _effects(plan)
    return found + watch


def confirming(plan: Plan, shortlist: Sequence[str]) -> list[Contrast]:
    """What the second phase of a screen asks: each shortlisted arm against the baseline, and each
    factor of the first one given its others."""
    found = [change(arm, plan.baseline) for arm in shortlist]
    cells = cells_of(plan)
    best = shortlist[0]
    for factor, level in cells[best].items():
        if not level:
            continue
        for contrast in _possible(partial(simple_effect, factor, cells[best], cells)):
            if contrast.against in shortlist:
                found.append(contrast)
    return found + [change(a.name, plan.baseline) for a in plan.arms if a.name in CONTROLS]


def cells_of(plan: Plan) -> dict[str, Cell]:
    """Arm -> factor -> index of its level, for every arm that is a combination."""
    return {
        a.name: {f: plan.factors[f].levels.index(v) for f, v in a.levels.items()}
        for a in plan.arms
        if not a.placebo
    }


def _effects(plan: Plan) -> Iterator[Contrast]:
    """Averaged effects, simple effects and interactions."""
    levels = [(f, k) for f, p in plan.factors.items() for k in range(1, len(p.levels))]
    for factor, level in levels:
        cells, label = _against_off(cells_of(plan), {factor: level}), _label(plan, factor, level)
        for made in _possible(partial(main_effect, factor, cells)):
            yield replace(made, name=f"main effect of {label}", of=label)
        for made in simple_effects(factor, cells):
            if made.against != plan.baseline:
                yield replace(made, name=f"{label} given {made.given}", of=label)
    for (first, low), (second, high) in itertools.combinations(levels, 2):
        if first == second:
            continue
        cells = _against_off(cells_of(plan), {first: low, second: high})
        pair = f"{_label(plan, first, low)}:{_label(plan, second, high)}"
        for made in _possible(partial(interaction, first, second, cells)):
            yield replace(made, name=pair, of=pair)


def _against_off(cells: Mapping[str, Cell], compared: Mapping[str, int]) -> dict[str, Cell]:
    """The cells in which each compared factor is off or at its level, as 0 and 1."""
    return {
        arm: {**cell, **{f: int(cell[f] == level) for f, level in compared.items()}}
        for arm, cell in cells.items()
        if all(cell[f] in (0, level) for f, level in compared.items())
    }


def _label(plan: Plan, factor: str, level: int) -> str:
    """What an effect is called by: the factor, and its level where there are several."""
    levels = plan.factors[factor].levels
    return factor if len(levels) == 2 else f"{factor}={levels[level]}"


def _possible(build: Callable[[], Contrast]) -> list[Contrast]:
    """The contrast, or none where the legal cells do not allow it."""
    try:
        return [build()]
    except ValueError:
        return []
