"""TPC-C's limits by kind of transaction: who keeps them, and who does not.

The specification bounds the 90th percentile of each kind's response time and asks for a mix. A rate
beyond the limits is not comparable with one within them, so both stand beside each other.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.core.units import format_quantity, percent
from assay.plan import Plan
from assay.record import RunRecord
from assay.report.words.line import Line
from assay.workloads.tpcc_conditions import LEAST_SHARES, LIMITS_S, MIX_SLACK

TPCC = "tpcc"


@dataclass(frozen=True)
class KindLimit:
    """One kind of transaction in the runs of one arm: medians over runs, and how many of them are
    within the limit; `share` of all transactions, `least` that the mix asks for, or 0."""

    case: str
    arm: str
    kind: str
    p90_ns: float
    limit_ns: float
    runs: int
    kept: int
    share: float
    least: float

    @property
    def holds(self) -> bool:
        """Whether every run kept the limit, and the mix is right."""
        return self.kept == self.runs and self.share >= self.least - MIX_SLACK

    def text(self) -> str:
        """What was found, in words."""
        p90, limit = (format_quantity(ns, "ns") for ns in (self.p90_ns, self.limit_ns))
        said = f"90th percentile {p90} of {limit}, kept in {self.kept} of {self.runs} runs"
        if self.share < self.least - MIX_SLACK:
            said += f"; {percent(self.share)} of the mix, at least {percent(self.least)} is asked"
        return said


def kind_limits(plan: Plan, counted: Sequence[RunRecord]) -> list[KindLimit]:
    """Every arm's kinds, in the specification's order; none where no case is TPC-C. `counted`:
    the runs that count."""
    return list(_limits(plan, counted))


def _limits(plan: Plan, counted: Sequence[RunRecord]) -> Iterator[KindLimit]:
    for case in plan.cases:
        if case.workload != TPCC:
            continue
        for arm in plan.arms:
            mine = [r for r in counted if (r.case, r.arm) == (case.name, arm.name) and r.by_kind]
            for kind, limit_s in LIMITS_S.items():
                found = [r.by_kind[kind].metrics["latency_p90"] for r in mine if kind in r.by_kind]
                if not found:
                    continue
                shares = [_share(r, kind) for r in mine]
                yield KindLimit(
                    case=case.name,
                    arm=arm.name,
                    kind=kind,
                    p90_ns=statistics.median(found),
                    limit_ns=1e9 * limit_s,
                    runs=len(found),
                    kept=sum(p90 <= 1e9 * limit_s for p90 in found),
                    share=statistics.median(shares),
                    least=LEAST_SHARES.get(kind, 0.0),
                )


def _share(run: RunRecord, kind: str) -> float:
    every = sum(found.operations for found in run.by_kind.values())
    return run.by_kind[kind].operations / every if kind in run.by_kind and every else 0.0


def limit_lines(plan: Plan, counted: Sequence[RunRecord]) -> list[Line]:
    """For the terminal: what breaks a limit, or that nothing does."""
    found = kind_limits(plan, counted)
    if not found:
        return []
    broken = [one for one in found if not one.holds]
    if not broken:
        return [
            Line("TPC-C: every kind keeps its limit at the 90th percentile, and the mix", "dim")
        ]
    return [Line(f"TPC-C: {one.arm}, {one.kind}: {one.text()}", "yellow") for one in broken]
