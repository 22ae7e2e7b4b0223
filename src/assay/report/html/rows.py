"""Verdict rows as the report shows them: the table, the forest plot, and the leads.

Pure functions from `verdicts.json` and the plan to plain values. Texts are complete here, so
that the page without scripts says the same as the charts. Verdicts count up as better; leads are
shown as measured, because a reader looks at a latency and expects less to be less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.core.metrics import metric
from assay.core.terms import EFFORTS
from assay.plan import Plan
from assay.report.words.sections import (
    RowSection,
    heading,
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
    total,
)
from assay.verdict.rows import SUITE, Row, Verdicts

LOGARITHMIC_ABOVE = 1.0
"""Effects beyond a doubling make a linear axis useless for the small ones."""


@dataclass(frozen=True)
class VerdictCells:
    """One row of a verdict table, as text; what an averaged effect has not is empty."""

    label: str
    against: str
    kind: str
    word: str
    interval: str
    estimate: str
    total: str
    """The interval of total work."""
    blocks: int
    effort: str
    """The letter of the effort."""
    effort_text: str
    """What the letter means."""
    dose: list[str]
    """An amount with its unit for each factor."""
    held: bool
    """Whether every witness held."""
    witness: str
    evidence: list[str]
    """What the witnesses saw, the factors that the row changes first."""
    reason: str


@dataclass(frozen=True)
class VerdictTable:
    """Rows of one kind."""

    key: str
    """The kind, as in `sections`; "scaling" for compared contention and coherency."""
    title: str
    note: str
    """How to read the rows; empty where nothing is to be said."""
    rows: list[VerdictCells]
    dose: bool
    """Whether a column has the doses; several doses in a row stand in its reason."""
    effort: bool
    """Whether a column has the efforts."""


@dataclass(frozen=True)
class VerdictGroup:
    """The tables of one case, or of the suite."""

    case: str
    heading: str
    """Empty where there is one case."""
    sections: list[VerdictTable]


@dataclass(frozen=True)
class ForestEffect:
    """One line of the forest plot; effects are fractions, None where nothing is known."""

    label: str
    word: str
    estimate: float | None
    low: float | None
    high: float | None
    interval: str


@dataclass(frozen=True)
class ForestGroup:
    """One picture."""

    case: str
    heading: str
    rows: list[ForestEffect]


@dataclass(frozen=True)
class Forest:
    """What the forest plot draws."""

    groups: list[ForestGroup]
    margin: float
    """Effects within this fraction count as no difference."""
    smallest: float
    """The smallest effect worth having, as a fraction."""
    domain: list[float]
    """The ends of the axis, as fractions."""
    logarithmic: bool
    words: list[str]
    """The verdicts that are in the pictures."""
    empty: str
    """Why nothing is drawn; empty where something is."""


@dataclass(frozen=True)
class LeadRow:
    """One comparison that only suggests; changes as measured."""

    case: str
    """Empty where there is one case."""
    label: str
    against: str
    metric: str
    text: str
    """What the metric is."""
    reading: str
    interval: str
    estimate: str
    blocks: int
    stands_out: bool
    reason: str


@dataclass(frozen=True)
class Leads:
    """What other metrics suggest."""

    stand_out: list[LeadRow]
    """Of arms."""
    effects: list[LeadRow]
    """Of averaged and simple effects and interactions."""
    rest: list[LeadRow]
    """What does not stand out."""


def verdict_groups(plan: Plan, verdicts: Verdicts) -> list[VerdictGroup]:
    """The verdict tables: a group per case, suite first, and in it a section per kind of row."""
    return [
        VerdictGroup(name, heading(plan, name), found)
        for name, mine in by_case(plan, primary(verdicts))
        if (found := [_table(plan, s) for s in sections(plan, mine)])
    ]


def _table(plan: Plan, section: RowSection) -> VerdictTable:
    rows = [verdict_row(plan, r) for r in section.rows]
    return VerdictTable(
        key=section.key,
        title=section.title,
        note=section.note,
        rows=rows,
        dose=max((len(r.dose) for r in rows), default=0) == 1,
        effort=any(r.effort for r in rows),
    )


def by_case(plan: Plan, rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Rows by case, those without rows left out."""
    names = [SUITE, *(c.name for c in plan.cases)]
    grouped = [(name, [r for r in rows if r.case == name]) for name in names]
    return [(name, mine) for name, mine in grouped if mine]


def verdict_row(plan: Plan, row: Row) -> VerdictCells:
    """One row of a verdict table.

    Effort and dose are those of an arm; an averaged effect has neither.
    """
    arm = is_arm(row)
    return VerdictCells(
        label=short(row),
        against=row.contrast.against,
        kind=row.contrast.kind,
        word=row.word,
        interval=interval(row),
        estimate=estimate(row),
        total=total(row),
        blocks=row.blocks,
        effort=(row.effort or "") if arm else "",
        effort_text=EFFORTS.get(row.effort or "", ""),
        dose=_doses(plan, row) if arm else [],
        held=row.witness.held,
        witness=_witness(row),
        evidence=_evidence(plan, row),
        reason=own_reason(row),
    )


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


def forest(plan: Plan, verdicts: Verdicts) -> Forest:
    """What the forest plot draws: effects in log units of the ratio where they are large."""
    groups = []
    # Along an axis the curves show them.
    rows = [r for r in primary(verdicts) if r.contrast.kind != "scaling" and plan.axis is None]
    for case, mine in by_case(plan, rows):
        found = sections(plan, mine)
        for section in found:
            title = section.title.partition(":")[0] if len(found) > 1 else ""
            headed = ": ".join(t for t in (heading(plan, case), title) if t)
            groups.append(ForestGroup(case, headed, [effect(r) for r in section.rows]))
    known = known_ends(rows)
    ends, logarithmic = axis(plan, known)
    return Forest(
        groups=groups,
        margin=plan.margin,
        smallest=plan.smallest,
        domain=ends,
        logarithmic=logarithmic,
        words=sorted({r.word for r in rows}),
        empty=_nothing_to_draw(rows, known),
    )


class EffectWithEnds(Protocol):
    """An effect with its ends, as fractions; None where nothing is known."""

    @property
    def low(self) -> float | None: ...
    @property
    def estimate(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def known_ends(effects: Iterable[EffectWithEnds]) -> list[float]:
    """What is known of effects and their ends, as fractions."""
    return [e for r in effects for e in (r.low, r.estimate, r.high) if e is not None]


def axis(plan: Plan, known: Sequence[float]) -> tuple[list[float], bool]:
    """The ends of a forest's axis, as fractions, and whether it is in log units of the ratio."""
    reach = [*known, plan.margin, plan.smallest, -plan.margin, -plan.smallest]
    logarithmic = max(reach) > LOGARITHMIC_ABOVE
    return domain(reach, logarithmic), logarithmic


def effect(row: Row) -> ForestEffect:
    """A row as a line of a forest plot."""
    return ForestEffect(
        label=short(row),
        word=row.word,
        estimate=row.estimate,
        low=row.low,
        high=row.high,
        interval=interval(row),
    )


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


def leads(plan: Plan, verdicts: Verdicts) -> Leads:
    """The other metrics: arms that stand out, other effects that do, and the rest."""
    found = [
        (is_arm(row), _lead(plan, case, row, label(row)))
        for case, mine in by_case(plan, other_leads(plan, verdicts))
        for row in mine
    ]
    stands_out = [(arm, lead) for arm, lead in found if lead.stands_out]
    return Leads(
        stand_out=[lead for arm, lead in stands_out if arm],
        effects=[lead for arm, lead in stands_out if not arm],
        rest=[lead for _, lead in found if not lead.stands_out],
    )


def _lead(plan: Plan, case: str, row: Row, name: str) -> LeadRow:
    measured = as_measured(row)
    return LeadRow(
        case=case if len(plan.cases) > 1 else "",
        label=name,
        against=row.contrast.against,
        metric=row.metric,
        text=metric(row.metric).text,
        reading=reading(row),
        interval=interval(measured),
        estimate=estimate(measured),
        blocks=row.blocks,
        stands_out=row.word in ("helps", "hurts"),
        reason=row.reason,
    )


def slow_rows(plan: Plan, verdicts: Verdicts) -> list[LeadRow]:
    """Rare slow runs, as leads: how much larger their share is than the baseline's."""
    return [
        _lead(plan, case, row, short(row))
        for case, mine in by_case(plan, slow_runs(verdicts))
        for row in mine
    ]
