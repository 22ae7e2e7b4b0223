"""`assayer load` against a served target: its request, and its result as what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay import native
from assay._address import parse_url
from assay._parameters import Parameter, by_name
from assay.targets.base import Launch, Measured
from assay.targets.embedded import latencies
from assay.targets.served.adapter import Adapter, Place

CLIENT = by_name(
    (
        Parameter("connections", "count", "connections of the load", 16, low=1, high=100_000),
        Parameter("client_threads", "count", "threads of the load", 1, low=1, high=1024),
        Parameter(
            "rate",
            "number",
            "requests a second, sent whatever the server does; without one each connection asks "
            "again when it was answered",
            None,
            low=1e-3,
            high=1e9,
        ),
    )
)
"""Settings of every served target, beside the server's own."""
CLIENT_NAMES = frozenset(CLIENT)

SQL_WORKLOADS = (
    "oltp-point-select",
    "oltp-read-only",
    "oltp-read-write",
    "oltp-update-index",
    "oltp-update-non-index",
    "ycsb",
    "tpcc",
)
"""What is asked of a server that speaks SQL."""

HTTP = "http"
"""The protocol whose data are files: there is nothing to load over it."""


def load_request(
    launch: Launch,
    adapter: Adapter,
    place: Place,
    pid: int | None = None,
    beside: Sequence[int] = (),
) -> dict[str, Any]:
    """The request of a run."""
    target = parse_url(adapter.url(place), {})
    kind = adapter.loads.get(launch.workload, launch.workload)
    workload = {"kind": kind, **launch.parameters}
    if target.protocol == HTTP:
        workload.setdefault("path", target.path)
    settings = {name: p.default for name, p in CLIENT.items()} | dict(launch.settings)
    rate = settings["rate"]
    return {
        "target": target.request(),
        "workload": workload,
        "connections": settings["connections"],
        "threads": settings["client_threads"],
        "rate": None if rate is None else {"per_s": rate, "spacing": "even"},
        "pin": False,
        "seed": launch.seed,
        "warmup_ms": round(launch.warmup_s * 1000),
        "window_ms": round(launch.window_s * 1000),
        "interval_ms": round(launch.interval_s * 1000),
        "server_pid": pid,
        "beside_pids": list(beside),
    }


def measured(
    result: native.Result,
    health: native.Health,
    intervals: Sequence[native.Interval],
    counted: Mapping[str, float],
    times: Mapping[str, float],
) -> Measured:
    """What a run measured; `counted` are the server's own counters over the window."""
    return Measured(
        complete=result.complete,
        window_s=result.window_s,
        operations=result.operations,
        errors=result.errors,
        metrics=_metrics(result),
        counters={**counted, **result.counters, **_usage(result.server), **times},
        histogram=result.histogram,
        latency_of=result.latency_of,
        intervals=[i.model_dump() for i in intervals],
        threads=[t.model_dump() for t in result.threads],
        cpus=[c.model_dump() for c in result.cpus],
        health=health.model_dump(),
    )


def _usage(server: native.ServerUsage | None) -> dict[str, float]:
    if server is None:
        return {}
    names = ("cpu_s", "processes", "voluntary_switches", "involuntary_switches")
    return {f"server.{name}": getattr(server, name) for name in names}


def _metrics(result: native.Result) -> dict[str, float]:
    """Every metric of a run; one that has no value (no operation) is left out."""
    operations, server = result.operations, result.server
    found = {"throughput": operations / result.window_s} if result.window_s else {}
    if server is not None:
        shared = server.rss_bytes if server.pss_bytes is None else server.pss_bytes
        found["resident_bytes"] = float(shared)
    if not operations:
        return found
    if server is not None and server.cpu_s:
        found["operations_per_cpu_s"] = operations / server.cpu_s
        found["cpu_per_operation"] = server.cpu_s * 1e9 / operations
    retries = [n for name, n in result.counters.items() if name.startswith("retries.")]
    found["aborts_per_operation"] = sum(retries) / operations
    return found | latencies(result.histogram)
