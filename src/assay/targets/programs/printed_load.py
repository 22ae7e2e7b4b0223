"""What a generator of load printed of its run, and what all its readers share.

A reader gets the end of standard output, and gives one rate, the operations if they are counted,
those that failed, and latencies. What a tool does not print is not made up: there is no quantile of
several kinds of operation where it prints one of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assay.core.errors import RunError

SHOWN = 200
"""Characters of an output that an error repeats."""

UNITS_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}

QUANTILES = {
    "50": "latency_p50",
    "90": "latency_p90",
    "99": "latency_p99",
    "99.9": "latency_p999",
    "100": "latency_max",
}
"""Metrics by the percent that a tool prints; others are no metric."""


@dataclass(frozen=True)
class PrintedLoad:
    """Operations per second over the generator's own window; `operations` is None where they are
    not counted, and holds `errors`; latencies in ns by metric."""

    throughput: float
    operations: int | None = None
    errors: int = 0
    latencies: Mapping[str, float] = field(default_factory=dict)


Reader = Callable[[str], PrintedLoad]
"""From what was printed; RunError where the tool's summary is not in it."""


@dataclass(frozen=True)
class Generator:
    """A tool, and how its output is read."""

    name: str
    read: Reader


def number(pattern: str, text: str) -> float | None:
    """The last match of an expression with one group; None if there is none."""
    found = re.findall(pattern, text, re.MULTILINE)
    return float(found[-1]) if found else None


def required(pattern: str, text: str, tool: str, what: str) -> float:
    """The same, of what a summary must have."""
    found = number(pattern, text)
    if found is None:
        raise no_summary(tool, what, text)
    return found


def no_summary(tool: str, what: str, text: str) -> RunError:
    """That an output is not that of a run of the tool that went well."""
    end = text.strip()[-SHOWN:]
    return RunError(
        f"the generator printed no {what}, as {tool} does; it ended with {end!r}",
        next_step="run its command by hand; `parser` names the tool, `value` takes any number",
    )


def quantiles(found: Mapping[str, float]) -> dict[str, float]:
    """Latencies by metric, of those by percent ("50.000", "99")."""
    by_number = {f"{float(percent):g}": value for percent, value in found.items()}
    return {name: by_number[p] for p, name in QUANTILES.items() if p in by_number}


def duration_ns(text: str) -> float:
    """A duration as Go and wrk print it ("1.23ms", "1m2.5s"), in ns."""
    parts = re.findall(r"([\d.]+)(ns|us|µs|μs|ms|s|m|h)", text)
    return sum(float(value) * UNITS_NS[unit] for value, unit in parts)
