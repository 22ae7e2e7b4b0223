"""The first phase of a screen on the page: effects, aliases, and gains that it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.units import format_percent
from assay.plan import Plan
from assay.report.html.rows import axis, known_ends
from assay.report.words.screen import (
    cells_text,
    effect_interval,
    effect_name,
    effect_reading,
    next_text,
)
from assay.report.words.sections import headline
from assay.report.words.wording import interval, is_arm, listed
from assay.verdict.rows import EffectRow, Row, ScreenRow, Verdicts


@dataclass(frozen=True)
class ScreenEffect:
    """One effect of the screen; numbers are fractions."""

    label: str
    kind: str
    word: str
    """What it suggests."""
    interval: str
    text: str
    """The estimate as text."""
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class ScreenPicture:
    """The effects as one picture."""

    case: str
    heading: str
    rows: list[ScreenEffect]


@dataclass(frozen=True)
class PredictedGain:
    """What the effects that suggest something predict for one combination."""

    arm: str
    predicted: str
    place: int
    """On the shortlist, from 1 on; 0 where it is not on it."""
    word: str
    """The verdict on fresh runs; empty where there is none."""
    interval: str


@dataclass(frozen=True)
class ScreenSection:
    """The first phase of a screen."""

    sentence: str
    cells: str
    """What it ran."""
    next: str
    """What became of it."""
    generators: list[str]
    """How the cells of a fraction were chosen."""
    aliases: list[str]
    """Effects that these cells cannot tell apart."""
    effects: list[ScreenEffect]
    unestimable: list[tuple[str, str]]
    """Effects without an estimate, and why."""
    handed_on: list[PredictedGain]
    """The shortlist."""
    left: list[PredictedGain]
    """The other combinations."""
    groups: list[ScreenPicture]
    """One picture, or none without effects."""
    domain: list[float]
    """The ends of the axis, as fractions."""
    logarithmic: bool
    words: list[str]
    """What the effects suggest, each once."""


def screen_view(plan: Plan, verdicts: Verdicts) -> ScreenSection | None:
    """Effects as table and picture, aliases, predictions; None in other designs."""
    screen = verdicts.screen
    if screen is None:
        return None
    effects = [_effect(e) for e in screen.effects]
    ends, logarithmic = axis(plan, known_ends(effects))
    combinations = _gains(screen, headline(plan, verdicts))
    return ScreenSection(
        sentence=screen.sentence,
        cells=cells_text(plan, screen),
        next=next_text(screen),
        generators=[g.replace("= -", "= \N{MINUS SIGN}") for g in screen.generators],
        aliases=[listed(group, "or") for group in screen.aliases],
        effects=effects,
        unestimable=sorted(screen.unestimable.items()),
        handed_on=[row for row in combinations if row.place],
        left=[row for row in combinations if not row.place],
        groups=[ScreenPicture("", "", effects)] if effects else [],
        domain=ends,
        logarithmic=logarithmic,
        words=sorted({e.word for e in effects}),
    )


def _effect(effect: EffectRow) -> ScreenEffect:
    return ScreenEffect(
        label=effect_name(effect),
        kind="main effect" if effect.kind == "main" else effect.kind,
        word=effect_reading(effect),
        interval=effect_interval(effect),
        text=format_percent(effect.estimate),
        estimate=effect.estimate,
        low=effect.low,
        high=effect.high,
    )


def _gains(screen: ScreenRow, rows: Sequence[Row]) -> list[PredictedGain]:
    """What the effects that suggest predict for each combination, the shortlist first."""
    confirmed = {r.arm: r for r in rows if is_arm(r)}
    places = {arm: k for k, arm in enumerate(screen.shortlist, 1)}
    named = sorted(
        screen.predicted, key=lambda arm: (places.get(arm, len(places) + 1), -screen.predicted[arm])
    )
    return [
        PredictedGain(
            arm=arm,
            predicted=format_percent(screen.predicted[arm]),
            place=places.get(arm, 0),
            word=confirmed[arm].word if arm in confirmed else "",
            interval=interval(confirmed[arm]) if arm in confirmed else "",
        )
        for arm in named
    ]
