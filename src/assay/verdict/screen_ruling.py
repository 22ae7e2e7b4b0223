"""The first phase of a screen, as rows: what it suggests, and which arms are to be confirmed.

Over several cases the screen looks at the suite, the mean of their logs. The statistics are
`screen.py`'s; nothing here is a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from assay.plan import Plan
from assay.reasons import Code, Reason, Refusal, worded
from assay.stats.contrast import kind_named
from assay.stats.rule import Strength, Word
from assay.stats.screen import screen, shortlist
from assay.verdict import validity
from assay.verdict.family import cells_of
from assay.verdict.observations import Block, suite_table
from assay.verdict.rows import SUITE, ContrastRow, EffectRow, Row, ScreenRow


def screened(plan: Plan, blocks: Sequence[Block]) -> ScreenRow:
    """The screen of a plan on its first blocks; with its reason and no shortlist where the runs
    do not carry one."""
    assert plan.screen is not None
    legal = cells_of(plan)
    table = suite_table(plan, blocks, plan.primary)
    cells = {arm: legal[arm] for arm in plan.screen.cells}
    row = partial(
        ScreenRow,
        blocks=len(blocks),
        cells=len(cells),
        resolution=plan.screen.resolution,
        generators=plan.screen.generators,
        aliases=plan.screen.aliases,
    )
    try:
        found = screen(cells, list(table.values()), plan.alpha, legal, plan.constants)
    except Refusal as none:
        return row(
            effects=[], unestimable={}, predicted={}, shortlist=[],
            sentence=none.reason.text, reasons=[none.reason],
        )  # fmt: skip
    return row(
        effects=[
            EffectRow(
                name=e.name,
                kind=e.kind,
                estimate=e.estimate,
                low=e.low,
                high=e.high,
                suggests=e.suggests,
                given=e.given,
                aliases=list(e.aliases),
            )
            for e in found.effects
        ],
        unestimable={effect: why.text for effect, why in found.unestimable.items()},
        unestimable_reasons=dict(found.unestimable),
        predicted=dict(found.predicted),
        shortlist=list(shortlist(found, legal, plan.constants.shortlist)),
        sentence=found.sentence,
        reasons=list(found.reasons),
    )


def screen_rows(plan: Plan, blocks: Sequence[Block], found: ScreenRow) -> list[Row]:
    """The effects that the screen suggests, as rows; the others stand in `ScreenRow.effects`."""
    names = [case.name for case in plan.cases]
    return [
        Row(
            case=SUITE if len(names) > 1 else names[0],
            scope="suite" if len(names) > 1 else "case",
            contrast=ContrastRow(
                kind=kind_named(effect.kind), of=effect.name, given=effect.given, against=""
            ),
            arm="",
            metric=plan.primary,
            word=str(Word.HELPS if effect.estimate > 0 else Word.HURTS),
            strength=str(Strength.SUGGESTS),
            estimate=effect.estimate,
            low=effect.low,
            high=effect.high,
            blocks=found.blocks,
            effort=None,
            dose={},
            witness=validity.witness(blocks, names, [a.name for a in plan.arms]),
            reason=worded(_reasons(effect)),
            reasons=_reasons(effect),
        )
        for effect in found.effects
        if effect.suggests
    ]


def _reasons(effect: EffectRow) -> list[Reason]:
    found = [Reason.of(Code.SCREENED)]
    if effect.aliases:
        found.append(Reason.of(Code.ALIASED, names=", ".join(effect.aliases)))
    return found
