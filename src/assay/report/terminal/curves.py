"""Curves in the terminal: what each comparison comes to, then its points as a small table."""

from __future__ import annotations

from collections.abc import Sequence

from assay.report.words.curves import CurveCells, arms_of, curve_cells, curve_heading
from assay.report.words.line import Line
from assay.report.words.wording import STYLES
from assay.verdict.rows import CurveRow, Verdicts


def curve_lines(verdicts: Verdicts) -> list[Line]:
    """Every comparison of every curve."""
    lines: list[Line] = []
    for curve in verdicts.curves:
        for contrast in curve.contrasts:
            lines.append(Line(contrast.sentence, "bold"))
            lines.append(Line(curve_heading(curve, contrast), "dim"))
            lines += _table(curve, curve_cells(verdicts, curve, contrast))
            lines.append(Line(""))
    return lines


def _table(curve: CurveRow, cells: Sequence[CurveCells]) -> list[Line]:
    """Points, what arms measured and reached there, the word and the band."""
    arms = arms_of(curve)
    reached = any(c.reached for c in cells)
    heads = [curve.axis, *arms, *([f"{a} reached" for a in arms] if reached else [])]
    heads += ["verdict", "band", "estimate", "blocks"]
    rows = [
        [
            f"{c.text} +" if c.added else c.text,
            *c.measured,
            *((c.reached or [""] * len(arms)) if reached else []),
            c.word,
            c.interval,
            c.estimate,
            str(c.blocks),
        ]
        for c in cells
    ]
    widths = [max(len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]

    def joined(row: Sequence[str]) -> str:
        return "   ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip()

    lines = [Line(joined(heads), "dim")]
    lines += [Line(joined(row), STYLES[c.word]) for row, c in zip(rows, cells, strict=True)]
    why = {c.reason: c.text for c in cells if c.word == "invalid"}
    lines += [Line(f"    at {text}: {reason}") for reason, text in why.items()]
    added = any(c.added for c in cells)
    return lines + ([Line("    + added where the crossing was", "dim")] if added else [])
