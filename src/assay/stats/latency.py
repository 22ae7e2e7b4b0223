"""When a latency may not be compared: too few operations behind it, or a saturated server.

The tail of one run is estimated from the operations beyond the quantile; below about a hundred
of them it is the story of single operations. So a run needs 100/(1-q) latencies. A mean or a
maximum has no such number, and no such rule: the maximum is a story whatever the count.

At a fixed rate a server that cannot keep up has queues that grow for as long as the window
lasts: its latency measures the window. Then the word is "saturated", not a ratio.

Sources: the project's method note, 3.15; 100 beyond the quantile leaves the count's own error at
10 %; open loop and saturation: Schroeder, Wierman & Harchol-Balter, NSDI 2006, and wrk2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay.reasons import Code, Reason
from assay.stats.constants import STANDARD, Constants

SATURATED = STANDARD.saturated
"""Share of the offered rate below which a server did not keep up."""

_ONE_IN = {"latency_p50": 2, "latency_p90": 10, "latency_p99": 100, "latency_p999": 1000}
_BATCHES = re.compile(r"batches of (\d+)")


def requests_needed(metric_name: str, constants: Constants = STANDARD) -> int | None:
    """Latencies that one run needs for this metric; None where there is no such rule."""
    one_in = _ONE_IN.get(metric_name)
    return None if one_in is None else constants.latencies_beyond * one_in


def latency_count(operations: int, latency_of: str) -> int:
    """How many latencies `operations` gave: one each, or one per batch ("batches of 64").

    ValueError for a `latency_of` that is neither, because guessing would pass too short runs.
    """
    if latency_of == "operations":
        return operations
    found = _BATCHES.fullmatch(latency_of)
    if found is None or int(found[1]) == 0:
        raise ValueError(f"latencies are of operations or of batches, not of {latency_of!r}")
    return operations // int(found[1])


def too_few(
    arm: str,
    metric_name: str,
    latencies: int,
    latency_of: str = "operations",
    constants: Constants = STANDARD,
) -> Reason | None:
    """Why a run of `arm` with so many latencies cannot give this metric, and what to do."""
    needed = requests_needed(metric_name, constants)
    if needed is None or latencies >= needed:
        return None
    quantile = metric_name.removeprefix("latency_")
    return Reason.of(
        Code.TOO_FEW_LATENCIES,
        arm=arm,
        latencies=latencies,
        of=latency_of,
        quantile=quantile,
        needed=needed,
    )


@dataclass(frozen=True)
class Saturation:
    """Operations per second that were offered and that were answered."""

    asked: float
    achieved: float


def saturated(asked: float, achieved: float, constants: Constants = STANDARD) -> Saturation | None:
    """What a run at a fixed rate did not keep up with; its latency then grows with its window.

    `asked` and `achieved`: operations per second. None where it kept up.
    """
    return Saturation(asked, achieved) if achieved < constants.saturated * asked else None
