"""YCSB A-F. The inputs are made natively; what they are is in the `workload` crate's docs.

Source: brianfrankcooper/YCSB (Apache-2.0), the CoreWorkload's definitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.parameters import Parameter, by_name
from assay.workloads.base import Workload


def _payload(parameters: Mapping[str, Any], operations: Mapping[str, int]) -> float:
    """One field of each update, all fields of each insert."""
    fields = {"update": 1, "rmw": 1, "insert": parameters["fields"]}
    written = sum(fields.get(kind, 0) * count for kind, count in operations.items())
    return float(written * parameters["field_bytes"])


YCSB = Workload(
    kind="ycsb",
    writes=lambda parameters: parameters.get("mix", "c") != "c",
    payload=_payload,
    text="Yahoo! Cloud Serving Benchmark, mixes A to F",
    parameters=by_name(
        (
            Parameter(
                "mix",
                "choice",
                "a update heavy, b read mostly, c read only, d read latest, e scans, "
                "f read-modify-write",
                "c",
                ("a", "b", "c", "d", "e", "f"),
            ),
            Parameter("records", "count", "records loaded", 100_000, low=1_000, high=1_000_000_000),
            Parameter("fields", "count", "fields in a record", 10, low=1, high=64),
            Parameter("field_bytes", "count", "bytes in a field", 100, low=1, high=4096),
            Parameter(
                "chooser",
                "choice",
                "which keys: YCSB's own scrambled zipfian over 10^10 items, an exact zipfian "
                "over the records, or uniform; mix d always takes the latest",
                "scrambled-10e10",
                ("scrambled-10e10", "exact", "uniform"),
            ),
            Parameter("theta", "number", "skew of the zipfian", 0.99, low=0.01, high=0.999),
            Parameter(
                "operations",
                "count",
                "operations expected; sizes the key space of mixes that insert",
                1_000_000,
                low=1_000,
                high=1_000_000_000,
            ),
            Parameter("max_scan", "count", "longest scan of mix e", 100, low=1, high=10_000),
        )
    ),
)
