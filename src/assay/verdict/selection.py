"""Where the arms stand: the set that may hold the best, the one of it that costs least effort,
and the front of gain against effort."""

from __future__ import annotations

from collections.abc import Sequence

from assay.plan import CONTROLS, Plan
from assay.stats.rule import Word
from assay.stats.selection import BestSet, pareto, sweet_spot
from assay.verdict.rows import SUITE, BeatenRow, BestRow, Row


def ranked(plan: Plan, rows: Sequence[Row], best: BestSet) -> BestRow:
    """The best set with its sweet spot and front.

    Both know only arms confirmed to help: an arm that is merely not beaten has not earned its
    effort. Where none helps, the sweet spot is the baseline if it is in the set.
    """
    efforts = {a.name: a.effort for a in plan.arms if a.name in (*best.inside, *best.out)}
    gains = {r.arm: r for r in rows if _against_baseline(plan, r)}
    lows = {arm: row.low for arm, row in gains.items() if row.word == Word.HELPS}
    off = plan.arms[0].levels
    changes = {a.name: sum(a.levels[f] != off[f] for f in off) for a in plan.arms}
    helping = [arm for arm in best.inside if arm in gains and gains[arm].word == Word.HELPS]
    candidates = helping or [arm for arm in best.inside if arm == plan.baseline]
    return BestRow(
        inside=list(best.inside),
        out={
            arm: BeatenRow(by=b.by, low=b.low, sentence=b.why.text, reasons=[b.why])
            for arm, b in best.out.items()
        },
        sweet_spot=sweet_spot(candidates, efforts, lows, changes),
        pareto=list(pareto(efforts, lows, changes)),
        sentence=best.reason.text,
        reasons=[best.reason],
    )


def _against_baseline(plan: Plan, row: Row) -> bool:
    suite = SUITE if plan.has_suite else plan.cases[0].name
    return (
        row.case == suite
        and row.metric == plan.primary
        and bool(row.arm)
        and row.arm not in CONTROLS
        and row.contrast.against == plan.baseline
    )
