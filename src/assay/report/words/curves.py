"""Curves in words: what each comparison comes to over its axis, and its points as a table's cells.

Effects count up as better, as verdicts do; what arms measured stands as measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.metrics import metric
from assay.core.units import format_percent, format_quantity
from assay.verdict.rows import (
    CurveContrastRow,
    CurveEffectRow,
    CurveLevelRow,
    CurvePointRow,
    CurveRow,
    Verdicts,
)


@dataclass(frozen=True)
class CurveCells:
    """A comparison at one point, as text. `added`: the point is a refinement's."""

    text: str
    added: bool
    measured: list[str]
    """Of each arm; a latency behind a queue is none."""
    reached: list[str]
    """Of each arm, where requests came at a fixed rate."""
    word: str
    interval: str
    estimate: str
    blocks: int
    reason: str


def curve_sentences(verdicts: Verdicts) -> list[str]:
    """What every comparison comes to, with its case where there are several."""
    return [
        f"{curve.case}: {contrast.sentence}" if curve.case else contrast.sentence
        for curve in verdicts.curves
        for contrast in curve.contrasts
    ]


def curve_heading(curve: CurveRow, contrast: CurveContrastRow) -> str:
    """What a comparison is, over its axis: "io-threads against baseline, over connections"."""
    compared = contrast.contrast
    given = f" given {compared.given}" if compared.given and compared.kind == "simple" else ""
    against = f" against {compared.against}" if compared.against else ""
    kind = f" ({compared.kind})" if compared.kind in ("main", "interaction") else ""
    case = f"{curve.case}: " if curve.case else ""
    return f"{case}{compared.of}{kind}{given}{against}, over {curve.axis}"


def arms_of(curve: CurveRow) -> list[str]:
    """The arms that were measured on a curve."""
    return list(dict.fromkeys(level.arm for p in curve.points for level in p.levels))


def curve_cells(
    verdicts: Verdicts, curve: CurveRow, contrast: CurveContrastRow
) -> list[CurveCells]:
    """The points of a comparison, from low to high."""
    arms = arms_of(curve)
    return [
        _cells(verdicts.primary, arms, point, effect)
        for point, effect in zip(curve.points, contrast.effects, strict=True)
    ]


def _cells(
    primary: str, arms: Sequence[str], point: CurvePointRow, effect: CurveEffectRow
) -> CurveCells:
    levels = {level.arm: level for level in point.levels}
    known = [level.reached is not None for level in point.levels]
    return CurveCells(
        text=point.text,
        added=point.added,
        measured=[measured_text(primary, levels.get(arm)) for arm in arms],
        reached=[_reached(levels.get(arm)) for arm in arms] if any(known) else [],
        word=effect.word,
        interval=effect_interval(effect),
        estimate="" if effect.estimate is None else format_percent(effect.estimate),
        blocks=effect.blocks,
        reason=effect.reason,
    )


def measured_text(primary: str, level: CurveLevelRow | None) -> str:
    """What an arm measured at a point."""
    if level is None:
        return ""
    shown = "" if level.value is None else format_quantity(level.value, metric(primary).unit)
    return " ".join(part for part in (shown, "saturated" if level.saturated else "") if part)


def _reached(level: CurveLevelRow | None) -> str:
    if level is None or level.reached is None:
        return ""
    return format_quantity(level.reached, metric("throughput").unit)


def effect_interval(effect: CurveEffectRow) -> str:
    """The band at a point: "[+1.2 %, +3.4 %]"."""
    low, high = (None if e is None else format_percent(e) for e in (effect.low, effect.high))
    if low is None and high is None:
        return "[unbounded]"
    return f"[{low or '-inf'}, {high or '+inf'}]"


def open_loop(curve: CurveRow) -> bool:
    """Whether requests came at a fixed rate."""
    return any(level.reached is not None for p in curve.points for level in p.levels)
