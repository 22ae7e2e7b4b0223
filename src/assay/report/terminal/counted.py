"""A recording of `perf stat` as lines: events, figures, the bound on what pages can gain."""

from __future__ import annotations

from collections.abc import Iterator

from assay.core.units import format_percent
from assay.counters import DerivedFigure, Recording
from assay.report.words.line import Line

NO_TABLE = "no table of this processor: figures of page walks need one (--model)"


def recording_lines(found: Recording) -> Iterator[Line]:
    """Events with the share of the time in which they were counted; then figures."""
    yield Line(f"table   {found.model or NO_TABLE}", "" if found.model else "yellow")
    for event in found.events:
        told = event.event if event.name in (None, event.event) else f"{event.event} ({event.name})"
        if event.value is None:
            yield Line(f"{told:52} none: {event.why}", "yellow")
        else:
            yield Line(f"{told:52} {_number(event.value)} {event.unit}".rstrip())
    yield Line("")
    for figure in found.figures:
        yield from _figure(figure)


def _number(value: float) -> str:
    """A count in full, however large; anything else with its decimals."""
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.15g}"


def _figure(figure: DerivedFigure) -> Iterator[Line]:
    if figure.value is None:
        yield Line(f"{figure.name:52} none: {figure.why}", "yellow")
        return
    yield Line(f"{figure.name:52} {figure.value:.4g}")
    most = format_percent(figure.value)
    if figure.name == "headroom":
        yield Line(f"no change of pages can gain more than {most}: walks overlap with other work")
    if figure.name == "headroom_of_counted_walks":
        yield Line(f"without the walks that were counted, the gain is at most {most};")
        yield Line("walks whose cycles were not asked for come on top")
