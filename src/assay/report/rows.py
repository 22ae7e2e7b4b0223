"""Verdict rows as the report shows them: the table, the forest plot, and the leads.

Pure functions from `verdicts.json` and the plan to plain values. Texts are complete here, so
that the page without scripts says the same as the charts. Verdicts count up as better; leads are
shown as measured, because a reader looks at a latency and expects less to be less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from assay._units import format_percent
from assay.changes.declaration import EFFORTS
from assay.metrics import metric
from assay.report.answer import as_measured, is_lead, primary
from assay.report.text import interval, label
from assay.study import Plan
from assay.verdict.rows import SUITE, Row, Verdicts

LOGARITHMIC_ABOVE = 1.0
"""Effects beyond a doubling make a linear axis useless for the small ones beside them."""


def verdict_groups(plan: Plan, verdicts: Verdicts) -> list[dict[str, Any]]:
    """The verdict table, a group per case; the suite first, then cases as planned."""
    rows = primary(verdicts)
    return [
        {"case": name, "heading": heading(plan, name), "rows": [_row(plan, r) for r in mine]}
        for name, mine in by_case(plan, rows)
    ]


def by_case(plan: Plan, rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Rows by case, those without rows left out."""
    names = [SUITE, *(c.name for c in plan.cases)]
    grouped = [(name, [r for r in rows if r.case == name]) for name in names]
    return [(name, mine) for name, mine in grouped if mine]


def heading(plan: Plan, case: str) -> str:
    """How a case is introduced; empty where there is only one."""
    if len(plan.cases) == 1:
        return ""
    if case == SUITE:
        return f"{'Both' if len(plan.cases) == 2 else f'All {len(plan.cases)}'} cases together"
    return f"Case {case}"


def _row(plan: Plan, row: Row) -> dict[str, Any]:
    return {
        "label": label(row),
        "against": row.contrast.against,
        "kind": row.contrast.kind,
        "word": row.word,
        "interval": interval(row),
        "estimate": "" if row.estimate is None else format_percent(row.estimate),
        "blocks": row.blocks,
        "effort": row.effort or "",
        "effort_text": EFFORTS.get(row.effort or "", ""),
        "dose": _doses(plan, row),
        "held": row.witness.held,
        "witness": _witness(row),
        "evidence": _evidence(plan, row),
        "reason": row.reason,
    }


def _doses(plan: Plan, row: Row) -> list[str]:
    """Doses with their units; factors are named only where there are several."""
    found = []
    for factor, amount in row.dose.items():
        planned = plan.factors.get(factor)
        unit = f" {planned.dose_unit}" if planned and planned.dose_unit else ""
        named = f"{factor}: " if len(row.dose) > 1 else ""
        found.append(f"{named}{amount:.3g}{unit}")
    return found


def _witness(row: Row) -> str:
    if not row.witness.evidence:
        return "no witness yet"
    return "witness held" if row.witness.held else "witness NOT held"


def _evidence(plan: Plan, row: Row) -> list[str]:
    """What the witnesses saw, the factors that the row changes first."""
    changed = changed_factors(plan, row)
    return sorted(row.witness.evidence, key=lambda e: e.split(":")[0] not in changed)


def changed_factors(plan: Plan, row: Row) -> set[str]:
    """The factors whose levels differ between what a row compares."""
    levels = {a.name: a.levels for a in plan.arms}
    if row.arm not in levels or row.contrast.against not in levels:
        return set(row.contrast.of.split(":"))
    mine, other = levels[row.arm], levels[row.contrast.against]
    return {f for f, level in mine.items() if other.get(f) != level}


def forest(plan: Plan, verdicts: Verdicts) -> dict[str, Any]:
    """What the forest plot draws: effects in log units of the ratio where they are large."""
    groups = []
    rows = primary(verdicts)
    for case, mine in by_case(plan, rows):
        groups.append(
            {"case": case, "heading": heading(plan, case), "rows": [_effect(r) for r in mine]}
        )
    known = [e for r in rows for e in (r.low, r.estimate, r.high) if e is not None]
    reach = [*known, plan.margin, plan.smallest, -plan.margin, -plan.smallest]
    logarithmic = max(reach) > LOGARITHMIC_ABOVE
    return {
        "groups": groups,
        "margin": plan.margin,
        "smallest": plan.smallest,
        "domain": _domain(reach, logarithmic),
        "logarithmic": logarithmic,
        "words": sorted({r.word for r in rows}),
        "empty": _nothing_to_draw(rows, known),
    }


def _effect(row: Row) -> dict[str, Any]:
    return {
        "label": label(row),
        "word": row.word,
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
        "interval": interval(row),
    }


def _domain(reach: Sequence[float], logarithmic: bool) -> list[float]:
    """The ends of the axis, with room: a tenth of the span on either side."""
    if not logarithmic:
        room = 0.1 * (max(reach) - min(reach))
        return [max(min(reach) - room, -0.999), max(reach) + room]
    ends = [math.log1p(max(min(reach), -0.999)), math.log1p(max(reach))]
    room = 0.1 * (ends[1] - ends[0])
    return [math.expm1(ends[0] - room), math.expm1(ends[1] + room)]


def _nothing_to_draw(rows: Sequence[Row], known: Sequence[float]) -> str:
    if not rows:
        return "There is no verdict to draw."
    if not known:
        return "No effect has an estimate or an interval yet, so there is nothing to draw."
    return ""


# leads


def leads(plan: Plan, verdicts: Verdicts) -> dict[str, Any]:
    """The other metrics: those that stand out, and the rest."""
    found = [
        _lead(plan, case, row)
        for case, mine in by_case(plan, verdicts.verdicts)
        for row in mine
        if is_lead(row)
    ]
    stands_out = [r for r in found if r["stands_out"]]
    return {"stand_out": stands_out, "rest": [r for r in found if not r["stands_out"]]}


def _lead(plan: Plan, case: str, row: Row) -> dict[str, Any]:
    readings = {"helps": "suggests better", "hurts": "suggests worse"}
    measured = as_measured(row)
    return {
        "case": case if len(plan.cases) > 1 else "",
        "label": label(row),
        "metric": row.metric,
        "text": metric(row.metric).text,
        "reading": readings.get(row.word, "unclear" if row.word == "undecided" else row.word),
        "word": row.word,
        "interval": interval(measured),
        "estimate": "" if measured.estimate is None else format_percent(measured.estimate),
        "blocks": row.blocks,
        "stands_out": row.word in ("helps", "hurts"),
    }
