"""Throughput over threads in words: comparisons, refusals, who wins where.

Contention and coherency are shares of one thread's time, not speeds: shorter work outside a lock
gives more contention and more throughput. So they are never shown without the throughput at each
number of threads next to them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.metrics import metric
from assay.core.units import format_quantity
from assay.plan import Plan
from assay.report.words.sections import by_threads, primary
from assay.report.words.wording import as_measured, estimate, interval, listed, reading
from assay.verdict.rows import Bounded, Row, Verdicts

CAUTION = (
    "More contention can go with more throughput: a configuration whose single thread got faster "
    "spends a larger share of its time waiting. Read both together with the throughput."
)


def cases(verdicts: Verdicts) -> list[str]:
    """The cases that have curves."""
    return list(dict.fromkeys(c.case for c in verdicts.scaling))


def compared(verdicts: Verdicts) -> list[Row]:
    """The rows that compare two configurations' contention and coherency."""
    return [r for r in primary(verdicts) if r.contrast.kind == "scaling"]


def not_compared(rows: Sequence[Row]) -> str:
    """Why contention and coherency were not compared at all; empty where they were."""
    reasons = {r.reason for r in rows if r.estimate is None}
    return reasons.pop() if len(reasons) == 1 and all(r.estimate is None for r in rows) else ""


@dataclass(frozen=True)
class ThreadRow:
    """Throughput at one number of threads, as text."""

    threads: int
    measured: list[str]
    """Of each configuration."""
    lead: str
    """What the ratio of two configurations suggests; empty where one was run."""
    interval: str
    estimate: str


def thread_rows(plan: Plan, verdicts: Verdicts, case: str) -> list[ThreadRow]:
    """Per number of threads: what each configuration measured, and what their ratio suggests."""
    unit = metric(plan.primary).unit
    curves = [c for c in verdicts.scaling if c.case == case]
    threads = {p.arm: p.threads for p in plan.scaling.points} if plan.scaling else {}
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
            ThreadRow(
                threads=level,
                measured=cells,
                lead="" if lead is None else reading(lead),
                interval="" if change is None else interval(change),
                estimate="" if change is None else estimate(change),
            )
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
