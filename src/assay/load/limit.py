"""The highest rate that keeps a promise about latency.

First the capacity: a closed loop, which asks as fast as it is answered. Then open
loops between nothing and that, each time the middle, as long as the step is worth
it. A rate is kept when the promise held, 99 % of it was achieved, and nothing
failed; a run in which the client was the limit decides nothing and ends the search.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from assay.core.errors import InputError, VoidError
from assay.core.units import format_quantity, parse_duration
from assay.load.run import Load, run_load
from assay.load.summary import QUANTILES, Summary
from assay.stats.latency import SATURATED

STEP = 0.02
"""The search ends when the next step would change the rate by less than this share."""

_PROMISE = re.compile(r"p([0-9]+(?:\.[0-9]+)?)\s*<\s*(\S+)")


@dataclass(frozen=True)
class Promise:
    """A quantile of the latency is below a limit."""

    quantile: float
    limit_s: float

    def __str__(self) -> str:
        return f"p{100 * self.quantile:g} < {format_quantity(self.limit_s * 1e9, 'ns')}"

    def is_kept(self, summary: Summary) -> bool:
        """Whether a run kept it, sent what it was asked to, and nothing failed."""
        found = summary.latency_ns.get(f"{self.quantile:g}")
        asked = summary.asked_per_s
        is_sent = asked is None or summary.achieved_per_s >= SATURATED * asked
        is_fast = found is not None and found < self.limit_s * 1e9
        return is_fast and is_sent and not summary.errors


@dataclass(frozen=True)
class LoadLimit:
    """The highest rate that kept the promise, and every run of the search."""

    promise: Promise
    rate: float
    """Requests a second; 0 when no rate that was tried kept it."""
    runs: list[Summary]


def parse_promise(text: str) -> Promise:
    """The promise that a text such as "p99<5ms" makes."""
    match = _PROMISE.fullmatch(text.strip())
    if match is not None:
        quantile = round(float(match[1]) / 100, 10)
        if quantile in QUANTILES:
            try:
                return Promise(quantile, parse_duration(match[2]))
            except ValueError as error:
                raise InputError(str(error)) from error
    known = ", ".join(f"p{100 * q:g}" for q in QUANTILES)
    raise InputError(
        f"{text!r} is not a promise about latency",
        next_step=f'write for example "p99<5ms"; there is {known}',
    )


def find_limit(
    load: Load,
    promise: Promise,
    told: Callable[[Summary, bool], None] = lambda summary, is_kept: None,
    run: Callable[[Load], Summary] = run_load,
) -> LoadLimit:
    """Search; `told` sees every run. VoidError when a run was void."""
    runs: list[Summary] = []

    def tried(rate: float | None) -> bool:
        summary = run(replace(load, rate=rate))
        # At capacity a client may be busy and still not be what ended it; later runs show that.
        if summary.void and rate is not None:
            raise VoidError(
                f"at {rate:.0f} requests/s the run was void: {summary.void}",
                next_step="give the client more --threads or --connections, or another machine",
            )
        runs.append(summary)
        is_kept = promise.is_kept(summary)
        told(summary, is_kept)
        return is_kept

    tried(None)
    low, high = 0.0, runs[0].achieved_per_s
    while high - low > STEP * max(high, 1.0):
        middle = (low + high) / 2
        if tried(middle):
            low = middle
        else:
            high = middle
    return LoadLimit(promise, low, runs)
