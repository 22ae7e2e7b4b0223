"""A pilot as text: one sentence for progress, and the table that `assay pilot` prints."""

from __future__ import annotations

import math

from assay.core.units import format_duration, format_percent
from assay.plan import PilotedCase, PlannedPilot
from assay.report import Line

AFTER = "stationary after"


def pilot_sentence(found: PlannedPilot) -> str:
    """What a pilot found, and what it could not see."""
    chosen = {"warmup": f"warm-up {format_duration(found.warmup_s)}"}
    chosen["window"] = f"window {format_duration(found.window_s)}"
    said = ", ".join(chosen[name] for name in ("warmup", "window") if name in found.chosen)
    steady = f"stationary after {format_duration(found.last_cut_s)} at the latest"
    sentence = f"pilot of {found.runs} runs: {steady}; {said}"
    return f"{sentence}; {found.warning.text}" if found.warning else sentence


def pilot_lines(found: PlannedPilot) -> list[Line]:
    """Per case and arm what was seen, and at the end the lines to paste into the study file."""
    lines = [
        Line(
            f"{found.runs} runs without warm-up, the last ones of "
            f"{format_duration(found.length_s)} in intervals of "
            f"{format_duration(found.interval_s)}; none of them counts",
            "dim",
        )
    ]
    for case in found.cases:
        lines += [Line(""), *_case(case, found)]
    if found.warning:
        lines += [Line(""), Line(f"warning: {found.warning.text}", "yellow")]
    times = {"warmup": found.warmup_s, "window": found.window_s}
    lines.append(Line(""))
    return lines + [Line(f'{name} = "{_written(seconds)}"') for name, seconds in times.items()]


def _case(case: PilotedCase, found: PlannedPilot) -> list[Line]:
    count = max(1.0, found.window_s / found.interval_s)
    inside = f"inside {format_duration(found.window_s)}"
    width = max(len(a.arm) for a in case.arms)
    settled = [", ".join(format_duration(c) for c in a.cuts_s) for a in case.arms]
    wide = max(map(len, (AFTER, *settled)))
    lines = [
        Line(case.case, "bold"),
        Line(f"{'arm':{width}}   {AFTER:{wide}}   noise {inside:14} between runs", "dim"),
    ]
    for arm, cuts in zip(case.arms, settled, strict=True):
        noise = _deviation(arm.inside_variance / count)
        between = _deviation(arm.between_variance)
        lines.append(Line(f"{arm.arm:{width}}   {cuts:{wide}}   {noise:20} {between}"))
    cheapest = format_duration(case.intervals * found.interval_s)
    return [
        *lines,
        Line(
            f"in pairs inside a block: {_deviation(case.inside_variance / count)} inside, "
            f"{_deviation(case.between_variance)} between runs; besides the window a run takes "
            f"{format_duration(case.overhead_s + found.warmup_s)}: cheapest window {cheapest}"
        ),
    ]


def _deviation(variance: float) -> str:
    return format_percent(math.sqrt(variance), signed=False)


def _written(seconds: float) -> str:
    """A duration as a study file has it."""
    return f"{round(1000 * seconds)}ms"
