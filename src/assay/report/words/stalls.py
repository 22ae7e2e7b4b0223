"""Stalls in words: how many there were, how deep, and what they were."""

from __future__ import annotations

from assay.core.timeline import SERIES
from assay.core.units import format_duration, format_quantity, percent
from assay.explain import ArmStalls


def stall_text(found: ArmStalls) -> str:
    """How many, in how many runs, for how long, and how deep."""
    times = f"{found.stalls} stall{'s' * (found.stalls != 1)} in {found.stalled_runs} of "
    return (
        f"{times}{found.runs} runs, {format_duration(found.stalled_s)} of "
        f"{format_duration(found.watched_s)}, the longest {format_duration(found.longest_s)}, "
        f"down to {percent(found.depth)} of the run's median rate"
    )


def stall_cause(found: ArmStalls) -> str:
    """What was counted in those seconds and in no others."""
    if found.cause is not None:
        series = SERIES[found.cause.name]
        slow, fast = (series_value(series.name, v) for v in (found.cause.slow, found.cause.fast))
        return f"{series.cause}: {series.text} {slow} in stalled seconds, {fast} in others (a lead)"
    if not found.series:
        return "nothing was counted second by second: `timeline = true` in [measure] does"
    return f"none of {found.series} series is high in those seconds and low in the others"


def series_value(name: str, value: float) -> str:
    """A series' growth a second, or its state, with its unit."""
    return format_quantity(value, SERIES[name].unit)
