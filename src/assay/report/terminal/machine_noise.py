"""A machine's noise as lines of text: its speed over time, and what a study on it will take."""

from __future__ import annotations

from collections.abc import Iterator

from assay.bench.machine_noise import MachineNoise, Time, Trace
from assay.core.units import format_duration, percent
from assay.report.words.line import Line

BARS = "▁▂▃▄▅▆▇█"


def noise_lines(found: MachineNoise) -> Iterator[Line]:
    """The whole record."""
    yield Line(f"speed of one thread over time, {found.seconds:g} s in all", "bold")
    width = max(len(_title(trace)) for trace in found.traces)
    for trace in found.traces:
        yield Line(f"  {_title(trace):{width}}  {_bars(trace)}  steal {percent(trace.steal)}")
    for trace in found.traces:
        if trace.speeds is not None:
            yield Line(f"  {_title(trace)}: {_two(trace)}", "yellow")
    if found.likeness is not None:
        yield Line(f"  the CPUs' speeds go together by {found.likeness:+.2f} (1 is all, 0 none)")
    yield Line("")
    yield Line("pair noise to expect from the machine alone", "bold")
    cells = [("window", "runs", "slices")]
    cells += [
        (format_duration(at.window_s), _share(at.runs), _share(at.slices)) for at in found.noise
    ]
    yield from _columns(cells)
    yield Line("")
    yield Line("to see an effect, two arms, with the best window of each way", "bold")
    yield from _columns(
        [
            ("effect", "runs", "slices"),
            *((percent(t.effect), _long(t.runs_s), _long(t.slices_s)) for t in found.times),
        ]
    )
    yield Line("")
    yield Line(advice(found), "bold")
    yield Line("a server's own luck comes on top of all of this", "dim")


def advice(found: MachineNoise) -> str:
    """One sentence: which way of measuring, and what it takes."""
    at: Time = found.times[-1]
    took = at.slices_s if found.design == "slices" else at.runs_s
    cost = "" if took is None else f": {percent(at.effect)} in about {format_duration(took)}"
    if found.design == "runs":
        return f'the speed of this machine is even enough for design = "runs"{cost}'
    return f'let arms take turns here (design = "slices", as "auto" does){cost}'


def _title(trace: Trace) -> str:
    return f"CPU {trace.cpu} {'together' if trace.together else 'alone'}"


def _bars(trace: Trace) -> str:
    """Marks from 0 to the fastest."""
    top = len(BARS) - 1
    return "".join(BARS[min(top, round(mark * top))] for mark in trace.marks)


def _two(trace: Trace) -> str:
    speeds = trace.speeds
    assert speeds is not None
    return (
        f"two speeds, 1 and {speeds.slow:.2f}: slow {percent(speeds.slow_share)} of the time, for "
        f"{format_duration(speeds.slow_dwell_s)} at a time"
    )


def _share(noise: float | None) -> str:
    return "unknown" if noise is None else percent(noise)


def _long(seconds: float | None) -> str:
    return "unknown" if seconds is None else format_duration(seconds)


def _columns(rows: list[tuple[str, str, str]]) -> Iterator[Line]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        yield Line(f"  {cells}", "dim" if number == 0 else "")
