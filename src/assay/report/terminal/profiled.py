"""Where the time went, in the terminal: what moved most in each comparison."""

from __future__ import annotations

from collections.abc import Sequence

from assay.explain import OTHERS, Moved, differences
from assay.record import Bundle
from assay.report.words.line import Line
from assay.report.words.profiled import change, cost, heading, notes, points
from assay.verdict.rows import Verdicts

TOP = 5
"""Functions of a comparison in the terminal."""

STILL = 0.005
"""A change of share that is not worth a line."""


def profile_lines(bundle: Bundle, verdicts: Verdicts) -> list[Line]:
    """What moved most in each comparison; nothing where no run was profiled."""
    plan, found = bundle.plan, differences(bundle, verdicts)
    if not found:
        return []
    lines = [Line(""), Line("Where the time went (own share of the server's samples)", "bold")]
    for difference in found:
        lines.append(Line(heading(plan, difference), "dim"))
        named = [m for m in difference.functions if m.name != OTHERS]
        moved = [m for m in named if abs(m.own.difference) >= STILL][:TOP]
        lines += [Line(f"    {text}", style) for text, style in _rows(moved)]
        if not moved:
            lines.append(Line("    no function's share moved by half a point"))
    return lines + [Line(f"    {note}", "dim") for note in notes(found)]


def _rows(moved: Sequence[Moved]) -> list[tuple[str, str]]:
    """A line for each function, in columns; what may be chance is dim."""
    width = max((len(_short(m.name)) for m in moved), default=0)
    return [
        (
            f"{_short(m.name):{width}}   {change(m.own):18}   {points(m.own)}"
            f"{cost(m)}{'' if m.stands_out else '   may be chance'}",
            "" if m.stands_out else "dim",
        )
        for m in moved
    ]


def _short(name: str, letters: int = 80) -> str:
    return name if len(name) <= letters else f"{name[: letters - 3]}..."
