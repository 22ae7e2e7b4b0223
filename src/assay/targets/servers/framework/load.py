"""`assayer load` against a server: its request, and its result as what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from hdrh.histogram import HdrHistogram

from assay import native
from assay.core.address import ServerAddress, parse_url
from assay.core.histograms import value_at
from assay.core.parameters import Parameter, by_name
from assay.targets.base import Launch, Measured
from assay.targets.native.embedded import latencies
from assay.targets.servers.framework.adapter import Adapter, Place
from assay.targets.servers.framework.scripts import script_request
from assay.targets.tpcc_run import of_tpcc
from assay.workloads import SCRIPT, WORKLOADS

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
"""Settings of every server, beside its own."""
CLIENT_NAMES = frozenset(CLIENT)

EACH_RUN = "load_each_run"
LOADING = by_name(
    (
        Parameter(
            EACH_RUN,
            "flag",
            "the data set is loaded anew in each run, before its warm-up, and timed: load_seconds, "
            "load_rows_per_s, bytes_per_row",
            None,
        ),
    )
)
"""Settings of servers whose data are made once otherwise, and copied for each run."""
LOADING_NAMES = frozenset(LOADING)

SEED = 1
"""Prepared data are the same in every run of every study."""

CHECKOUT = "checkout_"
"""Beginning of the parameters that are files of a user's own."""

HTTP = "http"
"""The protocol whose data are files: there is nothing to load over it."""


def load_request(
    launch: Launch,
    adapter: Adapter,
    place: Place,
    pid: int | None = None,
    beside: Sequence[int] = (),
    target: ServerAddress | None = None,
) -> dict[str, Any]:
    """The request of a run; `target` is where the load goes, by default to the adapter's place."""
    target = target or parse_url(adapter.url(place), {})
    kind = adapter.loads.get(launch.workload, launch.workload)
    own = launch.workload == SCRIPT.kind
    asked = script_request(launch.parameters, target.protocol) if own else None
    workload = {"kind": kind, **(asked or _nested(launch.parameters))}
    if target.protocol == HTTP and asked is None:
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
        "seed": SEED if WORKLOADS[launch.workload].checks_rows else launch.seed,
        **launch.times(pid),
        "server_pid": pid,
        "beside_pids": list(beside),
    }


def _nested(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as the protocol has them: the files of a checkout stand together."""
    files = {n.removeprefix(CHECKOUT): v for n, v in parameters.items() if n.startswith(CHECKOUT)}
    others = {n: v for n, v in parameters.items() if not n.startswith(CHECKOUT)}
    given = {n: v for n, v in files.items() if v is not None}
    return {**others, "checkout": given} if given else others


def measured(
    result: native.RunResult,
    health: native.Health,
    intervals: Sequence[native.WindowInterval],
    counted: Mapping[str, float],
    times: Mapping[str, float],
    waits: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Measured:
    """What a run measured; `counted` are the server's own counters over the window, `waits` totals
    by family of metrics and member, and `options` the workload's parameters."""
    return Measured(
        complete=result.complete,
        window_s=result.window_s,
        operations=result.operations,
        errors=result.errors,
        metrics=_metrics(result, options)
        | _per_operation(waits, result.operations)
        | load_time(times),
        counters={**counted, **result.counters, **usage_counters(result.server), **times},
        histogram=result.histogram,
        latency_of=result.latency_of,
        overhead_ns_per_operation=result.overhead_ns_per_operation,
        by_kind=result.by_kind,
        intervals=list(intervals),
        threads=result.threads,
        cpus=result.cpus,
        health=health,
    )


def _per_operation(waits: Mapping[str, Mapping[str, float]], operations: int) -> dict[str, float]:
    """Metrics that compare across arms, whose throughput differs."""
    if not operations:
        return {}
    return {
        f"{family}.{member}": total / operations
        for family, members in waits.items()
        for member, total in members.items()
    }


def usage_metrics(server: native.ServerUsage | None, operations: int) -> dict[str, float]:
    """What a server's processes used of CPU for each operation, and hold of memory."""
    if server is None:
        return {}
    shared = server.rss_bytes if server.pss_bytes is None else server.pss_bytes
    found = {"resident_bytes": float(shared)}
    if operations and server.cpu_s:
        found["operations_per_cpu_s"] = operations / server.cpu_s
        found["cpu_per_operation"] = server.cpu_s * 1e9 / operations
    return found


def load_time(times: Mapping[str, float]) -> dict[str, float]:
    """How long the data set took, where the run loaded it, and what became of it."""
    if "load_s" not in times:
        return {}
    seconds, rows = times["load_s"], times.get("load_rows", 0.0)
    found = {"load_seconds": seconds}
    if rows:
        found["load_rows_per_s"] = rows / seconds
        if times.get("disk_bytes"):
            found["bytes_per_row"] = times["disk_bytes"] / rows
    return found


def usage_counters(server: native.ServerUsage | None) -> dict[str, float]:
    """The same as counters."""
    if server is None:
        return {}
    names = ("cpu_s", "processes", "voluntary_switches", "involuntary_switches")
    return {f"server.{name}": getattr(server, name) for name in names}


def _metrics(result: native.RunResult, options: Mapping[str, Any]) -> dict[str, float]:
    """Every metric of a run; one that has no value (no operation) is left out."""
    operations = result.operations
    found = {"throughput": operations / result.window_s} if result.window_s else {}
    found |= usage_metrics(result.server, operations)
    if not operations:
        return found
    retries = [n for name, n in result.counters.items() if name.startswith("retries.")]
    found["aborts_per_operation"] = sum(retries) / operations
    return found | latencies(result.histogram) | _geomean(result) | of_tpcc(result, options)


def unanswered(result: native.RunResult) -> list[str]:
    """Kinds of request that the window answered none of."""
    return [name for name, kind in result.by_kind.items() if not kind.operations]


def _geomean(result: native.RunResult) -> dict[str, float]:
    """The geometric mean of each kind's median; of some kinds only, it would be another metric."""
    if not result.by_kind or unanswered(result):
        return {}
    decoded = (HdrHistogram.decode(kind.histogram) for kind in result.by_kind.values())
    medians = [value_at(h, 50.0) for h in decoded]
    return {"latency_geomean": statistics.geometric_mean(medians)} if all(medians) else {}
