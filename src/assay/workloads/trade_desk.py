"""Trade-desk: users trade instruments, with dials for catalogue contention and reports.

Assay's own design, modelled on what can be inferred from the trading simulation
of a published SAP ASE study; it is not that simulation. On a real server the users
are the connections of the load, and temporary tables are real ones.
"""

from __future__ import annotations

from assay.core.parameters import Parameter, by_name
from assay.workloads.base import Workload

TRADE_DESK = Workload(
    kind="trade-desk",
    writes=Workload.always,
    text="users place orders, trade, cancel and look; actions may use temporary tables and reports",
    parameters=by_name(
        (
            Parameter("users", "count", "users, each a closed loop", 800, low=1, high=4096),
            Parameter("accounts", "count", "accounts", 10_000, low=2, high=1 << 20),
            Parameter("instruments", "count", "what is traded", 50, low=2, high=65_535),
            Parameter(
                "theta", "number", "skew of the zipfian of instruments", 0.5, low=0.01, high=0.999
            ),
            Parameter(
                "catalogue_share",
                "number",
                "share of actions wrapped in creating and dropping a temporary table",
                0.3,
                low=0.0,
                high=1.0,
            ),
            Parameter(
                "report_share",
                "number",
                "share of actions followed by a report, a query over past prices",
                0.0,
                low=0.0,
                high=1.0,
            ),
            Parameter(
                "report_rows", "count", "rows that a report adds up", 1000, low=1, high=10_000_000
            ),
            Parameter(
                "trade_think_ms", "count", "a user's wait after a trade", 0, low=0, high=600_000
            ),
            Parameter(
                "request_think_ms",
                "count",
                "a user's wait after any other action",
                0,
                low=0,
                high=600_000,
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
    only={
        name: frozenset({"engine"})
        for name in ("users", "report_share", "report_rows", "transactions")
    },
)
