"""The runs as the report shows them: dots, medians, latency quantiles, work per CPU, witnesses.

Pure functions from runs to plain values. Only runs that count enter a summary, and every run is
shown, those that do not count with the reason. Quantiles come from merged histograms: the mean of
two runs' 99th percentiles is the 99th percentile of nothing.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from assay.core.metrics import metric
from assay.core.units import format_quantity
from assay.plan import SENTINEL, Plan
from assay.record import RunRecord, statuses

EVIDENCE_SHOWN = 4


def axis_scale(largest: float, unit: str) -> tuple[float, str]:
    """Divisor and label of an axis, in the same units that a text has."""
    if unit == "fraction":
        return 0.01, "%"
    if unit == "ns":
        steps = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
        return next(((limit, name) for limit, name in steps if largest >= limit), (1.0, "ns"))
    steps = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
    return next(((s, p + unit) for s, p in steps if largest >= s), (1.0, unit))


# every run


def run_groups(plan: Plan, runs: Sequence[RunRecord], blocks: int) -> list[dict[str, Any]]:
    """Every run as a dot, a group per case."""
    marked = list(zip(runs, statuses(runs, blocks), strict=True))
    values = [v for r in runs if (v := _value(plan, r)) is not None]
    divisor, unit = axis_scale(max(values, default=0.0), metric(plan.primary).unit)
    groups = []
    for case in plan.cases:
        mine = [(r, s) for r, s in marked if r.case == case.name]
        if not mine:
            continue
        groups.append(
            {
                "case": case.name,
                "unit": unit,
                "divisor": divisor,
                "arms": [a.name for a in plan.arms if any(r.arm == a.name for r, _ in mine)],
                "baseline": plan.baseline,
                "points": [_point(plan, r, s) for r, s in mine],
                "blocks": _stripes(r for r, _ in marked),
                "phases": _phases(plan, runs),
                "medians": _medians(plan, mine),
            }
        )
    return groups


def _value(plan: Plan, run: RunRecord) -> float | None:
    value = run.metrics.get(plan.primary)
    return value if value and value > 0 else None


def _point(plan: Plan, run: RunRecord, status: str) -> dict[str, Any]:
    value = _value(plan, run)
    shown = "no value" if value is None else format_quantity(value, metric(plan.primary).unit)
    aside = "does not count: its block was run again for this case, or not completed"
    why = aside if status == "aside" else ""
    if status in ("void", "failed"):
        why = f"{status}: {run.reason}"
    title = f"run {run.run}, block {run.block}, {run.arm}: {shown}"
    return {
        "run": run.run,
        "arm": run.arm,
        "value": value,
        "status": status,
        "title": f"{title}\n{why}" if why else title,
    }


def _stripes(runs: Iterable[RunRecord]) -> list[dict[str, int]]:
    """First and last run of every block and attempt, in the order made."""
    found: dict[tuple[int, int], dict[str, int]] = {}
    for run in runs:
        key = (run.block, run.attempt)
        stripe = found.setdefault(key, {"block": run.block, "first": run.run, "last": run.run})
        stripe["last"] = run.run
    return list(found.values())


def _phases(plan: Plan, runs: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """The first run of each phase after the first: fresh runs after a screen, extensions."""
    found: dict[str, int] = {}
    for run in runs:
        name = f"extension {run.extension}" if run.extension else ""
        if plan.screen is not None and not name:
            name = "screen" if run.block < plan.screen.blocks else "fresh runs"
        found.setdefault(name, run.run)
    return [{"phase": name, "run": run} for name, run in found.items() if name]


def _medians(plan: Plan, marked: Sequence[tuple[RunRecord, str]]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for run, status in marked:
        value = _value(plan, run)
        if status == "counts" and value is not None:
            values.setdefault(run.arm, []).append(value)
    return {arm: statistics.median(found) for arm, found in values.items()}


def not_counted(runs: Sequence[RunRecord], blocks: int) -> list[dict[str, Any]]:
    """The void and failed runs, with their reasons."""
    return [
        {
            "run": r.run,
            "case": r.case,
            "arm": r.arm,
            "block": r.block,
            "attempt": r.attempt + 1,
            "status": s,
            "reason": r.reason,
        }
        for r, s in zip(runs, statuses(runs, blocks), strict=True)
        if s in ("void", "failed")
    ]


def tally(plan: Plan, runs: Sequence[RunRecord], blocks: int) -> list[dict[str, Any]]:
    """Runs per arm: made, counting, set aside, void, failed."""
    counted = Counter((r.arm, s) for r, s in zip(runs, statuses(runs, blocks), strict=True))
    return [
        {
            "arm": a.name,
            "levels": ", ".join(f"{f} = {level}" for f, level in a.levels.items()),
            "role": "self-check" if a.name == SENTINEL else "placebo" if a.placebo else "",
            "made": sum(n for (arm, _), n in counted.items() if arm == a.name),
            **{s: counted[a.name, s] for s in ("counts", "aside", "void", "failed")},
        }
        for a in plan.arms
    ]


# medians of every metric


def metric_medians(plan: Plan, runs: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """Medians over the runs that count, by arm, of the primary and the watched metrics."""
    names = [plan.primary, *(n for n in plan.also if n != plan.primary)]
    groups = []
    for case in plan.cases:
        mine = [r for r in runs if r.case == case.name]
        rows = [
            {"arm": a.name, "cells": [_median_text(mine, a.name, n) for n in names]}
            for a in plan.arms
        ]
        rows = [r for r in rows if any(r["cells"])]
        if rows:
            groups.append({"case": case.name, "metrics": names, "rows": rows})
    return groups


def _median_text(runs: Sequence[RunRecord], arm: str, name: str) -> str:
    values = [r.metrics[name] for r in runs if r.arm == arm and name in r.metrics]
    return format_quantity(statistics.median(values), metric(name).unit) if values else ""


# work per CPU


def cpu_groups(plan: Plan, runs: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """The busy fraction of every CPU, by arm: mean over the runs that count, and range."""
    groups = []
    for case in plan.cases:
        arms = []
        for arm in plan.arms:
            mine = [r for r in runs if r.case == case.name and r.arm == arm.name and r.cpus]
            if mine:
                named = {"arm": arm.name, "runs": len(mine)}
                if cpus := _cpus(mine):
                    arms.append({**named, "cpus": cpus, **_evenness(cpus)})
        if arms:
            groups.append({"case": case.name, "arms": arms})
    return groups


def _cpus(runs: Sequence[RunRecord]) -> list[dict[str, Any]]:
    busy: dict[int, list[float]] = {}
    for run in runs:
        for cpu in run.cpus:
            if cpu.get("busy") is not None:
                busy.setdefault(int(cpu["cpu"]), []).append(float(cpu["busy"]))
    return [
        {"cpu": cpu, "mean": statistics.fmean(b), "low": min(b), "high": max(b)}
        for cpu, b in sorted(busy.items())
    ]


def _evenness(cpus: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Mean, and the idlest and the busiest CPU, as text."""
    means = [c["mean"] for c in cpus]
    least, most = min(cpus, key=lambda c: c["mean"]), max(cpus, key=lambda c: c["mean"])
    return {
        "mean": format_quantity(statistics.fmean(means), "fraction"),
        "least": f"CPU {least['cpu']}: {format_quantity(least['mean'], 'fraction')}",
        "most": f"CPU {most['cpu']}: {format_quantity(most['mean'], 'fraction')}",
        "spread": f"{100 * (max(means) - min(means)):.3g} points",
    }


# witnesses


def witnesses(plan: Plan, runs: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """What was seen of every factor at every level, over the runs that count."""
    found = []
    for name, factor in plan.factors.items():
        for level in factor.levels:
            seen = [w for r in runs if (w := r.witness.get(name)) and w.level == level]
            evidence = Counter(w.evidence for w in seen)
            against = Counter(w.evidence for w in seen if not w.held)
            shown = [*against, *(e for e in evidence if e not in against)]
            found.append(
                {
                    "factor": name,
                    "change": factor.change,
                    "level": level,
                    "held": sum(w.held for w in seen),
                    "seen": len(seen),
                    "evidence": [
                        {"text": e, "runs": evidence[e], "held": e not in against}
                        for e in shown[:EVIDENCE_SHOWN]
                    ],
                    "more": max(0, len(shown) - EVIDENCE_SHOWN),
                }
            )
    return found
