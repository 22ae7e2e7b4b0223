"""Kinds of request as the report shows them: a forest for each comparison and metric."""

from __future__ import annotations

from dataclasses import dataclass

from assay.core.metrics import metric
from assay.core.units import format_percent, percent
from assay.plan import Plan
from assay.report.html.rows import ForestEffect, axis, by_case, known_ends
from assay.report.words.kinds import MetricKinds, kind_interval, kinds_of
from assay.report.words.sections import heading, primary
from assay.report.words.wording import label
from assay.verdict.rows import KindRow, Verdicts


@dataclass(frozen=True)
class KindEffect(ForestEffect):
    """One kind: a line of its forest, and what its table says more."""

    shown: str
    """The estimate as text."""
    blocks: int
    reason: str


@dataclass(frozen=True)
class KindPicture:
    """One picture and its table: the kinds of one comparison by one metric."""

    case: str
    heading: str
    rows: list[KindEffect]


@dataclass(frozen=True)
class KindSection:
    """What is drawn of kinds, as `Forest` has it."""

    groups: list[KindPicture]
    margin: float
    smallest: float
    domain: list[float]
    logarithmic: bool
    rate: str
    """The false discovery rate."""


def kinds_view(plan: Plan, verdicts: Verdicts) -> KindSection | None:
    """The pictures of all kinds; None where all requests are of one kind."""
    groups = [
        KindPicture(case, _heading(plan, case, label(row), group), [_effect(k) for k in group.rows])
        for case, rows in by_case(plan, primary(verdicts))
        for row in rows
        for group in kinds_of(row)
    ]
    if not groups:
        return None
    ends, logarithmic = axis(plan, known_ends(r for g in groups for r in g.rows))
    return KindSection(
        groups=groups,
        margin=plan.margin,
        smallest=plan.smallest,
        domain=ends,
        logarithmic=logarithmic,
        rate=percent(plan.constants.false_discovery_rate),
    )


def _heading(plan: Plan, case: str, name: str, group: MetricKinds) -> str:
    parts = (heading(plan, case), name, f"{group.metric} ({metric(group.metric).text})")
    return ": ".join(part for part in parts if part)


def _effect(kind: KindRow) -> KindEffect:
    return KindEffect(
        label=kind.request,
        word=kind.word,
        estimate=kind.estimate,
        low=kind.low,
        high=kind.high,
        interval=kind_interval(kind),
        shown=format_percent(kind.estimate),
        blocks=kind.blocks,
        reason=kind.reason,
    )
