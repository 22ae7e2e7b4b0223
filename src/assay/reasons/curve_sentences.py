"""The sentences of curves: where an effect changes its sign along an axis, and what holds where."""

from __future__ import annotations

from collections.abc import Callable

from assay.reasons.code import Code


def _crosses(of: str, axis: str, at: str, low: str, high: str, rising: bool) -> str:
    if rising:
        return f"{of} helps from {axis} = {at} on [{low}, {high}], and hurts below"
    return f"{of} helps up to {axis} = {at} [{low}, {high}], and hurts beyond"


def _curve_words(
    of: str,
    axis: str,
    points: int,
    helps: tuple[str, ...] = (),
    hurts: tuple[str, ...] = (),
    no_difference: tuple[str, ...] = (),
    undecided: tuple[str, ...] = (),
    invalid: tuple[str, ...] = (),
) -> str:
    """Which word holds at which points; of one word alone, that it holds at all."""
    said = (
        ("helps", helps),
        ("hurts", hurts),
        ("makes no difference", no_difference),
        ("is undecided", undecided),
        ("is not compared", invalid),
    )
    parts = [f"{text} at {_places(axis, found, points)}" for text, found in said if found]
    return f"{of} {', '.join(parts)}"


def _places(axis: str, found: tuple[str, ...], points: int) -> str:
    if len(found) == points:
        return f"all {points} points"
    return f"{axis} = {', '.join(found)}"


CURVES: dict[Code, Callable[..., str]] = {
    Code.CROSSES: _crosses,
    Code.NO_CROSSING: lambda shown: f"no crossing {'is shown ' if shown else ''}within the points",
    Code.CURVE_WORDS: _curve_words,
}
"""Code -> its sentence, without capital and full stop."""
