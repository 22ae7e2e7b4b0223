"""Runs of a load for tests: one in which nothing happened, and one that was long enough."""

from __future__ import annotations

from dataclasses import replace

from assay.load import Load, Summary, run_load

NOTHING = Summary(
    server="", backend="epoll", complete=True, window_s=1.0, operations=1000, errors=0,
    errors_by_code=[],
    achieved_per_s=0.0, asked_per_s=None, latency_ns={}, service_ns={}, lateness_ns={}, by_kind={},
    counters={}, connections=10, tls=None,
    busiest_thread=0.1, cpu_us_per_operation=1.0, rss_bytes=0, void="",
    histogram="",
)  # fmt: skip


def run_enough(asked: Load, operations: int) -> Summary:
    """Run for longer and longer until so many operations were counted: on a busy machine a short
    window may pass without any."""
    for _ in range(6):
        summary = run_load(asked)
        if summary.operations >= operations:
            return summary
        asked = replace(asked, time_s=2 * asked.time_s)
    raise AssertionError(f"{summary.operations} operations in {summary.window_s} s")
