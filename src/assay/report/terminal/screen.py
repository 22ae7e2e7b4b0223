"""The first phase of a screen in the terminal."""

from __future__ import annotations

from assay.core.units import format_percent
from assay.plan import Plan
from assay.report.words.line import Line
from assay.report.words.screen import (
    cells_text,
    effect_interval,
    effect_name,
    effect_reading,
    next_text,
)
from assay.report.words.wording import listed
from assay.verdict.rows import Verdicts

ALIASES_SHOWN = 6
"""Groups of aliases that a terminal gets to see."""


def screen_lines(plan: Plan, verdicts: Verdicts) -> list[Line]:
    """What it ran, what it suggests, what it cannot separate, and its shortlist."""
    screen = verdicts.screen
    if screen is None:
        return []
    lines = [Line(f"Screen (leads, no verdicts): {cells_text(plan, screen)}", "dim")]
    said = [e for e in screen.effects if e.suggests]
    width = max((len(effect_name(e)) for e in said), default=0)
    for effect in said:
        reading = f"{effect_reading(effect):15}   {effect_interval(effect)}"
        size = f"estimate {format_percent(effect.estimate)}"
        lines.append(Line(f"{effect_name(effect):{width}}   {reading}   {size}"))
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
