"""Runs over their window, second by second: what was done, and what was counted meanwhile.

The runs of an arm are laid over one another from the window's beginning. Throughput is drawn for
every run, because stalls come at other times in each and a median hides them; everything else as
the median over an arm's runs. Nothing here is a verdict: a second is no observation.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.core.histograms import merge, value_at
from assay.core.metrics import metric
from assay.core.timeline import CPU_KINDS, SERIES
from assay.core.units import format_quantity, percent
from assay.explain import ArmStalls, Timeline, stalls_of, timelines
from assay.plan import Plan
from assay.record import RunRecord
from assay.report.html.samples import axis_scale
from assay.report.words.sections import heading
from assay.report.words.stalls import series_value, stall_cause, stall_text

LEAST_INTERVALS = 4
"""Fewer are no line."""

RUNS_DRAWN = 24
"""Of an arm, those with stalls first."""

RUNS_OF_LATENCY = 12
"""Of an arm, whose histograms are read interval by interval."""

PANELS = 12
"""Series that are drawn; the others are in `runs.jsonl`."""

LATENCY = "latency_p99"

Points = list[tuple[float, float]]
"""Seconds from the window's beginning, and values."""


@dataclass(frozen=True)
class StallMark:
    """The lowest interval of a stall, in the unit of the axis."""

    at: float
    value: float
    title: str


@dataclass(frozen=True)
class TimelineArm:
    """One arm's throughput in the unit of the axis: `lines` are runs, `median` is over all runs."""

    arm: str
    heading: str
    lines: list[Points]
    median: Points
    stalls: list[StallMark]


@dataclass(frozen=True)
class StallRow:
    """What is said of one arm's stalls."""

    arm: str
    text: str
    cause: str


@dataclass(frozen=True)
class TimelineGroup:
    """The arms of one case."""

    case: str
    heading: str
    """Empty where there is one case."""
    arms: list[TimelineArm]
    stalls: list[StallRow]


@dataclass(frozen=True)
class TimelineSection:
    """Throughput by arm over the window, and the stalls in it."""

    groups: list[TimelineGroup]
    axis: str
    left_out: int
    """Runs that are not drawn; they are in the medians, and their stalls are counted."""
    counted: bool
    """Whether anything else was recorded by interval."""


@dataclass(frozen=True)
class PanelLine:
    """One arm's median in a panel, as shares of the panel's largest value."""

    arm: str
    index: int
    """The arm's place in the plan, by which it has its colour."""
    points: Points


@dataclass(frozen=True)
class Panel:
    """One series of all arms; `top` is its largest value, as text."""

    name: str
    title: str
    top: str
    lines: list[PanelLine]


@dataclass(frozen=True)
class MeanwhileGroup:
    """The panels of one case."""

    case: str
    heading: str
    panels: list[Panel]
    arms: list[PanelLine]
    """Every arm that has a line, without its points: the legend."""


@dataclass(frozen=True)
class MeanwhileSection:
    """What was counted meanwhile."""

    groups: list[MeanwhileGroup]


Lines = Mapping[tuple[str, str], Sequence[Timeline]]
"""The timelines of each case and arm."""


def timeline_views(
    plan: Plan, counted: Sequence[RunRecord]
) -> tuple[TimelineSection | None, MeanwhileSection | None]:
    """Both sections; None where runs have no intervals to speak of. `counted`: runs that count."""
    lines = {
        (case.name, arm.name): timelines(
            [r for r in counted if (r.case, r.arm) == (case.name, arm.name)]
        )
        for case in plan.cases
        for arm in plan.arms
    }
    longest = max((len(line.rates) for own in lines.values() for line in own), default=0)
    if longest < LEAST_INTERVALS:
        return None, None
    return _timelines(plan, lines, stalls_of(plan, counted)), _meanwhile(plan, lines)


def _timelines(plan: Plan, lines: Lines, stalls: Sequence[ArmStalls]) -> TimelineSection:
    rates = [rate for own in lines.values() for line in own for rate in line.rates]
    divisor, unit = axis_scale(max(rates), metric("throughput").unit)
    groups = [
        TimelineGroup(
            case=case.name,
            heading=heading(plan, case.name),
            arms=[
                _arm(arm.name, own, divisor)
                for arm in plan.arms
                if (own := lines[case.name, arm.name])
            ],
            stalls=[
                StallRow(found.arm, stall_text(found), stall_cause(found))
                for found in stalls
                if found.case == case.name
            ],
        )
        for case in plan.cases
    ]
    drawn = sum(len(arm.lines) for group in groups for arm in group.arms)
    every = [line for own in lines.values() for line in own]
    return TimelineSection(
        groups=[group for group in groups if group.arms],
        axis=f"throughput, {unit}",
        left_out=len(every) - drawn,
        counted=any(line.run.series for line in every),
    )


def _arm(name: str, own: Sequence[Timeline], divisor: float) -> TimelineArm:
    drawn = sorted(own, key=lambda line: (not line.stalls, line.run.run))[:RUNS_DRAWN]
    stalled = sum(bool(line.stalls) for line in own)
    runs = f"{len(own)} run{'s' * (len(own) != 1)}"
    return TimelineArm(
        arm=name,
        heading=f"{name}: {runs}, {stalled} with a stall" if stalled else f"{name}: {runs}",
        lines=[_points(line.at_s, [r / divisor for r in line.rates]) for line in drawn],
        median=_median([_points(line.at_s, [r / divisor for r in line.rates]) for line in own]),
        stalls=[mark for line in drawn for mark in _marks(line, divisor)],
    )


def _marks(line: Timeline, divisor: float) -> list[StallMark]:
    found = []
    for stall in line.stalls:
        place = min(range(stall.first, stall.last + 1), key=lambda n: line.rates[n])
        rate = format_quantity(line.rates[place], metric("throughput").unit)
        title = f"run {line.run.run}, {line.at_s[place]:.3g} s: {rate}"
        mark = StallMark(
            line.at_s[place],
            line.rates[place] / divisor,
            f"{title}, {percent(stall.depth)} of the run's median",
        )
        found.append(mark)
    return found


# meanwhile


def _meanwhile(plan: Plan, lines: Lines) -> MeanwhileSection | None:
    groups = []
    for case in plan.cases:
        mine = {a.name: own for a in plan.arms if (own := lines[case.name, a.name])}
        panels = _panels(plan, mine)
        seen = {line.arm: line.index for panel in panels for line in panel.lines}
        legend = [PanelLine(arm, index, []) for arm, index in seen.items()]
        if panels:
            groups.append(MeanwhileGroup(case.name, heading(plan, case.name), panels, legend))
    return MeanwhileSection(groups) if groups else None


def _panels(plan: Plan, arms: Mapping[str, Sequence[Timeline]]) -> list[Panel]:
    """Latency, CPU time by kind, then the server's own and the machine's waits, in their order."""
    recorded = {name for own in arms.values() for line in own for name in line.run.series}
    names = [n for n in (*CPU_KINDS, *(n for n in SERIES if n not in CPU_KINDS)) if n in recorded]
    found = [_panel(plan, LATENCY, metric(LATENCY).text, arms, _latency, _nanoseconds)]
    for name in names:
        title = f"CPU time: {CPU_KINDS[name]}" if name in CPU_KINDS else SERIES[name].text
        shown = _shown(name)
        found.append(_panel(plan, name, title, arms, _series(name), shown))
    return [panel for panel in found if panel is not None][:PANELS]


def _panel(
    plan: Plan,
    name: str,
    title: str,
    arms: Mapping[str, Sequence[Timeline]],
    points: Callable[[Sequence[Timeline]], list[Points]],
    shown: Callable[[float], str],
) -> Panel | None:
    """One series of every arm that has it; None where it never was anything but zero."""
    index = {arm.name: place for place, arm in enumerate(plan.arms)}
    medians = {arm: _median(points(own)) for arm, own in arms.items()}
    top = max((value for line in medians.values() for _, value in line), default=0.0)
    if top <= 0:
        return None
    lines = [
        PanelLine(arm, index[arm], [(at, _short(value / top)) for at, value in line])
        for arm, line in medians.items()
        if line
    ]
    return Panel(name, title, shown(top), lines)


def _series(name: str) -> Callable[[Sequence[Timeline]], list[Points]]:
    """The points of a series in each run, a second; a run without it had none of it."""

    def points(own: Sequence[Timeline]) -> list[Points]:
        found = []
        for line in own:
            if not line.run.series:
                continue
            values = line.run.series.get(name, [0.0] * len(line.rates))
            scale = 1.0 if SERIES[name].is_state else line.length_s
            known = zip(line.at_s, values, strict=False)
            found.append([(at, value / scale) for at, value in known if value is not None])
        return found

    return points


def _latency(own: Sequence[Timeline]) -> list[Points]:
    """The 99th percentile in each interval, of some runs: a histogram takes its time to read."""
    found = []
    for line in own[:RUNS_OF_LATENCY]:
        intervals = line.run.intervals[: len(line.rates)]
        values = [(at, _p99(i.histogram)) for at, i in zip(line.at_s, intervals, strict=False)]
        found.append([(at, value) for at, value in values if value > 0])
    return found


def _p99(encoded: str) -> float:
    merged, _ = merge([encoded]) if encoded else (None, 0)
    return value_at(merged, 99.0) if merged is not None else 0.0


def _shown(name: str) -> Callable[[float], str]:
    return lambda value: series_value(name, value)


def _nanoseconds(value: float) -> str:
    return format_quantity(value, "ns")


def _points(at_s: Sequence[float], values: Sequence[float]) -> Points:
    return [(_short(at), _short(value)) for at, value in zip(at_s, values, strict=True)]


def _median(runs: Sequence[Points]) -> Points:
    """The median over runs at each time that any of them has."""
    values: dict[float, list[float]] = {}
    for run in runs:
        for at, value in run:
            values.setdefault(_short(at), []).append(value)
    return [(at, _short(statistics.median(found))) for at, found in sorted(values.items())]


def _short(value: float) -> float:
    """Four digits: more is not seen, and a page has thousands of points."""
    return float(f"{value:.4g}")
