"""What a load came to: latencies, rates, the client's own cost, and its verdict on itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from assay.bench.guard import client_limits
from assay.core.errors import RunError
from assay.core.histograms import merge, value_at
from assay.core.units import format_quantity
from assay.native import Health, Ready, RunResult, WindowInterval
from assay.report.words.line import Line
from assay.workloads.promise import QUANTILES

NOT_LATE_NS = 1
"""What is recorded of a send that was not meant for any time: its user asked when it was ready."""


@dataclass(frozen=True)
class Summary:
    """One run. Latencies in nanoseconds by quantile ("0.99"), `max` beside them; shares are
    fractions. `void` says why the run cannot count, or nothing."""

    server: str
    backend: str
    complete: bool
    window_s: float
    operations: int
    errors: int
    errors_by_code: list[dict[str, Any]]
    """What the server refused: its `kind` (deadlock, conflict, lock timeout, duplicate key, other),
    the server's `code`, the first `message` with that code, and how many (`count`)."""
    achieved_per_s: float
    asked_per_s: float | None
    latency_ns: dict[str, float]
    service_ns: dict[str, float]
    lateness_ns: dict[str, float]
    by_kind: dict[str, dict[str, float]]
    counters: dict[str, int]
    connections: int
    tls: str | None
    """Version and cipher suite; None without TLS."""
    busiest_thread: float
    cpu_us_per_operation: float
    rss_bytes: int
    void: str
    histogram: str
    """All latencies: HdrHistogram V2, deflated, base64, in nanoseconds."""

    @classmethod
    def of(cls, ready: Ready, health: Health, result: RunResult) -> Summary:
        """From the messages of a run."""
        load = result.load
        assert load is not None
        reasons = client_limits(health)
        late = quantiles_of(load.lateness)
        if load.ended_by is not None:
            reasons.insert(0, f"the run ended early: {load.ended_by}")
        elif not result.complete:
            reasons.insert(0, "the run was stopped before its end")
        return cls(
            server=ready.manifest["server"],
            backend=ready.manifest["backend"],
            complete=result.complete,
            window_s=result.window_s,
            operations=result.operations,
            errors=result.errors,
            errors_by_code=[refused.model_dump() for refused in load.errors],
            achieved_per_s=health.achieved_per_s,
            asked_per_s=health.asked_per_s,
            latency_ns=quantiles_of(result.histogram),
            service_ns=quantiles_of(load.service),
            lateness_ns=late if late.get("max", 0) > NOT_LATE_NS else {},
            by_kind={
                name: {"operations": kind.operations, **quantiles_of(kind.histogram)}
                for name, kind in result.by_kind.items()
            },
            counters=result.counters,
            connections=load.connections,
            tls=load.tls,
            busiest_thread=health.busiest_thread or 0.0,
            cpu_us_per_operation=load.cpu_us_per_operation,
            rss_bytes=result.memory.rss_bytes or 0,
            void="; ".join(reasons),
            histogram=result.histogram,
        )

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)


def quantiles_of(histogram: str) -> dict[str, float]:
    """Nanoseconds by quantile, and the largest; empty without operations."""
    merged, unreadable = merge([histogram])
    if merged is None or unreadable:
        raise RunError("a histogram of assayer cannot be read", next_step="run `make install`")
    if not merged.get_total_count():
        return {}
    found = {f"{q:g}": value_at(merged, 100 * q) for q in QUANTILES}
    return {**found, "max": float(merged.get_max_value())}


def second_line(interval: WindowInterval) -> str:
    """One second for people."""
    seconds = interval.length_ms / 1000
    found = quantiles_of(interval.histogram)
    rate = format_quantity(interval.operations / seconds if seconds else 0.0, "op/s")
    tail = f"p50 {_ns(found, '0.5')}  p99 {_ns(found, '0.99')}  max {_ns(found, 'max')}"
    failed = f"  {interval.errors} errors" if interval.errors else ""
    return f"{(interval.start_ms + interval.length_ms) / 1000:5.0f} s  {rate:>12s}  {tail}{failed}"


def summary_lines(summary: Summary) -> list[Line]:
    """The end of a run for people."""
    lines = [
        Line(
            f"{summary.operations} operations in {summary.window_s:.1f} s over "
            f"{summary.connections} connections to {summary.server}{_over(summary)}: "
            f"{format_quantity(summary.achieved_per_s, 'op/s')}{_asked(summary)}"
        )
    ]
    heads = [f"p{100 * q:g}" for q in QUANTILES]
    lines.append(Line(f"{'':12s}" + "".join(f"{head:>10s}" for head in [*heads, "max"])))
    lines += [_row("latency", summary.latency_ns), _row("service", summary.service_ns)]
    if summary.lateness_ns:
        lines.append(_row("sent late by", summary.lateness_ns))
    if len(summary.by_kind) > 1:
        lines += [_row(name, kind) for name, kind in summary.by_kind.items()]
    if summary.errors:
        lines.append(Line(f"{summary.errors} operations failed", "red"))
        lines += [Line(_refused(**refused), "red") for refused in summary.errors_by_code]
    noted = {
        name: count
        for name, count in summary.counters.items()
        if count and ("retries" in name or name == "refused")
    }
    lines += [Line(f"{name.removeprefix('retries.')}: {count}") for name, count in noted.items()]
    lines.append(
        Line(
            f"client: {summary.cpu_us_per_operation:.2f} µs of CPU per operation, "
            f"{format_quantity(summary.rss_bytes, 'B')} of memory"
        )
    )
    return [*lines, _verdict(summary)]


def _over(summary: Summary) -> str:
    return "" if summary.tls is None else f" over {summary.tls}"


def _asked(summary: Summary) -> str:
    if summary.asked_per_s is None:
        return ", closed loop"
    share = summary.achieved_per_s / summary.asked_per_s
    return f", {100 * share:.1f} % of the {format_quantity(summary.asked_per_s, 'op/s')} asked for"


def _refused(kind: str, code: str, message: str, count: int) -> str:
    named = "" if kind == "other" else f" ({kind})"
    return f"  {count} with {code}{named}: {message}"


def _verdict(summary: Summary) -> Line:
    if summary.void:
        return Line(f"void: {summary.void}", "red")
    return Line(
        f"client was not the limit ({100 * summary.busiest_thread:.0f} % of one core)", "green"
    )


def _row(name: str, found: dict[str, float]) -> Line:
    keys = [*(f"{q:g}" for q in QUANTILES), "max"]
    return Line(f"{name:12s}" + "".join(f"{_ns(found, key):>10s}" for key in keys))


def _ns(found: dict[str, float], key: str) -> str:
    return format_quantity(found[key], "ns") if key in found else "-"
