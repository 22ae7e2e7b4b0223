"""Arms of two speeds in the terminal: a line each, what parts the speeds, and what it means."""

from __future__ import annotations

from assay.report.words.line import Line
from assay.report.words.speeds import TITLE, meaning, parted, share, speeds_of
from assay.verdict.rows import Verdicts


def speed_lines(verdicts: Verdicts) -> list[Line]:
    """Every arm that has two; nothing where each has one."""
    found = speeds_of(verdicts)
    if not found:
        return []
    lines = [Line(f"{TITLE}: no single number describes such an arm", "dim")]
    for one in found:
        case = f"{one.case}: " if one.case else ""
        lines.append(Line(f"{case}{one.arm}   {share(one)}", "yellow"))
        lines.append(Line(f"    by       {parted(one)}"))
        lines.append(Line(f"    means    {meaning(one)}"))
    return [*lines, Line("")]
