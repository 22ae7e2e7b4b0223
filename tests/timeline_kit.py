"""Runs that are reported second by second, some with a stall and what was counted in it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from assay.native.messages import WindowInterval
from assay.targets import Measured
from fakes import histogram

SECONDS = 12
FLUSHED = "Innodb_buffer_pool_pages_flushed"


def by_second(
    measured: Measured, rates: Sequence[float], series: Mapping[str, list[float | None]]
) -> Measured:
    """The same run in intervals of a second, with a latency that goes with the rate."""
    intervals = [
        WindowInterval(
            index=second,
            start_ms=1000.0 * second,
            length_ms=1000.0,
            operations=round(rate),
            errors=0,
            histogram=histogram(round(2e9 / max(rate, 1.0), -1)),
        )
        for second, rate in enumerate(rates)
    ]
    return replace(measured, intervals=intervals, series=dict(series))


def stalling(
    share: float = 0.5, series: bool = True, arms: Callable[[int], bool] = lambda number: True
) -> Callable[[int, Measured], Measured]:
    """A script: of that share of runs one second is a stall in which a server flushes pages."""

    def script(number: int, measured: Measured) -> Measured:
        drawn = random.Random(f"timeline {number}")
        rate = measured.metrics["throughput"]
        rates = [rate * drawn.gauss(1.0, 0.02) for _ in range(SECONDS)]
        flushed: list[float | None] = [100.0 + drawn.random() for _ in range(SECONDS)]
        if drawn.random() < share and arms(number):
            second = drawn.randrange(1, SECONDS)
            rates[second], flushed[second] = 0.05 * rate, 9000.0
        kept: dict[str, list[float | None]] = {
            FLUSHED: flushed,
            "host.cpu.user_ms": [1000 * r / rate for r in rates],
            "host.cpu.softirq_ms": [20.0] * SECONDS,
        }
        return by_second(measured, rates, kept if series else {})

    return script
