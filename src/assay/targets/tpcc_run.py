"""The metrics of TPC-C in what a run of the native half measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hdrh.histogram import HdrHistogram

from assay import native
from assay.core.histograms import value_at
from assay.workloads.tpcc_conditions import KindOfRun, tpcc_metrics

NEW_ORDER = "new_order"
"""The kind by which a run of TPC-C is known."""


def of_tpcc(result: native.RunResult, options: Mapping[str, Any]) -> dict[str, float]:
    """New-Orders per minute, and more under the specification's conditions; none of another
    workload. `options`: the workload's parameters."""
    if NEW_ORDER not in result.by_kind:
        return {}
    kinds = {
        name: KindOfRun(kind.operations, _p90_s(kind.histogram))
        for name, kind in result.by_kind.items()
    }
    rolled_back = result.counters.get("rolled_back", 0)
    return tpcc_metrics(kinds, rolled_back, result.window_s, options)


def _p90_s(encoded: str) -> float:
    return value_at(HdrHistogram.decode(encoded), 90.0) / 1e9
