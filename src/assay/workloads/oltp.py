"""sysbench's OLTP tests, written anew: the tables and statements of its 1.0.20.

Sources: the documentation of sysbench, and its statements as a server's log shows
them. Keys are drawn as its `--rand-type` says; its default, `special`, sends three
quarters of all accesses to one percent of the rows.
"""

from __future__ import annotations

from dataclasses import replace

from assay.core.parameters import Parameter, by_name
from assay.workloads.base import Workload

_TABLES = (
    Parameter("tables", "count", "tables, of which each statement takes one", 1, low=1, high=1000),
    Parameter("table_size", "count", "rows of a table", 10_000, low=100, high=100_000_000),
    Parameter(
        "distribution",
        "choice",
        "which rows: three quarters of accesses on one percent, any alike, near the middle, "
        "or skewed to the first ones in one of two ways",
        "special",
        ("special", "uniform", "gaussian", "pareto", "zipfian"),
    ),
)
_SKIP = Parameter("skip_trx", "flag", "leave out BEGIN and COMMIT", False)

POINT_SELECT = Workload(
    kind="oltp-point-select",
    text="one row by its key; one operation is one statement",
    parameters=by_name(_TABLES),
)

READ_ONLY = Workload(
    kind="oltp-read-only",
    text="ten rows by key and four ranges of a hundred rows in a transaction, one operation",
    parameters=by_name((*_TABLES, _SKIP)),
)

READ_WRITE = Workload(
    kind="oltp-read-write",
    writes=Workload.always,
    text="the reads of oltp-read-only, two updates, a delete and an insert in a transaction, "
    "one operation",
    parameters=by_name((*_TABLES, _SKIP)),
)

UPDATE_INDEX = Workload(
    kind="oltp-update-index",
    writes=Workload.always,
    text="an update of an indexed column of one row; one operation is one statement",
    parameters=by_name(_TABLES),
)

UPDATE_NON_INDEX = replace(
    UPDATE_INDEX,
    kind="oltp-update-non-index",
    text="an update of a column without an index of one row; one operation is one statement",
)

OLTP = (POINT_SELECT, READ_ONLY, READ_WRITE, UPDATE_INDEX, UPDATE_NON_INDEX)
