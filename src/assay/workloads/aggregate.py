"""One analytical query: the sums of a column plus 0, 1, 2, ... over hits-shaped rows.

Modelled on the query of ninety sums in a public analytics benchmark, which YDB's
study of a just-in-time compiler singles out; the rows are synthetic.
"""

from __future__ import annotations

from assay._parameters import Parameter, by_name
from assay.workloads.base import Workload

AGGREGATE = Workload(
    kind="aggregate",
    text="SUM(column + k) for each k, over hits-shaped synthetic rows; one operation is one query",
    parameters=by_name(
        (
            Parameter("rows", "count", "rows of the table", 100_000, low=1, high=100_000_000),
            Parameter("sums", "count", "sums of the query", 90, low=1, high=1_000),
        )
    ),
)
