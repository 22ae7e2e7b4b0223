"""The summary of a ruling: `verdicts.json`, with the arm to take."""

from __future__ import annotations

from collections.abc import Sequence

from assay.study import Plan
from assay.verdict.rows import SUITE, Absentee, Planned, Row, Verdicts
from assay.verdict.rule import Word
from assay.verdict.ruling import Ruling


def recommended(plan: Plan, rows: Sequence[Row]) -> str | None:
    """The arm to take: of those confirmed to help against the baseline, the surest gain.

    On a ladder it is the highest rung below which every rung helped.
    """
    suite = SUITE if len(plan.cases) > 1 else plan.cases[0].name
    mine = [r for r in rows if r.metric == plan.primary and r.case == suite and r.arm]
    if plan.design == "ladder":
        climbed = None
        for row in mine:
            if row.word != Word.HELPS:
                break
            climbed = row.arm
        return climbed
    helping = [r for r in mine if r.word == Word.HELPS and r.contrast.against == plan.baseline]
    return max(helping, key=lambda r: r.low or 0.0).arm if helping else None


def summarise(
    plan: Plan,
    ruling: Ruling,
    blocks: int,
    statuses: Sequence[tuple[str, str]],
    stopped: str = "",
) -> Verdicts:
    """`verdicts.json` of a ruling; `statuses` holds (arm, status) of every run made.

    `stopped` is why the study ended before everything was decided, or empty.
    """
    voids: dict[str, int] = {}
    failures: dict[str, int] = {}
    for arm, status in statuses:
        counted = {"void": voids, "failed": failures}.get(status)
        if counted is not None:
            counted[arm] = counted.get(arm, 0) + 1
    size = ruling.size
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
        if size is None
        else Planned(
            blocks=size.blocks,
            capped=size.capped,
            noise=size.worst,
            visible=size.visible,
            sentence=size.sentence(),
        ),
        verdicts=ruling.rows,
        recommended=recommended(plan, ruling.rows),
        stopped=stopped,
        warnings=ruling.warnings,
    )
