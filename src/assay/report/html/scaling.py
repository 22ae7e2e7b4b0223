"""Throughput over threads on the page: curves, fits, comparisons and a table for each case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.core.metrics import metric
from assay.core.units import format_quantity
from assay.plan import Plan
from assay.report.html.rows import VerdictTable, verdict_row
from assay.report.html.samples import axis_scale
from assay.report.words.scaling import (
    CAUTION,
    ThreadRow,
    bounded,
    cases,
    compared,
    not_compared,
    thread_rows,
    wins,
)
from assay.report.words.sections import heading
from assay.verdict.rows import ScalingRow, Verdicts

CURVE_POINTS = 80

LOGARITHMIC_FROM = 24
"""From this many times the lowest level on, a linear axis of threads crowds the low ones."""


@dataclass(frozen=True)
class CurvePoint:
    """A place on a drawn curve."""

    threads: float
    value: float


@dataclass(frozen=True)
class MeasuredPoint:
    """The mean of all blocks at one number of threads."""

    threads: int
    value: float
    text: str


@dataclass(frozen=True)
class CurvePeak:
    """Where a curve peaks, with the interval of the number of threads."""

    threads: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ScalingCurve:
    """One configuration over threads."""

    configuration: str
    index: int
    """By which it has its colour."""
    blocks: int
    points: list[MeasuredPoint]
    curve: list[CurvePoint]
    """The fitted law; empty where the fit is refused."""
    contention: str
    coherency: str
    peak: str
    peak_at: CurvePeak | None
    """None where no peak is bounded."""
    refused: str
    """Why there is no fit; empty where there is one."""
    sentence: str


@dataclass(frozen=True)
class ScalingGroup:
    """One case."""

    case: str
    heading: str
    """Empty where there is one case."""
    curves: list[ScalingCurve]
    fitted: bool
    """Whether any curve has a fit."""
    compared: VerdictTable | None
    """Contention and coherency of two configurations; None where they are not compared."""
    not_compared: str
    """Why not; empty where they are, or where one configuration was run."""
    threads: list[ThreadRow]
    wins: str
    """Which configuration is faster where."""


@dataclass(frozen=True)
class ScalingSection:
    """Throughput over threads."""

    axis: str
    divisor: float
    """What turns a throughput into one of the axis."""
    cpus: int
    beyond: bool
    """Whether some levels have more threads than CPUs."""
    levels: list[int]
    logarithmic: bool
    """Whether the axis of threads is."""
    caution: str
    """What must be read with contention and coherency."""
    configurations: list[str]
    groups: list[ScalingGroup]


def scaling_view(plan: Plan, verdicts: Verdicts) -> ScalingSection | None:
    """Curves, fits, comparisons and throughput per case; None in other designs."""
    if not verdicts.scaling:
        return None
    planned = plan.scaling or plan.axis
    cpus = planned.cpus if planned is not None else 0
    values = [v for c in verdicts.scaling for v in (*c.measured, *c.curve)]
    divisor, unit = axis_scale(max(values, default=0.0), metric(plan.primary).unit)
    levels = sorted({n for c in verdicts.scaling for n in c.levels})
    return ScalingSection(
        axis=f"{plan.primary}, {unit}" if unit else plan.primary,
        divisor=divisor,
        cpus=cpus,
        beyond=bool(levels) and levels[-1] > cpus,
        levels=levels,
        logarithmic=bool(levels) and levels[-1] >= LOGARITHMIC_FROM * levels[0],
        caution=CAUTION,
        configurations=list(dict.fromkeys(c.configuration for c in verdicts.scaling)),
        groups=[_group(plan, verdicts, case) for case in cases(verdicts)],
    )


def _group(plan: Plan, verdicts: Verdicts, case: str) -> ScalingGroup:
    curves = [c for c in verdicts.scaling if c.case == case]
    rows = [r for r in compared(verdicts) if r.case == case]
    refused = not_compared(rows)
    table = VerdictTable(
        key="scaling",
        title="",
        note="",
        rows=[verdict_row(plan, r) for r in rows],
        dose=False,
        effort=False,
    )
    return ScalingGroup(
        case=case,
        heading=heading(plan, case),
        curves=[_curve(c, k) for k, c in enumerate(curves)],
        fitted=any(not c.refused for c in curves),
        compared=table if rows and not refused else None,
        not_compared=refused,
        threads=thread_rows(plan, verdicts, case),
        wins=wins(plan, verdicts, case),
    )


def _curve(row: ScalingRow, index: int) -> ScalingCurve:
    return ScalingCurve(
        configuration=row.configuration,
        index=index,
        blocks=row.blocks,
        points=[
            MeasuredPoint(n, v, f"{format_quantity(v, 'op/s')} with {n} threads")
            for n, v in zip(row.levels, row.measured, strict=True)
        ],
        curve=_between(row.levels, row.curve),
        contention=bounded(row.contention, 100, mark=" %"),
        coherency=bounded(row.coherency),
        peak=bounded(row.peak, unit=" threads"),
        peak_at=_peak(row),
        refused=row.refused,
        sentence=row.sentence,
    )


def _between(levels: Sequence[int], curve: Sequence[float]) -> list[CurvePoint]:
    """The drawn curve between its levels as well.

    The law is linear in N/X with three coefficients, so that the curve's own values give it back
    exactly; nothing is fitted here.
    """
    if len(curve) < 3:
        return []
    ends = math.log(levels[0]), math.log(levels[-1])
    dense = np.exp(np.linspace(*ends, CURVE_POINTS))
    found = np.linalg.lstsq(_law(np.array(levels, float)), np.array(levels) / np.array(curve))[0]
    values = dense / (_law(dense) @ found)
    return [CurvePoint(float(n), float(v)) for n, v in zip(dense, values, strict=True)]


def _law(levels: np.ndarray) -> np.ndarray:
    return np.stack([np.ones_like(levels), levels - 1, levels * (levels - 1)], axis=1)


def _peak(row: ScalingRow) -> CurvePeak | None:
    """Where the peak stands in the picture: on the drawn curve."""
    if row.peak is None or row.peak.low is None or row.peak.high is None:
        return None
    at = row.peak.value
    nearest = min(_between(row.levels, row.curve), key=lambda p: abs(p.threads - at))
    return CurvePeak(at, nearest.value, row.peak.low, row.peak.high)
