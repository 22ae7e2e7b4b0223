"""What a ratio of throughputs is worth, as lines for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from assay.core.units import format_percent
from assay.price import Bounds, Worth
from assay.report.words.line import Line


def worth_lines(title: str, found: Worth) -> Iterator[Line]:
    """The figures with their intervals, then the warnings about them."""
    yield Line(f"{found.machine} against {found.against}: {title}", "bold")
    yield Line(_line("throughput", found.ratio, _times))
    yield Line(_line("work per money", found.gain, format_percent))
    yield Line(_line("saving at equal work", found.saving, format_percent))
    money = f"{found.currency} per {found.period}"
    even = _line("break-even price", found.break_even, lambda v: f"{v:,.2f}")
    yield Line(f"{even}  {money}, now {found.price:,.2f}")
    if found.per_core:
        yield Line(_line("work per core", found.per_core, format_percent))
    if found.per_ghz:
        yield Line(_line("work per core and GHz", found.per_ghz, format_percent))
    for text in found.warnings:
        yield Line(f"  warning: {text}", "yellow")


def _line(name: str, bounds: Bounds, write: Callable[[float], str]) -> str:
    text = f"  {name:22} {write(bounds.value):>10}"
    if bounds.low is None and bounds.high is None:
        return text
    ends = ["unbounded" if end is None else write(end) for end in (bounds.low, bounds.high)]
    return f"{text}  [{ends[0]}, {ends[1]}]"


def _times(value: float) -> str:
    return f"x {value:.3f}"
