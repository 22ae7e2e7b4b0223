"""Counting beside one window: a sampler of its own process, told when the window begins and ends.

A mark is a reading at once. The first is made when the load says that its window begins, the last
when it tells of the window's last interval; both come some milliseconds late, as messages do, so
`span_s` is measured by the sampler's own clock, and figures per operation are quotients of rates.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay import native
from assay.core.errors import AssayError, MissingError, RunError
from assay.core.timeline import SERIES, of_machine, series_of
from assay.counters.groups import CounterRequest
from assay.counters.perf_stat import WHOLE, Count, multiplexed

HZ = 1
"""Readings a second beside a run: they only keep counters from wrapping around unseen."""

PATIENCE_S = 10.0
"""How long opening counters may take; a machine on which it takes longer is stuck in it."""

ENABLED, RUNNING = ":enabled_ns", ":running_ns"


@dataclass(frozen=True)
class WindowCounts:
    """What was counted between the first mark and the last.

    `totals`: by name, growth over the span, or the last state of a level; `events`: by name
    without `perf.`, counts that are none where they took turns; `span_s` None where there was no
    span; `late_s`: how late the later of the two readings was made; `cpu_s`: what counting cost,
    from start to end; `levels`: the states among `totals`; `series`: of what a
    timeline keeps, its growth from mark to mark.
    """

    totals: Mapping[str, float]
    events: Mapping[str, Count]
    span_s: float | None
    cpu_s: float
    absent: Mapping[str, str] = field(default_factory=dict)
    levels: frozenset[str] = frozenset()
    late_s: float = 0.0
    series: Mapping[str, list[float | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Series:
    """Every reading of a sampler: counters by name, and for each reading when it was made, in
    seconds since the sampler's start, with the growth of each counter since then; None where it
    was not read."""

    counters: tuple[str, ...]
    readings: tuple[tuple[float, tuple[int | None, ...]], ...]


class Reader(threading.Thread):
    """Takes in what a sampler says, as it says it, so that it never waits for us."""

    def __init__(self, session: native.Session) -> None:
        super().__init__(daemon=True)
        self.heard: list[native.Message] = []
        self.error: Exception | None = None
        self._session, self._news = session, threading.Event()
        self.start()

    def run(self) -> None:
        try:
            for message in self._session.messages():
                self.heard.append(message)
                self._news.set()
        except (AssayError, ValueError) as error:
            # A ValueError is what reading from a closed pipe gives.
            self.error = error
        self._news.set()

    def manifest(self) -> Mapping[str, Any]:
        """What is counted. RunError if it ends without telling, or takes too long."""
        if not self._news.wait(PATIENCE_S):
            self._session.process.kill()
            raise RunError(f"opening them took longer than {PATIENCE_S:.0f} s")
        if not self.heard:
            raise RunError(getattr(self.error, "message", "it gave no reason"))
        ready = self.heard[0]
        assert isinstance(ready, native.Ready)
        return ready.manifest


def probe(asked: CounterRequest, pid: int | None) -> Mapping[str, str]:
    """What cannot be counted here of what is asked, and why, by opening all of it once.

    It is opened in a child process, which is left alone if it does not come back: opening
    counters has hung in some guests, and a process that hangs in the kernel cannot be ended.
    """
    if not asked.groups and not asked.sets:
        return asked.refused
    session = native.Session("sample", asked.request(pid, check_only=True))
    try:
        manifest = Reader(session).manifest()
    except RunError as error:
        raise MissingError(
            f"the counters could not be opened: {error.message}",
            next_step="leave groups out of `counters` in [measure] until you know which it is",
        ) from error
    session.stop()
    return {**asked.refused, **manifest["absent"]}


class Counting:
    """One sampler beside one run, begun before the server is asked anything: some servers start
    their load as soon as they are ready, and wait for nobody."""

    def __init__(self, asked: CounterRequest, pid: int | None) -> None:
        request = asked.request(pid, hz=HZ)
        self._session = native.Session("sample", request, keep_open=True)
        self._reader = Reader(self._session)
        self._asked_s: list[float] = []
        self.series = Series((), ())
        """Once it has finished."""

    def mark(self) -> None:
        """Read everything now. A sampler that has ended says so at `finish`."""
        self._asked_s.append(time.monotonic())
        self._session.say("mark")

    def finish(self) -> WindowCounts:
        """End it; what was counted between the first mark and the last. RunError if it could not
        begin, or ended by itself."""
        self._session.say(None)
        self._reader.join(PATIENCE_S)
        self._session.stop()
        if self._reader.error is not None:
            raise failed("counting", self._reader.error)
        manifest = self._reader.manifest()
        *samples, result = self._reader.heard[1:]
        assert isinstance(result, native.Sampled)
        readings = [s for s in samples if isinstance(s, native.Sample)]
        self.series = Series(
            tuple(manifest["counters"]), tuple((s.at_s, tuple(s.values)) for s in readings)
        )
        return counted(manifest, readings, result.cpu_s, self._asked_s)

    def stop(self) -> None:
        """End it, whatever state it is in. Safe to call twice."""
        self._session.stop()


def failed(what: str, error: Exception) -> RunError:
    """The error of a run whose sampler ended by itself."""
    return RunError(f"{what} during the run failed: {getattr(error, 'message', error)}")


def counted(
    manifest: Mapping[str, Any],
    samples: Sequence[native.Sample],
    cpu_s: float,
    asked_s: Sequence[float],
) -> WindowCounts:
    """What samples say of the span between their first mark and their last.

    `asked_s`: when each mark was asked for, by the clock that `started_s` is of.
    """
    marks = [s for s in samples if s.mark is not None]
    absent = dict(manifest["absent"])
    if len(marks) < 2:
        return WindowCounts({}, {}, None, cpu_s, absent)
    first, last = marks[0], marks[-1]
    late_s = max(manifest["started_s"] + m.at_s - asked_s[m.mark or 0] for m in (first, last))
    totals, levels = {}, set(manifest["levels"])
    for name, then, now in zip(manifest["counters"], first.values, last.values, strict=True):
        if now is None or then is None:
            continue
        totals[name] = float(now if name in levels else now - then)
    events = dict(_events(totals))
    plain = {n: v for n, v in totals.items() if not n.startswith("perf.")}
    span_s = last.at_s - first.at_s
    series = series_of([_moment(manifest["counters"], mark) for mark in marks])
    return WindowCounts(plain, events, span_s, cpu_s, absent, frozenset(levels), late_s, series)


def _moment(counters: Sequence[str], mark: native.Sample) -> dict[str, float]:
    """What a timeline keeps of one mark, added up over CPUs; without what was not read."""
    found: dict[str, float] = {}
    for counter, value in zip(counters, mark.values, strict=True):
        name = of_machine(counter)
        if name in SERIES and value is not None:
            found[name] = found.get(name, 0.0) + value
    return found


def _events(totals: Mapping[str, float]) -> Iterator[tuple[str, Count]]:
    """Each event's count, and no number where it was not counted throughout."""
    for name, value in totals.items():
        if not name.startswith("perf.") or name.endswith((ENABLED, RUNNING)):
            continue
        event = name.removeprefix("perf.")
        enabled, running = totals[name + ENABLED], totals[name + RUNNING]
        if not enabled:
            yield event, Count(event, None, why="not counted: none of its threads ran")
            continue
        share = running / enabled
        if share < WHOLE:
            yield event, Count(event, None, running=share, why=multiplexed(share))
        else:
            yield event, Count(event, value, running=share)
