"""What TPC-C asks of a run beside its rate, told of a run of `assay load`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.load.summary import Summary
from assay.workloads.tpcc_conditions import (
    LIMITS_S,
    PER_WAREHOUSE,
    KindOfRun,
    too_rare,
    too_slow,
    tpcc_metrics,
    wait_scale,
)


@dataclass(frozen=True)
class TpccReport:
    """One run. `efficiency` is a fraction."""

    new_orders_per_minute: float
    """Committed New-Orders; those that roll back as demanded are left out."""

    efficiency: float | None
    """None where terminals did not wait as long as the specification says."""
    shares: dict[str, float]
    too_slow: dict[str, float]
    """90th percentiles in seconds, of kinds that exceeded their limit."""
    too_rare: tuple[str, ...] = ()
    """Kinds that are rarer than the mix allows."""
    wait_scale: float = 0.0
    """How many times the specification's keying and think times terminals waited."""

    @classmethod
    def of(cls, summary: Summary, options: Mapping[str, Any]) -> TpccReport:
        """From a run and the options of its workload."""
        kinds = {
            name: KindOfRun(int(kind["operations"]), kind.get("0.9", 0.0) / 1e9)
            for name, kind in summary.by_kind.items()
        }
        rolled_back = summary.counters.get("rolled_back", 0)
        found = tpcc_metrics(kinds, rolled_back, summary.window_s, options)
        rate = found.get("new_orders_per_minute", 0.0)
        most = PER_WAREHOUSE * int(options.get("warehouses", 1))
        total = max(summary.operations, 1)
        return cls(
            new_orders_per_minute=rate,
            efficiency=rate / most if wait_scale(options) == 1 else None,
            wait_scale=wait_scale(options),
            shares={name: kind.operations / total for name, kind in kinds.items()},
            too_slow=too_slow(kinds),
            too_rare=tuple(too_rare(kinds)),
        )

    def lines(self) -> list[str]:
        """For people."""
        mix = ", ".join(f"{name} {100 * share:.1f} %" for name, share in self.shares.items())
        lines = [
            f"{self.new_orders_per_minute:.0f} new orders a minute (not a TPC-C result)",
            f"mix: {mix}",
        ]
        if self.efficiency is None:
            waits = f"waits scaled by {self.wait_scale:g}" if self.wait_scale else "no wait times"
            lines.append(f"{waits}: efficiency against 12.86 per warehouse is not applicable")
        else:
            lines.append(f"efficiency: {100 * self.efficiency:.1f} % of 12.86 per warehouse")
        lines += [f"{name} is too rare for the mix of clause 5.2.3" for name in self.too_rare]
        lines += [
            f"{name} took {p90:.1f} s at the 90th percentile: the limit is {LIMITS_S[name]:.0f} s"
            for name, p90 in self.too_slow.items()
        ]
        return lines
