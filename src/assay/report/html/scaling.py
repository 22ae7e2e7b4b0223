"""Throughput over threads on the page: curves, fits, comparisons and a table for each case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.core.metrics import metric
from assay.core.units import format_quantity
from assay.plan import Plan
from assay.report.html.rows import heading, verdict_row
from assay.report.html.samples import axis_scale
from assay.report.words.scaling import (
    BESIDE,
    bounded,
    cases,
    compared,
    not_compared,
    thread_rows,
    wins,
)
from assay.verdict.rows import ScalingRow, Verdicts

CURVE_POINTS = 80

LOGARITHMIC_FROM = 24
"""From this many times the lowest level on, a linear axis of threads crowds the low ones."""


def scaling_view(plan: Plan, verdicts: Verdicts) -> dict[str, Any]:
    """Curves, fits, comparisons and throughput per case; `shown` is false in other designs."""
    if not verdicts.scaling or plan.scaling is None:
        return {"shown": False, "groups": []}
    values = [v for c in verdicts.scaling for v in (*c.measured, *c.curve)]
    divisor, unit = axis_scale(max(values, default=0.0), metric(plan.primary).unit)
    levels = sorted({n for c in verdicts.scaling for n in c.levels})
    return {
        "shown": True,
        "axis": f"{plan.primary}, {unit}" if unit else plan.primary,
        "divisor": divisor,
        "cpus": plan.scaling.cpus,
        "beyond": bool(levels) and levels[-1] > plan.scaling.cpus,
        "levels": levels,
        "logarithmic": bool(levels) and levels[-1] >= LOGARITHMIC_FROM * levels[0],
        "beside": BESIDE,
        "configurations": plan.scaling.configurations,
        "groups": [_group(plan, verdicts, case) for case in cases(verdicts)],
    }


def _group(plan: Plan, verdicts: Verdicts, case: str) -> dict[str, Any]:
    curves = [c for c in verdicts.scaling if c.case == case]
    rows = [r for r in compared(verdicts) if r.case == case]
    refused = not_compared(rows)
    return {
        "case": case,
        "heading": heading(plan, case),
        "curves": [_curve(c, k) for k, c in enumerate(curves)],
        "fitted": any(not c.refused for c in curves),
        "compared": [] if refused else [verdict_row(plan, r) for r in rows],
        "not_compared": refused,
        "threads": thread_rows(plan, verdicts, case),
        "wins": wins(plan, verdicts, case),
    }


def _curve(row: ScalingRow, index: int) -> dict[str, Any]:
    return {
        "configuration": row.configuration,
        "index": index,
        "blocks": row.blocks,
        "points": [
            {"threads": n, "value": v, "text": f"{format_quantity(v, 'op/s')} with {n} threads"}
            for n, v in zip(row.levels, row.measured, strict=True)
        ],
        "curve": _between(row.levels, row.curve),
        "contention": bounded(row.contention, 100, mark=" %"),
        "coherency": bounded(row.coherency),
        "peak": bounded(row.peak, unit=" threads"),
        "peak_at": _peak(row),
        "refused": row.refused,
        "sentence": row.sentence,
    }


def _between(levels: Sequence[int], curve: Sequence[float]) -> list[dict[str, float]]:
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
    return [{"threads": float(n), "value": float(v)} for n, v in zip(dense, values, strict=True)]


def _law(levels: np.ndarray) -> np.ndarray:
    return np.stack([np.ones_like(levels), levels - 1, levels * (levels - 1)], axis=1)


def _peak(row: ScalingRow) -> dict[str, float] | None:
    """Where the peak stands in the picture: on the drawn curve."""
    if row.peak is None or row.peak.low is None or row.peak.high is None:
        return None
    curve = _between(row.levels, row.curve)
    at = row.peak.value
    nearest = min(curve, key=lambda p: abs(p["threads"] - at))
    ends = {"low": row.peak.low, "high": row.peak.high}
    return {"threads": at, "value": nearest["value"], **ends}
