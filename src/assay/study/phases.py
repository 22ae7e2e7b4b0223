"""Designs that do more than compare arms with a baseline: what they fix before the first run.

A screen fixes which combinations its first blocks run, and what those cannot tell apart. A
scaling study fixes its number of blocks and which arm is which number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.plan.names import BASELINE
from assay.plan.phases import PlannedPoint, PlannedScaling, PlannedScreen
from assay.stats.fractions import fraction
from assay.study.model import Arm, Study

FIRST_LOOK = 8
"""Blocks before anything can be decided (docs/method.md): the least a budget must allow."""

SCREEN_BLOCKS = 4
SCALING_BLOCKS = 8
SHORTLIST = 4
"""Combinations that a screen hands on to be confirmed, neighbours of the best not counted."""


def planned_screen(study: Study, made: Sequence[Arm]) -> PlannedScreen | None:
    """The screen of a study; None for other designs.

    A fraction where every combination is legal; where some are not, all legal ones, because a
    fraction with holes cannot keep its effects apart.
    """
    if study.design != "screen":
        return None
    names = list(study.factors)
    legal = {tuple(_index(study, a, f) for f in names): a.name for a in made if not a.placebo}
    whole = len(legal) == 2 ** len(names)
    design = fraction(names, study.size if whole else 2 ** len(names))
    return PlannedScreen(
        blocks=study.blocks or SCREEN_BLOCKS,
        cells=[legal[run] for run in design.runs if run in legal],
        resolution=design.resolution,
        generators=list(design.generators),
        aliases=[list(group) for group in design.aliases],
    )


def _index(study: Study, arm: Arm, factor: str) -> int:
    return list(study.factors[factor].levels).index(arm.levels[factor])


def planned_scaling(study: Study, made: Sequence[Arm], cpus: int) -> PlannedScaling | None:
    """The points of a scaling study; None for other designs."""
    if study.design != "scaling":
        return None
    threads = study.order[0]
    points = []
    for arm in made:
        if arm.placebo:
            continue
        compared = [
            study.factors[f].label(arm.levels[f]) for f in study.order[1:] if _on(study, arm, f)
        ]
        configuration = "+".join(compared) or BASELINE
        points.append(
            PlannedPoint(
                arm=arm.name, configuration=configuration, threads=int(arm.levels[threads])
            )
        )
    return PlannedScaling(blocks=study.blocks or SCALING_BLOCKS, cpus=cpus, points=points)


def _on(study: Study, arm: Arm, factor: str) -> bool:
    return arm.levels[factor] != study.factors[factor].off


def least_runs(study: Study, made: Sequence[Arm]) -> int:
    """Runs of one case before the study can decide anything."""
    if study.design == "scaling":
        return len(made) * (study.blocks or SCALING_BLOCKS)
    screen = planned_screen(study, made)
    if screen is None:
        return len(made) * FIRST_LOOK
    confirmed = min(len(made), SHORTLIST + len(study.factors) + 2)
    return screen.blocks * len(screen.cells) + confirmed * FIRST_LOOK
