"""Throughput over threads, for the terminal and for the page: curves, comparisons, refusals.

Contention and coherency are shares of one thread's time, not speeds: whoever makes the work
outside a lock shorter has more contention and more throughput. So they are never shown without the
throughput at each number of threads beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.core.metrics import metric
from assay.core.units import format_quantity
from assay.plan import Plan
from assay.report.line import Line
from assay.report.rows import heading, verdict_row
from assay.report.samples import axis_scale
from assay.report.sections import by_threads, primary
from assay.report.wording import STYLES, as_measured, estimate, interval, listed, reading, short
from assay.verdict.rows import Bounded, Row, ScalingRow, Verdicts

BESIDE = (
    "More contention can go with more throughput: a configuration whose single thread got faster "
    "spends a larger share of its time waiting. Read both together with the throughput."
)
CURVE_POINTS = 80
LOGARITHMIC_FROM = 24
"""From this many times the lowest level on, a linear axis of threads crowds the low ones."""


def compared(verdicts: Verdicts) -> list[Row]:
    """The rows that compare two configurations' contention and coherency."""
    return [r for r in primary(verdicts) if r.contrast.kind == "scaling"]


def thread_rows(plan: Plan, verdicts: Verdicts, case: str) -> list[dict[str, Any]]:
    """Per number of threads: what each configuration measured, and what their ratio suggests."""
    assert plan.scaling is not None
    unit = metric(plan.primary).unit
    curves = [c for c in verdicts.scaling if c.case == case]
    threads = {p.arm: p.threads for p in plan.scaling.points}
    leads = {threads[r.arm]: r for r in by_threads(plan, verdicts) if r.case == case}
    found = []
    for level in sorted({n for curve in curves for n in curve.levels}):
        cells = [
            format_quantity(dict(zip(c.levels, c.measured, strict=True)).get(level, 0.0), unit)
            for c in curves
        ]
        lead = leads.get(level)
        change = None if lead is None else as_measured(lead)
        found.append(
            {
                "threads": level,
                "measured": cells,
                "lead": "" if lead is None else reading(lead),
                "interval": "" if change is None else interval(change),
                "estimate": "" if change is None else estimate(change),
            }
        )
    return found


def wins(plan: Plan, verdicts: Verdicts, case: str) -> str:
    """Which configuration is faster where, in one sentence; empty where only one was run."""
    leads = [r for r in by_threads(plan, verdicts) if r.case == case]
    if plan.scaling is None or not leads:
        return ""
    against, config = plan.scaling.configurations
    threads = {p.arm: p.threads for p in plan.scaling.points}
    parts = []
    for word, text in (("helps", "suggests better"), ("hurts", "suggests worse")):
        levels = sorted(threads[r.arm] for r in leads if r.word == word)
        if levels:
            at = f"all {len(levels)} levels" if len(levels) == len(leads) else _at(levels)
            parts.append(f"{text} at {at}")
    said = listed(parts) if parts else "is nowhere shown to differ"
    return f"{plan.primary} of {config}, against {against}, {said}; these are leads, no verdicts"


def _at(levels: Sequence[int]) -> str:
    return f"{listed(str(n) for n in levels)} {'thread' if levels == [1] else 'threads'}"


# the terminal


def scaling_lines(plan: Plan, verdicts: Verdicts) -> list[Line]:
    """Per case the curves in words, then throughput level by level."""
    lines: list[Line] = []
    for case in _cases(verdicts):
        curves = [c for c in verdicts.scaling if c.case == case]
        where = f", case {case}" if len(plan.cases) > 1 else ""
        lines.append(Line(f"Scaling: {plan.primary} over threads{where}", "dim"))
        sentences: dict[str, list[str]] = {}
        for curve in curves:
            said = f"{curve.sentence} ({curve.blocks} blocks)"
            sentences.setdefault(said, []).append(curve.configuration)
        lines += [Line(f"{listed(names)}: {said}") for said, names in sentences.items()]
        lines.append(Line(""))
        lines += [] if all(c.refused for c in curves) else _compared_lines(verdicts, case)
        lines += _thread_lines(thread_rows(plan, verdicts, case), curves, plan)
        lines.append(Line(""))
    return lines


def _compared_lines(verdicts: Verdicts, case: str) -> list[Line]:
    rows = [r for r in compared(verdicts) if r.case == case]
    if not rows:
        return []
    if refused := not_compared(rows):
        return [Line(f"contention and coherency are not compared: {refused}"), Line("")]
    against = rows[0].contrast.against
    lines = [Line(f"Compared with {against}, up is better: less of it", "dim")]
    width = max(len(short(r)) for r in rows)
    for row in rows:
        size = f"   estimate {estimate(row)}" if row.estimate is not None else ""
        lines.append(
            Line(f"{short(row):{width}}   {row.word:13}   {interval(row)}{size}", STYLES[row.word])
        )
        lines.append(Line(f"    why      {row.reason}"))
    return [*lines, Line(f"    {BESIDE}"), Line("")]


def _thread_lines(
    rows: Sequence[Mapping[str, Any]], curves: Sequence[ScalingRow], plan: Plan
) -> list[Line]:
    """A small table: threads, throughput of each configuration, what their ratio suggests."""
    names = [c.configuration for c in curves]
    leads = any(r["lead"] for r in rows)
    heads = ["threads", *names, *([f"{names[-1]} against {names[0]} (leads)"] if leads else [])]
    cells = [
        [str(r["threads"]), *r["measured"], f"{r['lead']:15} {r['interval']}" if r["lead"] else ""]
        for r in rows
    ]
    widths = [max(len(str(row[k])) for row in [heads, *cells]) for k in range(len(heads))]

    def joined(row: Sequence[str]) -> str:
        padded = (f"{cell:{w}}" for cell, w in zip(row, widths, strict=False))
        return "   ".join(padded).rstrip()

    return [Line(joined(heads), "dim"), *(Line(joined(row)) for row in cells)]


# the page


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
        "groups": [_group(plan, verdicts, case) for case in _cases(verdicts)],
    }


def _cases(verdicts: Verdicts) -> list[str]:
    return list(dict.fromkeys(c.case for c in verdicts.scaling))


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


def not_compared(rows: Sequence[Row]) -> str:
    """Why contention and coherency were not compared at all; empty where they were."""
    reasons = {r.reason for r in rows if r.estimate is None}
    return reasons.pop() if len(reasons) == 1 and all(r.estimate is None for r in rows) else ""


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


def bounded(found: Bounded | None, scale: float = 1.0, mark: str = "", unit: str = "") -> str:
    """An estimate with its interval, to a quarter of the interval's width; empty without one.

    `mark` follows every number, `unit` the first one.
    """
    if found is None:
        return ""
    ends = [scale * end for end in (found.low, found.high) if end is not None]
    width = max(ends) - min(ends) if len(ends) == 2 else abs(scale * found.value) / 10
    digits = min(6, max(0, math.ceil(math.log10(4 / width)))) if width > 0 else 3

    def shown(value: float | None) -> str:
        return "unbounded" if value is None else f"{scale * value:z.{digits}f}{mark}"

    return f"{shown(found.value)}{unit} [{shown(found.low)}, {shown(found.high)}]"
