"""TPC-C: nine tables, five transactions, twelve consistency conditions.

Source: TPC Benchmark C, Standard Specification, revision 5.11. What this is not
(an audited result) and where it differs is in the `workload` crate's docs.
"""

from __future__ import annotations

from assay.core.parameters import Parameter, by_name
from assay.workloads.base import Workload

TPCC = Workload(
    kind="tpcc",
    writes=Workload.always,
    text="TPC-C's five transactions, not an audited result; consistency is checked after each run",
    parameters=by_name(
        (
            Parameter("warehouses", "count", "warehouses loaded", 2, low=1, high=1000),
            Parameter(
                "scale",
                "choice",
                "rows of each warehouse: the specification's, or few, which is not TPC-C's scale",
                "standard",
                ("standard", "small"),
            ),
            Parameter(
                "selection",
                "choice",
                "how the next transaction is chosen: a shuffled deck of cards, or by weights",
                "deck",
                ("deck", "weighted"),
            ),
            Parameter(
                "home",
                "choice",
                "the warehouse of a transaction: its terminal's own, or drawn each time",
                "fixed",
                ("fixed", "drawn"),
            ),
            Parameter(
                "waits",
                "flag",
                "keying and think times, with ten terminals a warehouse; without them efficiency "
                "against 12.86 tpmC a warehouse does not apply",
                False,
            ),
            Parameter(
                "transactions",
                "count",
                "transactions to make room for; 0 is sized from the length of the run",
                0,
                low=0,
                high=1_000_000_000,
            ),
        )
    ),
    settings={"index": "latched", "cc": "no-wait"},
    only={name: frozenset({"engine"}) for name in ("selection", "home", "transactions")},
)
