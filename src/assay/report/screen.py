"""The first phase of a screen, for the terminal and for the page: what it suggests, and to whom.

All of it is leads. The combinations it hands on are measured again, and their verdicts stand
under their own heading.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.core.units import format_percent
from assay.plan import Plan
from assay.report.line import Line
from assay.report.rows import LOGARITHMIC_ABOVE, domain
from assay.report.sections import headline
from assay.report.wording import interval, is_arm, listed
from assay.verdict.rows import EffectRow, Row, ScreenRow, Verdicts

ALIASES_SHOWN = 6
"""Groups of aliases that a terminal gets to see."""


def cells_text(plan: Plan, screen: ScreenRow) -> str:
    """What the screen ran, in one sentence."""
    legal = sum(not a.placebo for a in plan.arms)
    if screen.resolution is None:
        of = f"all {screen.cells} legal combinations"
    else:
        of = f"{screen.cells} of {legal} combinations, resolution {_roman(screen.resolution)}"
    return f"{of}, in {screen.blocks} blocks"


def _roman(number: int) -> str:
    return {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII", 8: "VIII"}.get(number, str(number))


def next_text(screen: ScreenRow) -> str:
    """What became of the screen."""
    if not screen.shortlist:
        return "The shortlist is empty, so nothing is confirmed."
    return (
        f"Shortlist, best first: {listed(screen.shortlist)}. Verdicts on them are from fresh runs."
    )


def _name(effect: EffectRow) -> str:
    """An effect with those that it cannot be told from."""
    given = f" given {effect.given}" if effect.given else ""
    return listed([effect.name, *effect.aliases], "or") + given


def _reading(effect: EffectRow) -> str:
    if not effect.suggests:
        return "unclear"
    return "suggests better" if effect.estimate > 0 else "suggests worse"


def _interval(effect: EffectRow) -> str:
    return f"[{format_percent(effect.low)}, {format_percent(effect.high)}]"


# the terminal


def screen_lines(plan: Plan, verdicts: Verdicts) -> list[Line]:
    """What it ran, what it suggests, what it cannot separate, and its shortlist."""
    screen = verdicts.screen
    if screen is None:
        return []
    lines = [Line(f"Screen (leads, no verdicts): {cells_text(plan, screen)}", "dim")]
    said = [e for e in screen.effects if e.suggests]
    width = max((len(_name(e)) for e in said), default=0)
    for effect in said:
        reading = f"{_reading(effect):15}   {_interval(effect)}"
        lines.append(
            Line(
                f"{_name(effect):{width}}   {reading}   estimate {format_percent(effect.estimate)}"
            )
        )
    unclear = len(screen.effects) - len(said)
    if said and unclear:
        lines.append(Line(f"    {unclear} other effects do not stand out from the noise", "dim"))
    if not said:
        lines.append(Line(f"    {screen.sentence}"))
    if screen.aliases:
        groups = [listed(group, "or") for group in screen.aliases[:ALIASES_SHOWN]]
        rest = len(screen.aliases) - ALIASES_SHOWN
        groups += [f"and {rest} more, in the report"] if rest > 0 else []
        lines.append(Line(f"    these cells cannot tell apart: {'; '.join(groups)}", "dim"))
    return [*lines, Line(f"    {next_text(screen)}"), Line("")]


# the page


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
        "label": _name(effect),
        "kind": "main effect" if effect.kind == "main" else effect.kind,
        "word": _reading(effect),
        "interval": _interval(effect),
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
