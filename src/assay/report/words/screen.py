"""The first phase of a screen in words: what it ran, what it suggests, and to whom.

All of it is leads. The combinations it hands on are measured again, and their verdicts stand
under their own heading.
"""

from __future__ import annotations

from assay.core.units import format_percent
from assay.plan import Plan
from assay.report.words.wording import listed
from assay.verdict.rows import EffectRow, ScreenRow


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


def effect_name(effect: EffectRow) -> str:
    """An effect with those that it cannot be told from."""
    given = f" given {effect.given}" if effect.given else ""
    return listed([effect.name, *effect.aliases], "or") + given


def effect_reading(effect: EffectRow) -> str:
    """What an effect suggests."""
    if not effect.suggests:
        return "unclear"
    return "suggests better" if effect.estimate > 0 else "suggests worse"


def effect_interval(effect: EffectRow) -> str:
    """The interval of an effect: "[+1.2 %, +3.4 %]"."""
    return f"[{format_percent(effect.low)}, {format_percent(effect.high)}]"
