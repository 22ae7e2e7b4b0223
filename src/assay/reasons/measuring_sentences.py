"""Why the arms of a study take turns or run one after the other, as sentences."""

from __future__ import annotations

from collections.abc import Callable

from assay.core.units import format_duration, percent
from assay.reasons.code import Code


def _less_noise(noise: float, other: float, effect: float, seconds: float, other_s: float) -> str:
    """How one way to measure compares with the other."""
    return (
        f"pair noise {percent(noise)} against {percent(other)}; {percent(effect)} in "
        f"{format_duration(seconds)} instead of {format_duration(other_s)}"
    )


def _memory(needed_gib: float, free_gib: float) -> str:
    needed = f"{needed_gib:.1f} GiB"
    return f"the servers of a block need {needed} together, and {free_gib:.1f} GiB are free"


MEASURING: dict[Code, Callable[..., str]] = {
    Code.MACHINE_CHANGES: lambda factor: (
        f"{factor} changes the machine, which arms that take turns share"
    ),
    Code.ATTACHED: lambda: (
        "a server that runs already is one, and arms that take turns have one each"
    ),
    Code.NETWORK_SHARED: lambda: "arms that take turns would share the two hosts of [network]",
    Code.MACHINE_COUNTED: lambda groups: (
        f"counters of the whole machine ({groups}) would count all arms that take turns"
    ),
    Code.OF_WHOLE_RUN: lambda metric: f"no slice of a run shows {metric}",
    Code.WHOLE_RUNS: lambda factor: (
        f"the witness of {factor} counts operations that slices leave out"
    ),
    Code.SHORT_WINDOW: lambda window_s, slices: (
        f"a window of {format_duration(window_s)} has fewer than {slices} slices"
    ),
    Code.WRITES: lambda workload, target: (
        f"{workload} on {target} writes through the page cache, and the kernel would write that "
        "out in another's turn"
    ),
    Code.TOGETHER_UNSUPPORTED: lambda target: f"servers of {target} do not take turns",
    Code.MANY_ARMS: lambda arms, most: f"{arms} arms are more than the {most} that live together",
    Code.MEMORY: _memory,
    Code.UNPILOTED: lambda: "the budget is too small to compare it with runs one after the other",
    Code.LESS_NOISE: _less_noise,
    Code.SLICES_FAILED: lambda why: f"the arms could not take turns in a pilot: {why}",
    Code.WORKED_IDLE: lambda arm, cpus: (
        f"the server of arm {arm} took {cpus:.2f} CPUs while others had the turn"
    ),
    Code.RUNS_DISTURBED: lambda why: f"runs one after the other were disturbed in a pilot: {why}",
}
"""Code -> its sentence, without capital and full stop."""
