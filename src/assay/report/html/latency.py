"""Latency quantiles by arm, from the merged histograms of its runs.

The axis of the chart is log10(1 / (1 - q)): every step to the right is another nine, so the tail
gets the room that it costs. A quantile is shown while at least `BEYOND` operations lie above it;
past that it would be the story of single operations. The largest value is told in the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hdrh.histogram import HdrHistogram

from assay.core.histograms import merge, value_at
from assay.core.units import format_quantity
from assay.plan import Plan
from assay.record import RunRecord
from assay.report.words.sections import heading

BEYOND = 10
STEPS_PER_NINE = 12
TABLE = (0.5, 0.9, 0.99, 0.999, 0.9999)


@dataclass(frozen=True)
class LatencyPoint:
    """A place on the curve: quantile and nanoseconds."""

    q: float
    ns: float


@dataclass(frozen=True)
class LatencyCell:
    """A quantile in the table; `ns` is None where too few operations lie above it."""

    q: float
    ns: float | None
    text: str


@dataclass(frozen=True)
class LatencyArm:
    """One arm's merged histogram."""

    arm: str
    index: int
    """The arm's place in the plan, by which it has its colour."""
    operations: int
    operations_text: str
    runs: int
    """Runs whose histogram is in it."""
    unreadable: int
    """Histograms that could not be read."""
    points: list[LatencyPoint]
    cells: list[LatencyCell]
    max: str
    """The largest latency, with its unit."""


@dataclass(frozen=True)
class LatencyGroup:
    """The arms of one case."""

    case: str
    heading: str
    """Empty where there is one case."""
    arms: list[LatencyArm]
    drawn: bool
    """Whether any arm has a curve."""


def latency_groups(plan: Plan, runs: Sequence[RunRecord]) -> list[LatencyGroup]:
    """Quantile curves by case and arm; `runs` are those that count."""
    groups = []
    for case in plan.cases:
        arms = []
        for index, arm in enumerate(plan.arms):
            encoded = [
                r.histogram
                for r in runs
                if r.case == case.name and r.arm == arm.name and r.histogram
            ]
            merged, unreadable = merge(encoded)
            if merged is not None and merged.get_total_count():
                arms.append(_arm(arm.name, index, merged, len(encoded), unreadable))
        if arms:
            drawn = any(a.points for a in arms)
            groups.append(LatencyGroup(case.name, heading(plan, case.name), arms, drawn))
    return groups


def quantiles(histogram: HdrHistogram) -> list[tuple[float, float]]:
    """(q, nanoseconds) along the curve, up to where the operations end.

    The least latency is left out: it is one operation's, and it would stretch the axis.
    """
    nines = math.log10(max(1.0, histogram.get_total_count() / BEYOND))
    steps = [
        1 - 10 ** (-step / STEPS_PER_NINE) for step in range(1, int(nines * STEPS_PER_NINE) + 1)
    ]
    found = histogram.get_percentile_to_value_dict([100 * q for q in steps])
    return [(q, float(found[100 * q])) for q in steps]


def _arm(
    name: str, index: int, merged: HdrHistogram, histograms: int, unreadable: int
) -> LatencyArm:
    total = merged.get_total_count()
    cells = []
    for q in TABLE:
        enough = (1 - q) * total >= BEYOND
        value = value_at(merged, 100 * q) if enough else None
        cells.append(LatencyCell(q, value, _text(value)))
    return LatencyArm(
        arm=name,
        index=index,
        operations=total,
        operations_text=format_quantity(total, ""),
        runs=histograms - unreadable,
        unreadable=unreadable,
        points=[LatencyPoint(q, ns) for q, ns in quantiles(merged) if ns > 0],
        cells=cells,
        max=_text(merged.get_max_value()),
    )


def _text(nanoseconds: float | None) -> str:
    return "" if nanoseconds is None else format_quantity(float(nanoseconds), "ns")
