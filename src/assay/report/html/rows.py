"""Verdict rows as the report shows them: the table, the forest plot, and the leads.

Pure functions from `verdicts.json` and the plan to plain values. Texts are complete here, so
that the page without scripts says the same as the charts. Verdicts count up as better; leads are
shown as measured, because a reader looks at a latency and expects less to be less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from assay.core.metrics import metric
from assay.core.terms import EFFORTS
from assay.plan import Plan
from assay.report.words.sections import (
    Section,
    other_leads,
    own_reason,
    primary,
    sections,
    slow_runs,
)
from assay.report.words.wording import (
    as_measured,
    changed_factors,
    estimate,
    interval,
    is_arm,
    label,
    reading,
    short,
)
from assay.verdict.rows import SUITE, Row, Verdicts

LOGARITHMIC_ABOVE = 1.0
"""Effects beyond a doubling make a linear axis useless for the small ones beside them."""


def verdict_groups(plan: Plan, verdicts: Verdicts) -> list[dict[str, Any]]:
    """The verdict tables: a group per case, suite first, and in it a section per kind of row."""
    return [
        {"case": name, "heading": heading(plan, name), "sections": found}
        for name, mine in by_case(plan, primary(verdicts))
        if (found := [_section(plan, s) for s in sections(plan, mine)])
    ]


def _section(plan: Plan, section: Section) -> dict[str, Any]:
    rows = [verdict_row(plan, r) for r in section.rows]
    return {
        "key": section.key,
        "title": section.title,
        "note": section.note,
        "rows": rows,
        "dose": max((len(r["dose"]) for r in rows), default=0) == 1,
        "effort": any(r["effort"] for r in rows),
    }


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


def verdict_row(plan: Plan, row: Row) -> dict[str, Any]:
    """One row of a verdict table.

    Effort and dose are those of an arm; an averaged effect has neither.
    """
    arm = is_arm(row)
    return {
        "label": short(row),
        "against": row.contrast.against,
        "kind": row.contrast.kind,
        "word": row.word,
        "interval": interval(row),
        "estimate": estimate(row),
        "blocks": row.blocks,
        "effort": (row.effort or "") if arm else "",
        "effort_text": EFFORTS.get(row.effort or "", ""),
        "dose": _doses(plan, row) if arm else [],
        "held": row.witness.held,
        "witness": _witness(row),
        "evidence": _evidence(plan, row),
        "reason": own_reason(row),
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


def forest(plan: Plan, verdicts: Verdicts) -> dict[str, Any]:
    """What the forest plot draws: effects in log units of the ratio where they are large."""
    groups = []
    rows = [r for r in primary(verdicts) if r.contrast.kind != "scaling"]
    for case, mine in by_case(plan, rows):
        found = sections(plan, mine)
        for section in found:
            title = section.title.partition(":")[0] if len(found) > 1 else ""
            headed = ": ".join(t for t in (heading(plan, case), title) if t)
            groups.append(
                {"case": case, "heading": headed, "rows": [_effect(r) for r in section.rows]}
            )
    known = [e for r in rows for e in (r.low, r.estimate, r.high) if e is not None]
    reach = [*known, plan.margin, plan.smallest, -plan.margin, -plan.smallest]
    logarithmic = max(reach) > LOGARITHMIC_ABOVE
    return {
        "groups": groups,
        "margin": plan.margin,
        "smallest": plan.smallest,
        "domain": domain(reach, logarithmic),
        "logarithmic": logarithmic,
        "words": sorted({r.word for r in rows}),
        "empty": _nothing_to_draw(rows, known),
    }


def _effect(row: Row) -> dict[str, Any]:
    return {
        "label": short(row),
        "word": row.word,
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
        "interval": interval(row),
    }


def domain(reach: Sequence[float], logarithmic: bool) -> list[float]:
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
    """The other metrics: arms that stand out, other effects that do, and the rest."""
    found = [
        (is_arm(row), _lead(plan, case, row))
        for case, mine in by_case(plan, other_leads(plan, verdicts))
        for row in mine
    ]
    stands_out = [(arm, lead) for arm, lead in found if lead["stands_out"]]
    return {
        "stand_out": [lead for arm, lead in stands_out if arm],
        "effects": [lead for arm, lead in stands_out if not arm],
        "rest": [lead for _, lead in found if not lead["stands_out"]],
    }


def _lead(plan: Plan, case: str, row: Row) -> dict[str, Any]:
    measured = as_measured(row)
    return {
        "case": case if len(plan.cases) > 1 else "",
        "label": label(row),
        "metric": row.metric,
        "text": metric(row.metric).text,
        "reading": reading(row),
        "word": row.word,
        "interval": interval(measured),
        "estimate": estimate(measured),
        "blocks": row.blocks,
        "stands_out": row.word in ("helps", "hurts"),
    }


def slow_rows(plan: Plan, verdicts: Verdicts) -> list[dict[str, Any]]:
    """Rare slow runs, as leads: how much larger their share is than the baseline's."""
    return [
        _lead(plan, case, row)
        | {"label": short(row), "against": row.contrast.against, "reason": row.reason}
        for case, mine in by_case(plan, slow_runs(verdicts))
        for row in mine
    ]
