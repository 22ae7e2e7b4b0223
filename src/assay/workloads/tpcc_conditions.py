"""What TPC-C asks of a run beside its rate, and the metrics that a run has under it.

Source: TPC-C 5.11, clauses 5.2.3 (mix), 5.2.5.7 (90th percentiles) and 4.2 (ten terminals
a warehouse, so that at most 12.86 New-Orders a minute and warehouse are possible). A run of
Assay is not a TPC-C result: nobody audits it, and it says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LIMITS_S = {
    "new_order": 5.0,
    "payment": 5.0,
    "order_status": 5.0,
    "delivery": 5.0,
    "stock_level": 20.0,
}
"""The 90th percentile of each kind's response time, in seconds."""

LEAST_SHARES = {"payment": 0.43, "order_status": 0.04, "delivery": 0.04, "stock_level": 0.04}

PER_WAREHOUSE = 12.86
"""New-Orders a minute that ten terminals with keying and think times can enter at most."""

MIX_SLACK = 0.01
"""A mix by a deck of cards is right over many cards; short runs end within one."""


@dataclass(frozen=True)
class KindOfRun:
    """One kind of transaction in one run: how many ended, and the 90th percentile of their response
    times in seconds."""

    operations: int
    p90_s: float


Kinds = Mapping[str, KindOfRun]


def wait_scale(options: Mapping[str, Any]) -> float:
    """How many times the specification's keying and think times terminals wait; 0 without."""
    return float(options.get("wait_scale", 1)) if options.get("waits") else 0.0


def too_slow(kinds: Kinds) -> dict[str, float]:
    """90th percentiles in seconds, of kinds beyond their limit."""
    return {n: kinds[n].p90_s for n in LIMITS_S if n in kinds and kinds[n].p90_s > LIMITS_S[n]}


def too_rare(kinds: Kinds) -> list[str]:
    """Kinds that are rarer than the mix allows."""
    total = max(sum(kind.operations for kind in kinds.values()), 1)
    shares = {name: kinds[name].operations / total for name in LEAST_SHARES if name in kinds}
    return [n for n, least in LEAST_SHARES.items() if shares.get(n, 0.0) < least - MIX_SLACK]


def tpcc_metrics(
    kinds: Kinds, rolled_back: float, window_s: float, options: Mapping[str, Any]
) -> dict[str, float]:
    """The metrics of a run: its rate of New-Orders that were committed, and under the
    specification's conditions that rate again, with how near it is to the most there can be."""
    if "new_order" not in kinds or window_s <= 0:
        return {}
    rate = max(kinds["new_order"].operations - rolled_back, 0.0) * 60 / window_s
    found = {"new_orders_per_minute": rate}
    whole = set(LIMITS_S) <= kinds.keys()
    if wait_scale(options) == 1 and whole and not too_slow(kinds) and not too_rare(kinds):
        most = PER_WAREHOUSE * int(options.get("warehouses", 1))
        found |= {"tpmc": rate, "tpcc_efficiency": rate / most}
    return found
