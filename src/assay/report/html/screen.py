"""The first phase of a screen on the page: effects, aliases, and gains that it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.core.units import format_percent
from assay.plan import Plan
from assay.report.html.rows import LOGARITHMIC_ABOVE, domain
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


def screen_view(plan: Plan, verdicts: Verdicts) -> dict[str, Any]:
    """Effects as table and picture, aliases, predictions; `shown` is false in other designs."""
    screen = verdicts.screen
    if screen is None:
        return {"shown": False, "groups": []}
    effects = [_effect(e) for e in screen.effects]
    reach = [0.0, *(e[end] for e in effects for end in ("low", "high"))]
    logarithmic = max(reach) > LOGARITHMIC_ABOVE
    return {
        "shown": True,
        "sentence": screen.sentence,
        "cells": cells_text(plan, screen),
        "next": next_text(screen),
        "generators": [g.replace("= -", "= \N{MINUS SIGN}") for g in screen.generators],
        "aliases": [listed(group, "or") for group in screen.aliases],
        "effects": effects,
        "unestimable": sorted(screen.unestimable.items()),
        **_gains(screen, headline(plan, verdicts)),
        "groups": [{"case": "", "heading": "", "rows": effects}] if effects else [],
        "domain": domain(reach, logarithmic),
        "logarithmic": logarithmic,
        "words": sorted({e["word"] for e in effects}),
    }


def _effect(effect: EffectRow) -> dict[str, Any]:
    return {
        "label": effect_name(effect),
        "kind": "main effect" if effect.kind == "main" else effect.kind,
        "word": effect_reading(effect),
        "interval": effect_interval(effect),
        "text": format_percent(effect.estimate),
        "estimate": effect.estimate,
        "low": effect.low,
        "high": effect.high,
    }


def _gains(screen: ScreenRow, rows: Sequence[Row]) -> dict[str, Any]:
    """What the effects that suggest predict for each combination, the shortlist first."""
    confirmed = {r.arm: r for r in rows if is_arm(r)}
    places = {arm: k for k, arm in enumerate(screen.shortlist, 1)}
    named = sorted(
        screen.predicted, key=lambda arm: (places.get(arm, len(places) + 1), -screen.predicted[arm])
    )
    found = [
        {
            "arm": arm,
            "predicted": format_percent(screen.predicted[arm]),
            "place": places.get(arm, 0),
            "word": confirmed[arm].word if arm in confirmed else "",
            "interval": interval(confirmed[arm]) if arm in confirmed else "",
        }
        for arm in named
    ]
    return {
        "handed_on": [row for row in found if row["place"]],
        "left": [row for row in found if not row["place"]],
    }
