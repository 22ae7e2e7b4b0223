"""Changes of servers that answer analytical queries: compiling, rewriting, threads.

A change that several servers have goes by the settings that they share by name:
`jit` is PostgreSQL's own, and stands for ClickHouse's several in the target chdb;
`rewrite` is the name of chdb's and duckdb's for what each calls its own way.
There is no change of vectorisation: DuckDB's vectors are of a fixed length, and
ClickHouse reads a MergeTree by its granules whatever `max_block_size` says.
"""

from __future__ import annotations

from types import MappingProxyType

from assay.changes.builders import number, part
from assay.changes.declaration import Application, Change, Dose, Level
from assay.changes.signature import falls, stays
from assay.changes.witness import Counted, ReadBack

CHDB = frozenset({"chdb"})
DUCKDB = frozenset({"duckdb"})
SUMS = frozenset({"aggregate", "hits"})
"""Workloads whose queries sum a column plus a constant."""
SWITCH = {"off": "off", "on": "on"}


def _jit(name: str) -> Level:
    """PostgreSQL's compiled functions are counted by the library of statements."""
    counts = Application({"shared_preload_libraries": "pg_stat_statements"})
    return Level(name, Application({"jit": name}, of_target={"postgresql": counts}))


ANALYTIC_CHANGES = (
    Change(
        "sql.jit",
        "expressions and aggregates of queries are compiled; ClickHouse keeps what it compiled, "
        "PostgreSQL compiles each query that it finds costly (jit_above_cost) anew",
        frozenset({"chdb", "postgresql"}),
        MappingProxyType({name: _jit(name) for name in SWITCH}),
        "off",
        "on",
        Counted({"off": {"jit_functions": False}, "on": {"jit_functions": True}}),
        "B",
        dose=Dose("jit_functions", "functions compiled per operation"),
        workloads=SUMS,
        signature=falls("cpu_per_operation"),
    ),
    part(
        "sql.rewrite",
        "SUM(x + 1) is computed as SUM(x) + COUNT(x), so that ninety sums of a column are one",
        CHDB | DUCKDB,
        "rewrite",
        SWITCH,
        off="off",
        on="on",
        witness=ReadBack({"off": {"sums_rewritten": False}, "on": {"sums_rewritten": True}}),
        signature=falls("cpu_per_operation"),
        workloads=SUMS,
    ),
    number(
        "chdb.threads",
        "threads that one query may take",
        CHDB,
        "max_threads",
        off=1,
        on=2,
        effort="A",
        signature=falls("latency_p50"),
    ),
    number(
        "duckdb.threads",
        "threads that all queries share",
        DUCKDB,
        "threads",
        off=1,
        on=2,
        effort="A",
        signature=falls("latency_p50"),
    ),
    number(
        "chdb.placebo",
        "lag in seconds from which a replica is not asked; there are no replicas",
        CHDB,
        "max_replica_delay_for_distributed_queries",
        off=300,
        on=301,
        effort="A",
        signature=stays("cpu_per_operation"),
    ),
    number(
        "duckdb.placebo",
        "columns from which a pivot is refused; there is no pivot",
        DUCKDB,
        "pivot_limit",
        off=100_000,
        on=100_001,
        effort="A",
        signature=stays("cpu_per_operation"),
    ),
)
