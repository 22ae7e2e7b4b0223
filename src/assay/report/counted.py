"""A recording of `perf stat` as lines: events, figures, the bound on what pages can gain."""

from __future__ import annotations

from collections.abc import Iterator

from assay.core.units import format_percent
from assay.counters import Figure, Recording
from assay.report.line import Line

NO_TABLE = "no table of this processor: figures of page walks need one (--model)"


def recording_lines(found: Recording) -> Iterator[Line]:
    """Events with the share of the time in which they were counted; then figures."""
    yield Line(f"table   {found.model or NO_TABLE}", "" if found.model else "yellow")
    for event in found.events:
        told = event.event if event.name in (None, event.event) else f"{event.event} ({event.name})"
        if event.value is None:
            yield Line(f"{told:52} none: {event.why}", "yellow")
        else:
            yield Line(f"{told:52} {event.value:,.15g} {event.unit}".rstrip())
    yield Line("")
    for figure in found.figures:
        yield from _figure(figure)


def _figure(figure: Figure) -> Iterator[Line]:
    if figure.value is None:
        yield Line(f"{figure.name:52} none: {figure.why}", "yellow")
        return
    yield Line(f"{figure.name:52} {figure.value:.4g}")
    if figure.name == "headroom":
        most = format_percent(figure.value)
        yield Line(f"no change of pages can gain more than {most}: walks overlap with other work")
