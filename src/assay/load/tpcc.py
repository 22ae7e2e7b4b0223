"""What TPC-C asks of a run beside its rate: the mix, the response times, and efficiency.

Source: TPC-C 5.11, clauses 5.2.3 (mix), 5.2.5.7 (90th percentiles) and 4.2 (ten terminals
a warehouse, so that at most 12.86 New-Orders a minute and warehouse are possible). A run of
Assay is not a TPC-C result: nobody audits it, and it says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.load.summary import Summary

LIMITS_S = {
    "new_order": 5.0, "payment": 5.0, "order_status": 5.0, "delivery": 5.0, "stock_level": 20.0,
}  # fmt: skip
"""The 90th percentile of each kind's response time, in seconds."""

LEAST_SHARES = {"payment": 0.43, "order_status": 0.04, "delivery": 0.04, "stock_level": 0.04}
PER_WAREHOUSE = 12.86
"""New-Orders a minute that ten terminals with keying and think times can enter at most."""

MIX_SLACK = 0.01
"""A mix by a deck of cards is right over many cards; short runs end within one."""


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
    wait_scale: float = 0.0
    """How many times the specification's keying and think times terminals waited."""

    @classmethod
    def of(cls, summary: Summary, options: Mapping[str, Any]) -> TpccReport:
        """From a run and the options of its workload."""
        kinds, minutes = summary.by_kind, summary.window_s / 60
        committed = kinds["new_order"]["operations"] - summary.counters.get("rolled_back", 0)
        rate = max(committed, 0) / minutes if minutes else 0.0
        most = PER_WAREHOUSE * int(options.get("warehouses", 1))
        slow = {name: kinds[name].get("0.9", 0.0) / 1e9 for name in LIMITS_S}
        total = max(summary.operations, 1)
        return cls(
            new_orders_per_minute=rate,
            efficiency=rate / most if _waits(options) == 1 else None,
            wait_scale=_waits(options),
            shares={name: kind["operations"] / total for name, kind in kinds.items()},
            too_slow={name: p90 for name, p90 in slow.items() if p90 > LIMITS_S[name]},
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
        rare = [n for n, least in LEAST_SHARES.items() if self.shares[n] < least - MIX_SLACK]
        lines += [f"{name} is too rare for the mix of clause 5.2.3" for name in rare]
        lines += [
            f"{name} took {p90:.1f} s at the 90th percentile: the limit is {LIMITS_S[name]:.0f} s"
            for name, p90 in self.too_slow.items()
        ]
        return lines


def _waits(options: Mapping[str, Any]) -> float:
    return float(options.get("wait_scale", 1)) if options.get("waits") else 0.0
