"""Curves on the page: what arms measured over the axis, and each comparison with its crossings."""

from __future__ import annotations

from dataclasses import dataclass

from assay.core.metrics import metric
from assay.core.units import format_percent
from assay.plan import Plan
from assay.report.html.rows import axis as effect_axis
from assay.report.html.rows import known_ends
from assay.report.html.samples import axis_scale
from assay.report.words.curves import (
    CurveCells,
    arms_of,
    curve_cells,
    curve_heading,
    effect_interval,
    measured_text,
    open_loop,
)
from assay.verdict.rows import CurveContrastRow, CurveLevelRow, CurveRow, Verdicts


@dataclass(frozen=True)
class CurveTick:
    """A point of the axis."""

    value: float
    text: str


@dataclass(frozen=True)
class ArmMark:
    """What an arm measured at a point; None where nothing bounds it. `value` of a latency that is a
    queue's is None, and the mark stands at the foot."""

    value: float
    y: float | None
    low: float | None
    high: float | None
    saturated: bool
    title: str


@dataclass(frozen=True)
class ArmCurve:
    """One arm over the axis; `index` gives it its colour."""

    arm: str
    index: int
    points: list[ArmMark]


@dataclass(frozen=True)
class EffectMark:
    """A comparison at a point, as fractions."""

    value: float
    word: str
    estimate: float | None
    low: float | None
    high: float | None
    title: str


@dataclass(frozen=True)
class CrossingMark:
    """Where an effect changes its sign, with its interval."""

    value: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class CurvePicture:
    """One picture: of arms where `arms` has any, else of one comparison."""

    heading: str
    sentence: str
    label: str
    """Of the vertical axis."""
    ticks: list[CurveTick]
    arms: list[ArmCurve]
    effects: list[EffectMark]
    crossings: list[CrossingMark]
    domain: list[float]
    """The ends of the vertical axis, of effects as fractions."""
    logarithmic: bool
    """Whether the vertical axis is."""
    cells: list[CurveCells]
    """The table of a comparison."""
    names: list[str]
    """The arms of the table."""


@dataclass(frozen=True)
class CurveSection:
    """All pictures of curves. `divisor` turns what was measured into what the axis shows."""

    groups: list[CurvePicture]
    axis: str
    logarithmic: bool
    """Whether the axis that is varied is."""
    divisor: float
    margin: float
    smallest: float
    saturated: bool
    """Whether some point is."""
    added: bool
    """Whether some point was added by a refinement."""
    rates: bool
    """Whether requests came at a fixed rate."""


LOGARITHMIC_ABOVE = 8.0
"""A span of measured values beyond this factor hides the small ones on a linear axis."""


def curves_view(plan: Plan, verdicts: Verdicts) -> CurveSection | None:
    """The pictures of all curves; None without an axis, and before anything is known."""
    drawn = [curve for curve in verdicts.curves if any(p.levels for p in curve.points)]
    if not drawn or plan.axis is None:
        return None
    levels = [level for c in drawn for p in c.points for level in p.levels]
    ends = [v for x in levels for v in (x.value, x.low, x.high) if v is not None]
    divisor, unit = axis_scale(max(ends, default=0.0), metric(plan.primary).unit)
    label = f"{plan.primary}, {unit}" if unit else plan.primary
    pictures = []
    for curve in drawn:
        pictures.append(_arms(plan, curve, label, divisor))
        pictures += [_effects(plan, verdicts, curve, c) for c in curve.contrasts]
    return CurveSection(
        groups=pictures,
        axis=plan.axis.name,
        logarithmic=plan.axis.logarithmic,
        divisor=divisor,
        margin=plan.margin,
        smallest=plan.smallest,
        saturated=any(level.saturated for level in levels),
        added=any(p.added for c in drawn for p in c.points),
        rates=any(open_loop(c) for c in drawn),
    )


def _ticks(curve: CurveRow) -> list[CurveTick]:
    return [CurveTick(p.value, p.text) for p in curve.points]


def _arms(plan: Plan, curve: CurveRow, label: str, divisor: float) -> CurvePicture:
    names = arms_of(curve)
    arms = [
        ArmCurve(
            name,
            index,
            [
                _mark(plan.primary, curve, p.value, p.text, level, divisor)
                for p in curve.points
                for level in p.levels
                if level.arm == name
            ],
        )
        for index, name in enumerate(names)
    ]
    reach = [v for a in arms for m in a.points for v in (m.y, m.low, m.high) if v is not None]
    top, foot = max(reach, default=1.0), min(reach, default=0.0)
    is_log = foot > 0 and top > LOGARITHMIC_ABOVE * foot
    return CurvePicture(
        heading=f"{curve.case}: {plan.primary}" if curve.case else plan.primary,
        sentence="",
        label=label,
        ticks=_ticks(curve),
        arms=arms,
        effects=[],
        crossings=[],
        domain=[foot / 1.1 if is_log else 0.0, 1.06 * top],
        logarithmic=is_log,
        cells=[],
        names=names,
    )


def _mark(
    primary: str, curve: CurveRow, value: float, text: str, level: CurveLevelRow, divisor: float
) -> ArmMark:
    y, low, high = (
        None if v is None else v / divisor for v in (level.value, level.low, level.high)
    )
    title = f"{level.arm}: {measured_text(primary, level)} at {curve.axis} = {text}"
    return ArmMark(value, y, low, high, level.saturated, title)


def _effects(
    plan: Plan, verdicts: Verdicts, curve: CurveRow, contrast: CurveContrastRow
) -> CurvePicture:
    ends, is_log = effect_axis(plan, known_ends(contrast.effects))
    return CurvePicture(
        heading=curve_heading(curve, contrast),
        sentence=contrast.sentence,
        label="effect, up is better",
        ticks=_ticks(curve),
        arms=[],
        effects=[
            EffectMark(
                value=e.value,
                word=e.word,
                estimate=e.estimate,
                low=e.low,
                high=e.high,
                title=f"{curve.axis} = {e.text}: {e.word} {effect_interval(e)}"
                + ("" if e.estimate is None else f", estimate {format_percent(e.estimate)}"),
            )
            for e in contrast.effects
        ],
        crossings=[
            CrossingMark(c.value, c.low, c.high, f"{c.value:.3g} [{c.low:.3g}, {c.high:.3g}]")
            for c in contrast.crossings
        ],
        domain=ends,
        logarithmic=is_log,
        cells=curve_cells(verdicts, curve, contrast),
        names=arms_of(curve),
    )
