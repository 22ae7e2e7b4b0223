"""The report's charts as files, drawn by matplotlib: no browser takes part.

They are drawn from the same view as those of the page, so that both say the same; the page's
colours and marks are used. A picture is the same file each time it is drawn by one version of
matplotlib.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.core.errors import MissingError
from assay.core.units import format_quantity
from assay.record import Bundle
from assay.report.html.best import BestSection
from assay.report.html.curves import CurveSection
from assay.report.html.kinds import KindSection
from assay.report.html.rows import Forest
from assay.report.html.scaling import ScalingSection
from assay.report.html.screen import ScreenSection
from assay.report.html.speeds import SpeedSection
from assay.report.html.timelines import MeanwhileSection, TimelineSection
from assay.report.html.view import CHARTS, CpuSection, LatencySection, ReportView, RunSection, view

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "helps": "#0b7650",
    "hurts": "#b2361f",
    "no difference": "#3c6791",
    "undecided": "#876100",
    "invalid": "#873a8c",
}
MARKS = {"helps": "^", "hurts": "v", "no difference": "s", "undecided": "o", "invalid": "x"}
LIKE = {"suggests better": "helps", "suggests worse": "hurts"}
"""Words of leads, whose marks are hollow, by the word of a verdict that they look like."""
ARMS = ("#1b2126", "#0072b2", "#c65300", "#00835f", "#ab4496", "#8a6a00", "#3f8fb8", "#7b5b46")
ARM_MARKS = "os^D*P"
SOFT, INK, DOT = "#6b747b", "#1b2126", "#2b6a9b"
WIDE = 9.0
"""Inches; 8 and a bit are a page."""
LEAST_LOG = 1e-3
NAME = 40
"""Characters of a name."""


def chart_names(found: ReportView) -> list[str]:
    """The charts that a view has something for."""
    shown = ((name, getattr(found, name)) for name in CHARTS)
    return [name for name, s in shown if s is not None and s.groups and not getattr(s, "empty", "")]


def draw(bundle: Bundle, folder: Path, kind: str) -> list[Path]:
    """Draw every chart of a bundle into a folder, as "svg" or "png"; their paths. MissingError
    without matplotlib; AlteredError if the bundle was altered."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ModuleNotFoundError as error:
        raise MissingError(
            "charts as files need the package matplotlib", next_step="pip install 'assay[export]'"
        ) from error
    found = view(bundle)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with mpl.rc_context():
        mpl.rcdefaults()
        # Names with dollars are no formulas, and identifiers in the file are the same each time.
        mpl.rcParams.update({"text.parse_math": False, "svg.hashsalt": "assay"})
        for name in chart_names(found):
            for number, figure in enumerate(_figures(name, getattr(found, name))):
                FigureCanvasAgg(figure)
                path = folder / f"{name}-{number + 1}.{kind}"
                nothing = {"Date": None} if kind == "svg" else {"Software": None}
                figure.savefig(path, metadata=nothing, dpi=150)
                paths.append(path)
    return paths


def _figures(name: str, section: Any) -> Iterator[Figure]:
    for group in section.groups:
        if getattr(group, "drawn", True):
            yield DRAWN[name](section, group)


def _figure(title: str, height: float, rows: int = 1) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDE, height), layout="constrained")
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    if title:
        figure.suptitle(_named(title), x=0.01, ha="left", fontweight="bold", fontsize=11)
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    return figure, list(axes)


def _head(axes: Axes, text: str) -> None:
    axes.set_title(_named(text, NAME), loc="left", fontsize=10)


def _percent(at: Callable[[float], float]) -> Callable[[float, float], str]:
    """How a place on an axis is written, whose effect is `at` it."""
    return lambda place, _: "0 %" if abs(at(place)) < 1e-9 else f"{100 * at(place):+.3g} %"


def _named(text: str, limit: int = 100) -> str:
    """A name without what cannot be printed, not too long."""
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain if len(plain) <= limit else f"{plain[: limit - 1]}…"


# effects with intervals


def _effects(section: Forest | KindSection | ScreenSection, group: Any) -> Figure:
    rows = [row for row in group.rows if row.estimate is not None]
    figure, (axes,) = _figure(group.heading, 0.34 * max(len(rows), 1) + 1.2)
    at: Callable[[float], float] = math.log1p if section.logarithmic else float
    left, right = (at(max(end, -1 + LEAST_LOG)) for end in section.domain)
    if margin := getattr(section, "margin", 0.0):
        axes.axvspan(at(-margin), at(margin), color="#e8edf1", zorder=0)
        for end in (-section.smallest, section.smallest):  # type: ignore[union-attr]
            axes.axvline(at(end), color=SOFT, linewidth=0.8, linestyle=(0, (2, 4)))
    axes.axvline(0, color=INK, linewidth=0.8)
    for place, row in enumerate(rows):
        word = LIKE.get(row.word, row.word)
        colour, mark = COLOURS.get(word, SOFT), MARKS.get(word, "o")
        ends = [
            left if row.low is None else at(row.low),
            right if row.high is None else at(row.high),
        ]
        bounded = row.low is not None and row.high is not None
        axes.plot(ends, [place] * 2, color=colour, linewidth=2, linestyle="-" if bounded else ":")
        filled = colour if row.word == word and word not in ("undecided", "invalid") else "white"
        face = colour if mark == "x" else filled
        axes.scatter([at(row.estimate)], [place], marker=mark, s=46, zorder=3,
                     facecolors=face, edgecolors=colour)  # fmt: skip
        axes.annotate(f"{row.word} {row.interval}", (1.01, place), color=colour, va="center",
                      xycoords=("axes fraction", "data"), fontsize=9)  # fmt: skip
    axes.set_yticks(range(len(rows)), [_named(row.label, NAME) for row in rows])
    axes.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    axes.set_xlim(left, right)
    back = math.expm1 if section.logarithmic else float
    axes.xaxis.set_major_formatter(_percent(back))
    axes.tick_params(left=False)
    return figure


# every run


def _runs(section: RunSection, group: Any) -> Figure:
    figure, all_axes = _figure(group.heading, 1.3 * len(group.arms) + 0.8, len(group.arms))
    looks: Mapping[str, dict[str, Any]] = {
        "counts": {"marker": "o", "markersize": 3.5, "color": DOT},
        "aside": {"marker": "o", "markersize": 3.5, "color": SOFT, "markerfacecolor": "none"},
        "void": {"marker": "D", "markersize": 4.5, "color": COLOURS["undecided"],
                 "markerfacecolor": "none"},
        "failed": {"marker": "x", "markersize": 5, "color": COLOURS["hurts"]},
    }  # fmt: skip
    known = [p.value / group.divisor for p in group.points if p.value is not None]
    foot = min(known, default=0.0)
    for arm, axes in zip(group.arms, all_axes, strict=True):
        for stripe in group.blocks[1::2]:
            axes.axvspan(stripe.first - 0.5, stripe.last + 0.5, color="#f2f4f5", zorder=0)
        for status, look in looks.items():
            points = [p for p in group.points if p.arm == arm and p.status == status]
            heights = [foot if p.value is None else p.value / group.divisor for p in points]
            if points:
                axes.plot([p.run for p in points], heights, linestyle="none", **look)
        for name, style in ((arm, "-"), (group.baseline, ":")):
            if name in group.medians:
                axes.axhline(group.medians[name] / group.divisor, color=SOFT, linewidth=0.9,
                             linestyle=style)  # fmt: skip
        _head(axes, arm)
    all_axes[-1].set_xlabel(f"run; {section.axis}")
    return figure


# two speeds


def _speeds(section: SpeedSection, group: Any) -> Figure:
    figure, all_axes = _figure(group.heading, 1.5 * len(group.arms) + 0.8, len(group.arms))
    looks: Mapping[str, dict[str, Any]] = {
        "slow": {"marker": "v", "color": COLOURS["hurts"], "markerfacecolor": "none"},
        "fast": {"marker": "^", "color": COLOURS["helps"]},
        "one": {"marker": "o", "color": DOT},
    }
    for arm, axes in zip(group.arms, all_axes, strict=True):
        for speed, look in looks.items():
            dots = [dot for dot in arm.dots if dot.speed == speed]
            if dots:
                axes.plot([d.value for d in dots], [d.block for d in dots], linestyle="none",
                          markersize=4.5, **look)  # fmt: skip
        for mark in arm.marks:
            axes.axvline(mark.value, color=SOFT, linewidth=0.9)
            axes.annotate(mark.speed if mark.speed != "one" else "", (mark.value, 0.02),
                          xycoords=("data", "axes fraction"), fontsize=9, color=SOFT)  # fmt: skip
        axes.set_ylim(section.blocks, -1)
        axes.set_yticks([])
        _head(axes, arm.heading)
    all_axes[-1].set_xlabel(section.axis)
    return figure


# over time


def _timelines(section: TimelineSection, group: Any) -> Figure:
    figure, all_axes = _figure(group.heading, 1.7 * len(group.arms) + 0.8, len(group.arms))
    for arm, axes in zip(group.arms, all_axes, strict=True):
        for line in arm.lines:
            axes.plot(*zip(*line, strict=True), color=DOT, alpha=0.28, linewidth=0.9)
        axes.plot(*zip(*arm.median, strict=True), color=INK, linewidth=1.6)
        if arm.stalls:
            axes.plot([s.at for s in arm.stalls], [s.value for s in arm.stalls], marker="v",
                      linestyle="none", color=COLOURS["hurts"],
                      markerfacecolor="white")  # fmt: skip
        axes.set_ylim(bottom=0)
        _head(axes, arm.heading)
    all_axes[-1].set_xlabel(f"seconds of the window; {section.axis}")
    return figure


def _meanwhile(section: MeanwhileSection, group: Any) -> Figure:
    figure, all_axes = _figure(group.heading, 0.9 * len(group.panels) + 0.8, len(group.panels))
    for panel, axes in zip(group.panels, all_axes, strict=True):
        for line in panel.lines:
            axes.plot(*zip(*line.points, strict=True), color=ARMS[line.index % len(ARMS)],
                      marker=ARM_MARKS[line.index % len(ARM_MARKS)], markersize=2.6,
                      linewidth=1.3, label=_named(line.arm, NAME))  # fmt: skip
        axes.set_ylim(0, 1.05)
        axes.set_yticks([])
        _head(axes, f"{panel.title}, up to {panel.top}")
    all_axes[-1].set_xlabel("seconds of the window")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside right upper",
                  frameon=False, fontsize=9)  # fmt: skip
    return figure


# latency quantiles


NINES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


def _nines(share: float) -> float:
    return -math.log10(1 - share)


def _latency(section: LatencySection, group: Any) -> Figure:
    figure, (axes,) = _figure(group.heading, 4.0)
    for arm in group.arms:
        colour, mark = ARMS[arm.index % len(ARMS)], ARM_MARKS[arm.index % len(ARM_MARKS)]
        axes.plot([_nines(p.q) for p in arm.points], [p.ns for p in arm.points], color=colour)
        cells = [cell for cell in arm.cells if cell.ns]
        if cells:
            axes.scatter([_nines(c.q) for c in cells], [c.ns for c in cells], color=colour,
                         marker=mark, s=26, zorder=3, label=_named(arm.arm, NAME))  # fmt: skip
    if section.logarithmic:
        axes.set_yscale("log")
    end = max((_nines(p.q) for arm in group.arms for p in arm.points), default=1.0)
    shown = [q for q in NINES if _nines(q) <= end + 1e-9]
    axes.set_xticks([_nines(q) for q in shown], [f"{100 * q:g} %" for q in shown])
    axes.yaxis.set_major_formatter(lambda ns, _: format_quantity(ns, "ns"))
    axes.yaxis.set_minor_formatter(lambda ns, _: "")
    axes.set_xlabel("operations at most this slow")
    axes.grid(color="#e3e7ea")
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


# evenness over CPUs


def _cpus(section: CpuSection, group: Any) -> Figure:
    most = max(len(arm.cpus) for arm in group.arms)
    height = min(0.22 * most + 0.7, 2.6) * len(group.arms) + 0.7
    figure, all_axes = _figure(group.heading, height, len(group.arms))
    for arm, axes in zip(group.arms, all_axes, strict=True):
        places = [cpu.cpu for cpu in arm.cpus]
        axes.hlines(places, [c.low for c in arm.cpus], [c.high for c in arm.cpus], color=SOFT)
        axes.scatter([c.mean for c in arm.cpus], places, color=DOT, s=16, zorder=3)
        _head(axes, arm.arm)
        axes.set_ylim(max(places) + 0.6, min(places) - 0.6)
        axes.set_yticks(
            places if most <= 8 else [], [f"CPU {c}" for c in places] if most <= 8 else []
        )
    all_axes[-1].set_xlim(0, 1)
    all_axes[-1].xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f} %")
    all_axes[-1].set_xlabel("busy")
    return figure


# designs


def _scaling(section: ScalingSection, group: Any) -> Figure:
    figure, (axes,) = _figure(group.heading, 4.4)
    for curve in group.curves:
        colour, mark = ARMS[curve.index % len(ARMS)], ARM_MARKS[curve.index % len(ARM_MARKS)]
        fitted = [p.value / section.divisor for p in curve.curve]
        axes.plot([p.threads for p in curve.curve], fitted, color=colour, linewidth=1.6)
        axes.scatter([p.threads for p in curve.points],
                     [p.value / section.divisor for p in curve.points], color=colour,
                     marker=mark, zorder=3, label=_named(curve.configuration, NAME))  # fmt: skip
        if (peak := curve.peak_at) is not None:
            low = max(peak.low, section.levels[0])
            axes.hlines(peak.value / section.divisor, low, peak.high, color=colour, linewidth=6,
                        alpha=0.35)  # fmt: skip
    if section.beyond:
        axes.axvline(section.cpus, color=SOFT, linestyle="--", linewidth=0.9)
        axes.annotate(f"{section.cpus} CPUs", (section.cpus, 1.0), color=SOFT, fontsize=9,
                      xycoords=("data", "axes fraction"))  # fmt: skip
    if section.logarithmic:
        axes.set_xscale("log", base=2)
    axes.set_xticks(section.levels, [str(level) for level in section.levels])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("threads")
    axes.set_ylabel(section.axis)
    axes.legend(frameon=False)
    return figure


def _curves(section: CurveSection, group: Any) -> Figure:
    figure, (axes,) = _figure(group.heading, 4.0)
    if section.logarithmic:
        axes.set_xscale("log")
    (_curve_arms if group.arms else _curve_effects)(section, group, axes)
    ticks = group.ticks
    axes.set_xticks([t.value for t in ticks], [_named(t.text, NAME) for t in ticks])
    axes.xaxis.set_minor_formatter(lambda place, _: "")
    axes.set_xlabel(_named(section.axis, NAME))
    axes.set_ylabel(_named(group.label, NAME))
    return figure


def _curve_arms(section: CurveSection, group: Any, axes: Axes) -> None:
    if group.logarithmic:
        axes.set_yscale("log")
    for arm in group.arms:
        colour, mark = ARMS[arm.index % len(ARMS)], ARM_MARKS[arm.index % len(ARM_MARKS)]
        known = [p for p in arm.points if p.y is not None]
        bound = [p for p in known if p.low is not None and p.high is not None]
        lows, highs = [p.low for p in bound], [p.high for p in bound]
        axes.fill_between([p.value for p in bound], lows, highs, color=colour, alpha=0.14)
        axes.plot([p.value for p in known], [p.y for p in known], color=colour, marker=mark,
                  label=_named(arm.arm, NAME))  # fmt: skip
        full = [p for p in arm.points if p.saturated]
        axes.scatter([p.value for p in full],
                     [group.domain[0] if p.y is None else p.y for p in full],
                     marker="x", color=colour, zorder=3)  # fmt: skip
    axes.set_ylim(*group.domain)
    axes.legend(frameon=False)


def _curve_effects(section: CurveSection, group: Any, axes: Axes) -> None:
    at: Callable[[float], float] = math.log1p if group.logarithmic else float
    foot, top = (at(max(end, -1 + LEAST_LOG)) for end in group.domain)
    axes.axhspan(at(-section.margin), at(section.margin), color="#e8edf1", zorder=0)
    axes.axhline(0, color=INK, linewidth=0.8)
    for crossing in group.crossings:
        axes.axvspan(crossing.low, crossing.high, color=COLOURS["undecided"], alpha=0.14)
        axes.axvline(crossing.value, color=COLOURS["undecided"], linestyle="--", linewidth=1.2)
        axes.annotate(crossing.text, (crossing.value, 1.0), color=COLOURS["undecided"], fontsize=9,
                      ha="center", va="bottom", xycoords=("data", "axes fraction"))  # fmt: skip
    known = [p for p in group.effects if p.estimate is not None]
    places = [p.value for p in known]
    lows = [foot if p.low is None else at(p.low) for p in known]
    highs = [top if p.high is None else at(p.high) for p in known]
    axes.fill_between(places, lows, highs, color=DOT, alpha=0.16, linewidth=0)
    axes.plot(places, [at(p.estimate) for p in known], color=SOFT, linewidth=1.2)
    for p, low, high in zip(known, lows, highs, strict=True):
        axes.vlines(p.value, low, high, color=COLOURS[p.word], linewidth=1.8)
    for p in group.effects:
        colour, height = COLOURS[p.word], foot if p.estimate is None else at(p.estimate)
        face = "white" if p.word == "undecided" else colour
        axes.plot([p.value], [height], marker=MARKS[p.word], color=colour, markersize=6.5,
                  markerfacecolor=face, zorder=3)  # fmt: skip
    axes.set_ylim(foot, top)
    back = math.expm1 if group.logarithmic else float
    axes.yaxis.set_major_formatter(_percent(back))


def _best(section: BestSection, group: Any) -> Figure:
    figure, (axes,) = _figure("gain against effort", 4.6)
    at: Callable[[float], float] = math.log1p if group.logarithmic else float
    axes.axhline(0, color=INK, linewidth=0.8)
    front = [(p.x, at(p.low)) for p in group.front]
    if front:
        axes.plot(*zip(*front, strict=True), color=INK, linewidth=1.1, drawstyle="steps-post")
    ends = [at(max(end, -1 + LEAST_LOG)) for end in group.domain]
    for p in group.points:
        low, high = at(p.low), ends[1] if p.high is None else at(p.high)
        colour = INK if p.baseline else SOFT if p.out else DOT
        face = "white" if p.out and not p.baseline else colour
        if not p.baseline:
            axes.vlines(p.x, low, high, color=colour, linewidth=1.6)
        axes.scatter([p.x], [low], marker="s" if p.baseline else "o", s=40, zorder=3,
                     facecolors=face, edgecolors=colour)  # fmt: skip
        if p.sweet:
            axes.scatter([p.x], [low], s=190, facecolors="none", edgecolors=COLOURS["helps"],
                         linewidths=2)  # fmt: skip
        if p.front or not p.out or p.baseline:
            axes.annotate(_named(p.arm, NAME), (p.x, low), xytext=(9, 5), fontsize=9,
                          textcoords="offset points")  # fmt: skip
    axes.set_ylim(*ends)
    axes.set_xticks(range(len(group.slots)), [s.letter or s.text for s in group.slots])
    axes.set_xlim(-0.5, len(group.slots) - 0.5)
    back = math.expm1 if group.logarithmic else float
    axes.yaxis.set_major_formatter(_percent(back))
    axes.set_xlabel("effort")
    return figure


DRAWN: Mapping[str, Callable[[Any, Any], Figure]] = {
    "screen": _effects,
    "curves": _curves,
    "scaling": _scaling,
    "best": _best,
    "forest": _effects,
    "speeds": _speeds,
    "kinds": _effects,
    "runs": _runs,
    "timelines": _timelines,
    "meanwhile": _meanwhile,
    "latency": _latency,
    "cpus": _cpus,
}
