"""The summary of a ruling: `verdicts.json`, with the arm to take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.plan import Plan
from assay.stats.rule import Strength, Word
from assay.stats.voids import failure_warning, void_warning
from assay.verdict.contrast_ruling import Ruling
from assay.verdict.rows import SUITE, Absentee, PlannedSize, Verdicts


def recommended(plan: Plan, ruling: Ruling) -> str | None:
    """The arm to take: of those confirmed to help and not beaten by another, the one that costs
    least effort.

    On a ladder it is the highest rung below which every rung helped. Along an axis there is none.
    """
    if plan.axis is not None:
        return None  # what is best at one point may not be at another
    if plan.design != "ladder":
        spot = ruling.best.sweet_spot if ruling.best is not None else None
        return spot if spot != plan.baseline else None
    suite = SUITE if plan.has_suite else plan.cases[0].name
    steps = [r for r in ruling.rows if r.metric == plan.primary and r.contrast.kind == "step"]
    rungs = [r for r in steps if r.case == suite and r.strength == Strength.CONFIRMED]
    climbed = None
    for row in rungs:
        if row.word != Word.HELPS:
            break
        climbed = row.arm
    return climbed


def summarise(
    plan: Plan,
    ruling: Ruling,
    blocks: int,
    statuses: Sequence[tuple[str, str]],
    stopped: str = "",
    extensions: int = 0,
) -> Verdicts:
    """`verdicts.json` of a ruling; `statuses` holds (arm, status) of every run made.

    `extensions` is how many were asked for, `stopped` why the study ended before everything was
    decided, or empty.
    """
    voids: dict[str, int] = {}
    failures: dict[str, int] = {}
    for arm, status in statuses:
        counted = {"void": voids, "failed": failures}.get(status)
        if counted is not None:
            counted[arm] = counted.get(arm, 0) + 1
    size = ruling.size
    made = Counter(arm for arm, _ in statuses)
    warning = void_warning({arm: voids.get(arm, 0) for arm in made}, made, plan.constants)
    warned = [*ruling.warnings, *([warning] if warning is not None else [])]
    if plan.constants.checks > 1:
        failing = failure_warning({arm: failures.get(arm, 0) for arm in made}, made, plan.constants)
        warned += [failing] if failing is not None else []
    if plan.pilot is not None and plan.pilot.warning is not None:
        warned.append(plan.pilot.warning)
    sized = None if size is None else size.reason(ruling.block_s or None)
    return Verdicts(
        study=plan.study,
        primary=plan.primary,
        baseline=plan.baseline,
        blocks=blocks,
        runs=len(statuses),
        voids=voids,
        failures=failures,
        stand_ins=[c.stand_in for c in plan.cases if c.stand_in],
        absent=[Absentee(**a.model_dump()) for a in plan.absent],
        planned=None
        if size is None or sized is None
        else PlannedSize(
            blocks=size.blocks,
            capped=size.capped,
            noise=size.worst,
            visible=size.visible,
            sentence=sized.text,
            reasons=[sized],
        ),
        extensions=extensions,
        verdicts=ruling.rows,
        screen=ruling.screen,
        best=ruling.best,
        scaling=ruling.scaling,
        curves=ruling.curves,
        recommended=recommended(plan, ruling),
        stopped=stopped,
        told_apart=ruling.told_apart,
        warnings=[found.text for found in warned],
        warning_reasons=warned,
    )
