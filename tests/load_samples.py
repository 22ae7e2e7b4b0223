"""A run of a load in which nothing happened, to be changed by tests."""

from __future__ import annotations

from assay.load import Summary

NOTHING = Summary(
    server="", backend="epoll", complete=True, window_s=1.0, operations=1000, errors=0,
    achieved_per_s=0.0, asked_per_s=None, latency_ns={}, service_ns={}, lateness_ns={}, by_kind={},
    counters={}, connections=10, busiest_thread=0.1, cpu_us_per_operation=1.0, rss_bytes=0, void="",
    histogram="",
)  # fmt: skip
