"""Counters read beside a run's window, and what they add to what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from assay.core.metrics import COUNTED, GROUPS_OF, INSTRUCTIONS
from assay.counters import CounterRequest, Counting, Model, WindowCounts, figures
from assay.targets import Measured, OnInterval, Server

PACKAGE = "energy.package-"
LATE = 0.1
"""The share of a window by which a reading at one of its ends may be late, and by which the time
between the two may differ from it."""


class Uncounted:
    """Beside a run of which nothing is counted."""

    def telling(self, on_interval: OnInterval) -> OnInterval:
        """The same, with a mark at the end of each interval."""
        return on_interval

    def begin(self) -> None:
        """The window begins."""

    def added_to(self, measured: Measured) -> Measured:
        """What was measured, with what was counted."""
        return measured


class Beside(Uncounted):
    """Marks a window for a sampler as the load tells of it."""

    def __init__(self, counting: Counting, model: Model | None, wanted: Sequence[str]) -> None:
        self._counting, self._model, self._wanted = counting, model, wanted

    def telling(self, on_interval: OnInterval) -> OnInterval:
        def told(done: int, spent_s: float) -> None:
            self._counting.mark()
            on_interval(done, spent_s)

        return told

    def begin(self) -> None:
        self._counting.mark()

    def added_to(self, measured: Measured) -> Measured:
        return with_counters(measured, self._counting.finish(), self._model, self._wanted)


@contextmanager
def beside(
    asked: CounterRequest | None, server: Server, wanted: Sequence[str]
) -> Iterator[Uncounted]:
    """A sampler beside a server that is ready; it ends with the block, whatever happens. `wanted`
    are the study's metrics: of counters per operation only these are made."""
    request = asked.request(server.pid) if asked else {}
    if asked is None or not (request["groups"] or request["pmu"]):
        yield Uncounted()
        return
    counting = Counting(asked, server.pid)
    try:
        yield Beside(counting, asked.model, wanted)
    finally:
        counting.stop()


def with_counters(
    measured: Measured, counted: WindowCounts, model: Model | None, wanted: Sequence[str]
) -> Measured:
    """`measured` with counters by their names, and with the metrics that follow from them.

    An event that was not counted throughout is left out; `perf.NAME.running` says so, where it
    was counted for a part. Where the sampler had to wait so long for a CPU that it counted
    another time than the window, nothing is added but what `sampler` says of that.
    """
    if counted.span_s is None or counted.span_s <= 0:
        return measured
    told = {
        "sampler.span_s": counted.span_s,
        "sampler.late_s": counted.late_s,
        "sampler.cpu_s": counted.cpu_s,
    }
    missed = max(counted.late_s, abs(counted.span_s - measured.window_s))
    if missed > LATE * measured.window_s:
        return replace(measured, counters={**measured.counters, **told})
    counters = dict(counted.totals)
    for name, count in counted.events.items():
        if count.value is not None:
            counters[f"perf.{name}"] = count.value
        if count.running is not None:
            counters[f"perf.{name}.running"] = count.running
    metrics = _metrics(measured, counters, counted, model, wanted)
    return replace(
        measured,
        series={**measured.series, **_by_interval(measured, counted.series)},
        counters={**measured.counters, **counters, **told},
        metrics={**measured.metrics, **metrics},
    )


def _by_interval(
    measured: Measured, series: Mapping[str, list[float | None]]
) -> dict[str, list[float | None]]:
    """The series that have a value for each interval; none where marks and intervals differ, or
    intervals are slices: between those others had the machine."""
    if any(interval.slice is not None for interval in measured.intervals):
        return {}
    count = len(measured.intervals)
    return {name: values for name, values in series.items() if len(values) == count}


def _metrics(
    measured: Measured,
    counters: Mapping[str, float],
    counted: WindowCounts,
    model: Model | None,
    wanted: Sequence[str],
) -> dict[str, float]:
    known = figures({plain_name(n): c for n, c in counted.events.items()}, model)
    found = {n: f.value for n, f in known.items() if n in GROUPS_OF and f.value is not None}
    if not measured.operations:
        return found
    assert counted.span_s is not None
    # Of rates, because a sampler hears of the window's ends a little late.
    operations = measured.operations / measured.window_s * counted.span_s
    for name in dict.fromkeys((*wanted, INSTRUCTIONS)):
        base, _, counter = name.partition(".")
        if base == COUNTED and counter in counters and counter not in counted.levels:
            found[name] = counters[counter] / operations
    packages = [v for n, v in counters.items() if n.startswith(PACKAGE) and "." not in _rest(n)]
    joules = sum(packages) / 1e6
    if not joules:
        return found
    return found | {
        "operations_per_joule": operations / joules,
        "joules_per_operation": joules / operations,
    }


def _rest(name: str) -> str:
    """What follows `energy.package-`: parts of a package have a further dot."""
    return name.removeprefix(PACKAGE)


def plain_name(event: str) -> str:
    """An event's name in the tables: an ordinary user's counts are of user space (`cycles:u`)."""
    return event.removesuffix(":u")
