"""What a run did by kind of request, as its record keeps it."""

from __future__ import annotations

from assay.record import KindRecord
from assay.targets import Measured
from assay.targets.native.embedded import latencies

KEPT = ("latency_mean", "latency_p50", "latency_p90", "latency_p99")
"""Latencies of a kind that are kept as numbers; its histogram has the rest."""


def kind_records(measured: Measured) -> dict[str, KindRecord]:
    """Each kind of request of which there was any; none where all requests are of one kind."""
    answered = {name: kind for name, kind in measured.by_kind.items() if kind.operations}
    if len(answered) < 2 or not measured.window_s:
        return {}
    records = {}
    for name, kind in answered.items():
        found = latencies(kind.histogram)
        metrics = {"throughput": kind.operations / measured.window_s}
        metrics |= {latency: found[latency] for latency in KEPT}
        records[name] = KindRecord(
            operations=kind.operations, metrics=metrics, histogram=kind.histogram
        )
    return records
