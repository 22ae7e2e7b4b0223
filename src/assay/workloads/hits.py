"""Analytical queries over hits-shaped rows: page views of a web site, made up and seeded.

Schema, queries and rows are our own, in the style of a public analytics benchmark,
whose texts must not be copied; what comes of them is never called its results.
`aggregate` is modelled on its query of ninety sums, which YDB's study of a
just-in-time compiler singles out.
"""

from __future__ import annotations

from dataclasses import replace

from assay.core.parameters import Parameter, by_name
from assay.workloads.base import Workload

ONE = {"connections": 1}
"""One client asks one query at a time, and each may have the whole machine."""

_ROWS = Parameter("rows", "count", "rows of the table", 100_000, low=1, high=100_000_000)

AGGREGATE = Workload(
    kind="aggregate",
    text="SUM(column + k) for each k, over hits-shaped synthetic rows; one operation is one query",
    parameters=by_name(
        (_ROWS, Parameter("sums", "count", "sums of the query", 90, low=1, high=1_000))
    ),
    settings=ONE,
    checks_rows=True,
)

HITS = Workload(
    kind="hits",
    text="analytical queries over hits-shaped synthetic rows, one after the other and over again; "
    "one operation is one query",
    parameters=by_name(
        (
            replace(_ROWS, low=10_000, high=1_000_000_000),
            Parameter("query", "choice", "all of the queries, or one of them (q07)", "all"),
            Parameter(
                "checkout_create",
                "choice",
                "a file of your own whose SQL makes a table `hits`, for the next two",
                None,
            ),
            Parameter("checkout_queries", "choice", "its queries: a file, one a line", None),
            Parameter("checkout_data", "choice", "its rows: a file, as COPY reads them", None),
        )
    ),
    settings=ONE,
    checks_rows=True,
)

HITS_UPLOAD = Workload(
    kind="hits-upload",
    writes=Workload.always,
    text="hits-shaped synthetic rows loaded into an empty table; one operation is one batch",
    parameters=by_name(
        (
            replace(_ROWS, low=10_000, text="rows that differ; batches after them repeat them"),
            Parameter("rows_per_batch", "count", "rows of a batch", 1000, low=1, high=1_000_000),
        )
    ),
    settings=ONE,
    checks_rows=True,
)
