"""The highest rate that keeps a promise about latency, of a server that somebody started.

First the capacity: a closed loop, which asks as fast as it is answered. Then open loops below it,
as `assay.stats.rate_search` has them. A rate is kept when the promise held, 99 % of it was
achieved, and nothing failed; a run in which the client was the limit decides nothing and ends the
search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from assay.core.errors import VoidError
from assay.load.run import Load, run_load
from assay.load.summary import Summary
from assay.stats.rate_search import search
from assay.workloads.promise import Promise, parse_promise

__all__ = ["LoadLimit", "Promise", "find_limit", "parse_promise"]

RESOLUTION = 0.02
"""How far apart the ends of the search are where nothing is unsure."""


@dataclass(frozen=True)
class LoadLimit:
    """The highest rate that kept the promise, and every run of the search.

    `rate` was kept three times and `broken` broken as often, in requests a second; both 0 when no
    rate that was tried kept it. `error`: how far the limit may be from their middle, as a fraction.
    """

    promise: Promise
    rate: float
    runs: list[Summary]
    broken: float = 0.0
    error: float = 0.0


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
        is_kept = promise.holds(
            summary.latency_ns.get(f"{promise.quantile:g}"),
            summary.asked_per_s,
            summary.achieved_per_s,
            summary.errors,
        )
        told(summary, is_kept)
        return is_kept

    tried(None)
    found = search(tried, runs[0].achieved_per_s, RESOLUTION)
    if found is None:
        return LoadLimit(promise, 0.0, runs)
    return LoadLimit(promise, found.low, runs, found.high, found.error)
