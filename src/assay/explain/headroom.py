"""The headroom bound: no gain can be larger than the time spent in what a change takes away.

A server that spends the share s of its time in a mechanism, and were rid of all of it, would do the
same work in 1 - s of the time: a gain of s / (1 - s) (Amdahl, AFIPS 1967). A gain that is surely
larger has a further cause. The share is of CPU time, so the bound is for servers that are bound by
their CPUs, and it holds the rest of the work to be as fast as before: where taking a lock away also
spares the cache line that it lived in, a gain may rightly exceed it, and that is worth knowing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.explain.comparison import Comparison
from assay.plan import Plan
from assay.verdict.rows import Bounded

WORK = ("throughput", "operations_per_cpu_s")
MOST = 0.999
"""Shares above it bound nothing."""

Finding = Literal["within", "exceeds"]


@dataclass(frozen=True)
class Bound:
    """The most that a change could gain. `share` of time and `most` as fractions; `finding` says
    whether the verdict's whole interval lies above all of `most`."""

    mechanism: str
    share: Bounded
    most: Bounded
    finding: Finding


def bound(plan: Plan, compared: Comparison) -> Bound | None:
    """The bound on one verdict; None where its change declares no mechanism that was measured,
    where several changes are switched, or where the primary metric is not work for a time."""
    if len(compared.factors) != 1 or plan.primary not in WORK:
        return None
    mechanism = plan.factors[compared.factors[0]].mechanism
    share = compared.over_blocks(lambda _, other: share_of(other, mechanism)) if mechanism else None
    if share is None:
        return None
    most = Bounded(value=gain(share.value), low=_end(share.low), high=_end(share.high))
    ceiling = most.value if most.high is None else most.high
    low = compared.row.low
    exceeds = low is not None and low > ceiling
    return Bound(mechanism, share, most, "exceeds" if exceeds else "within")


def share_of(metrics: Mapping[str, float], mechanism: str) -> float | None:
    """The share of time in a mechanism: one metric, or the sum of a family's members."""
    if mechanism in metrics:
        return metrics[mechanism]
    members = [v for name, v in metrics.items() if name.startswith(f"{mechanism}.")]
    return sum(members) if members else None


def gain(share: float) -> float:
    """The gain of who is rid of a share of the time, as fractions."""
    share = min(max(share, 0.0), MOST)
    return share / (1 - share)


def _end(share: float | None) -> float | None:
    return None if share is None else gain(share)
