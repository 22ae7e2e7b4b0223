"""A run that searches the highest rate at which a promise about latency is kept.

The server stays what it is; the load goes to it at one rate after the other, each for a window of
its own. What the run measured is the last try that kept the promise, the best rate that users would
have been served at, with `max_rate` and the search's own ends beside it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace

from hdrh.histogram import HdrHistogram

from assay.core.errors import RunError
from assay.core.histograms import value_at
from assay.core.metrics import MAX_RATE
from assay.core.units import format_duration
from assay.native.messages import Health
from assay.stats.rate_search import RateFound, search
from assay.targets.base import Launch, Measured
from assay.workloads.promise import Promise

SETTLE = 0.25
"""Before each rate but the first the load runs for so much of a window without being counted: the
server is warm, and only its queues have to become those of the rate."""

EXPECTED_TRIES = 13
"""Of a search in which nothing is unsure, the closed loop among them."""

RATE = "rate"


@dataclass(frozen=True)
class _Try:
    rate: float
    kept: bool
    found: Measured


def at_rate(launch: Launch, rate: float | None) -> Launch:
    """The launch of one try: None is the closed loop, which comes first."""
    settings = {**launch.settings, RATE: rate}
    first = rate is None
    warmup_s = launch.warmup_s if first else min(launch.warmup_s, SETTLE * launch.window_s)
    return replace(launch, settings=settings, warmup_s=warmup_s, promise=None)


def searched(launch: Launch, promise: Promise, measure: Callable[[Launch], Measured]) -> Measured:
    """The search of one run. RunError where a window has too few requests for the quantile; without
    `max_rate` where the lowest rate that was tried broke the promise."""
    closed = measure(at_rate(launch, None))
    if not closed.complete:
        return closed
    tries: list[_Try] = []

    def is_kept(rate: float) -> bool:
        found = measure(at_rate(launch, rate))
        if not found.complete:
            raise _SearchEnded(found)
        kept = keeps(promise, found)
        if kept and found.operations < promise.requests:
            raise RunError(
                f"at {rate:.0f} requests/s a window of {format_duration(launch.window_s)} has "
                f"{found.operations} requests, and {promise} needs {promise.requests}",
                next_step="give a longer window, or a quantile that is nearer to the median",
            )
        tries.append(_Try(rate, kept, found))
        return kept

    try:
        ends = search(is_kept, closed.health.achieved_per_s)
    except _SearchEnded as ended:
        return ended.found
    if ends is None:
        return closed
    return _result(launch, ends, tries, closed)


class _SearchEnded(Exception):
    """A try was ended from outside, and with it the search."""

    def __init__(self, found: Measured) -> None:
        super().__init__("ended")
        self.found = found


def keeps(promise: Promise, found: Measured) -> bool:
    """Whether one try kept the promise."""
    latency_ns, health = _quantile_ns(found.histogram, promise.quantile), found.health
    return promise.holds(latency_ns, health.asked_per_s, health.achieved_per_s, found.errors)


def _quantile_ns(encoded: str, quantile: float) -> float | None:
    """A quantile of a histogram; None of an empty one."""
    histogram = HdrHistogram.decode(encoded) if encoded else None
    if histogram is None or not histogram.get_total_count():
        return None
    return value_at(histogram, 100 * quantile)


def _result(launch: Launch, ends: RateFound, tries: list[_Try], closed: Measured) -> Measured:
    best = next(one for one in reversed(tries) if one.kept and one.rate == ends.low)
    counted = {
        f"{MAX_RATE}.kept": ends.low,
        f"{MAX_RATE}.broken": ends.high,
        f"{MAX_RATE}.error": ends.error,
        f"{MAX_RATE}.tries": float(ends.tries),
        f"{MAX_RATE}.closed_loop": closed.health.achieved_per_s,
    }
    return replace(
        best.found,
        metrics={**best.found.metrics, MAX_RATE: ends.rate},
        counters={**best.found.counters, **counted},
        health=_health(best.found.health, ends, tries),
    )


def _health(best: Health, ends: RateFound, tries: list[_Try]) -> Health:
    """Of the try that counts, with what the tries at the search's two ends met: they decide, and a
    client that was the limit where the promise broke may have broken it.

    Of each end the median of its tries, as one of them may meet anything; of the two the worse.
    That less was sent than asked voids nothing: it is what breaks a promise.
    """
    at_ends = [[t.found.health for t in tries if t.rate == rate] for rate in (ends.low, ends.high)]
    sides = [side for side in at_ends if side]

    def worst(value: Callable[[Health], float]) -> float:
        return max(statistics.median(value(health) for health in side) for side in sides)

    limited = max(
        (health for side in sides for health in side[:1]),
        key=lambda health: (health.busiest_thread or 0.0) * health.server_idle,
    )
    return best.model_copy(
        update={
            "busiest_thread": limited.busiest_thread,
            "server_idle": limited.server_idle,
            "late_sends": worst(lambda health: health.late_sends or 0.0),
            "foreign_cpu": worst(lambda health: health.foreign_cpu),
            "steal": worst(lambda health: health.steal),
            "clock_step_ms": max((t.found.health.clock_step_ms for t in tries), key=abs),
        }
    )
