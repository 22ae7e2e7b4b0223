"""Stalls of a study's arms, and their cause: what was counted in those seconds and in no others.

The cause is the series that is high in stalled intervals and low in the others, over all runs of an
arm that count: that whose values overlap least, at a level that takes in how many series there are
(`stats.run_groups`). Only series that can be a cause are asked (`core.timeline`), and only where
they rise: what falls in a stall is what the server could not do. It is a lead, for the study was
not made to decide it.

Not here: runs made of slices, in which others have the machine between two intervals.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.core.timeline import SERIES
from assay.plan import Plan
from assay.record import RunRecord
from assay.stats.constants import Constants
from assay.stats.run_groups import Groups, Separator, separator
from assay.stats.stalls import Stall, stalls

WHOLE = 0.5
"""Share of the usual length below which the window's last interval is left out."""


@dataclass(frozen=True)
class Timeline:
    """One run by whole intervals. `at_s`: the middle of each, from the window's beginning; `rates`
    in operations a second."""

    run: RunRecord
    at_s: tuple[float, ...]
    rates: tuple[float, ...]
    length_s: float
    stalls: tuple[Stall, ...]

    @property
    def stalled(self) -> set[int]:
        """The intervals that are a part of a stall."""
        return {place for s in self.stalls for place in range(s.first, s.last + 1)}


@dataclass(frozen=True)
class ArmStalls:
    """The stalls of one arm in one case.

    `runs` were looked at for `watched_s` in all, `stalled_runs` of them had one; `depth` is the
    least rate as a fraction of its run's median. `cause`: the series that tells stalled intervals
    from others, with its medians a second (a state: its values), or None; `series`: how many there
    were to ask.
    """

    case: str
    arm: str
    runs: int
    stalled_runs: int
    stalls: int
    watched_s: float
    stalled_s: float
    longest_s: float
    depth: float
    cause: Separator | None
    series: int


def timeline(run: RunRecord) -> Timeline | None:
    """A run by its intervals; None where it has too few, or they are slices."""
    if len(run.intervals) < 2 or any(i.slice is not None for i in run.intervals):
        return None
    length_ms = statistics.median(i.length_ms for i in run.intervals)
    whole = [i for i in run.intervals if i.length_ms >= WHOLE * length_ms]
    rates = tuple(1000 * i.operations / i.length_ms for i in whole)
    length_s = round(length_ms / 1000, 3)
    at_s = tuple((i.index + 0.5) * length_s for i in whole)
    return Timeline(run, at_s, rates, length_s, tuple(stalls(rates)))


def timelines(runs: Sequence[RunRecord]) -> list[Timeline]:
    """Of every run that has one."""
    return [line for run in runs if (line := timeline(run)) is not None]


def stalls_of(plan: Plan, counted: Sequence[RunRecord]) -> list[ArmStalls]:
    """The stalls of every arm that has any, case by case; `counted` are the runs that count."""
    return list(_stalls_of(plan, counted))


def _stalls_of(plan: Plan, counted: Sequence[RunRecord]) -> Iterator[ArmStalls]:
    for case in plan.cases:
        for arm in plan.arms:
            mine = [r for r in counted if (r.case, r.arm) == (case.name, arm.name)]
            lines = timelines(mine)
            if any(line.stalls for line in lines):
                yield _of_arm(case.name, arm.name, lines, plan.constants)


def _of_arm(case: str, arm: str, lines: Sequence[Timeline], constants: Constants) -> ArmStalls:
    every = [(line, stall) for line in lines for stall in line.stalls]
    lengths = [line.length_s * (stall.last - stall.first + 1) for line, stall in every]
    counters = _counters(lines)
    return ArmStalls(
        case=case,
        arm=arm,
        runs=len(lines),
        stalled_runs=sum(bool(line.stalls) for line in lines),
        stalls=len(every),
        watched_s=sum(line.length_s * len(line.rates) for line in lines),
        stalled_s=sum(lengths),
        longest_s=max(lengths),
        depth=min(stall.depth for _, stall in every),
        cause=_cause(lines, counters, constants),
        series=len(counters),
    )


def _counters(lines: Sequence[Timeline]) -> dict[str, dict[int, float]]:
    """Series that can be a cause -> interval, counted through all runs -> value a second."""
    found: dict[str, dict[int, float]] = {name: {} for name in SERIES if SERIES[name].cause}
    begin = 0
    for line in lines:
        count, series = len(line.rates), line.run.series
        for name, values in found.items():
            # What was never anything but zero is not written down.
            own = series.get(name, [0.0] * count if series else [])
            scale = 1.0 if SERIES[name].is_state else line.length_s
            values.update(
                (begin + n, v / scale) for n, v in enumerate(own[:count]) if v is not None
            )
        begin += count
    return {name: values for name, values in found.items() if any(values.values())}


def _cause(
    lines: Sequence[Timeline], counters: Mapping[str, Mapping[int, float]], constants: Constants
) -> Separator | None:
    slow: dict[int, bool] = {}
    begin = 0
    for line in lines:
        if line.run.series:
            slow |= {begin + n: n in line.stalled for n in range(len(line.rates))}
        begin += len(line.rates)
    # A value that was not read speaks for neither side.
    usual = {name: statistics.median(values.values()) for name, values in counters.items()}
    whole = {
        name: {place: values.get(place, usual[name]) for place in slow}
        for name, values in counters.items()
        if _rises(slow, values)
    }
    return separator(Groups(slow, 0.0), whole, constants)


def _rises(slow: Mapping[int, bool], values: Mapping[int, float]) -> bool:
    """Whether a series is higher in stalled intervals than in others."""
    sides = [[v for place, v in values.items() if slow[place] is side] for side in (True, False)]
    return all(sides) and statistics.fmean(sides[0]) > statistics.fmean(sides[1])
