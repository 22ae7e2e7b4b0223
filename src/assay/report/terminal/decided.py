"""Decisions as lines of text: a table per metric, the reasons, and the warnings."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.cells import cell_len

from assay.report.words.line import Line
from assay.report.words.wording import STYLES
from assay.stats import Decision, Verdict

HEAD = ("arm", "median", "typical run, + better", "estimate", "total", "verdict", "blocks")
_RIGHT = (1, 3, 6)  # columns of numbers


def decision_lines(title: str, decision: Decision) -> list[Line]:
    """One metric: a line per arm, the baseline first, and then why each verdict is what it is."""
    rows = [HEAD, (decision.baseline, _number(decision.medians[decision.baseline]), *[""] * 5)]
    rows += [_row(verdict, decision.medians[arm]) for arm, verdict in decision.verdicts.items()]
    styles = ["dim", "", *(STYLES[verdict.word] for verdict in decision.verdicts.values())]
    width = max(map(cell_len, decision.medians))
    why = [(_padded(arm, width), v.reason) for arm, v in decision.verdicts.items()]
    return [
        Line(title, "bold"),
        *(Line(text, style) for text, style in zip(_aligned(rows), styles, strict=True)),
        *(Line(f"  {arm}  {reason}", "dim") for arm, reason in why),
        Line(""),
    ]


def warning_lines(decisions: Mapping[str, Decision]) -> list[Line]:
    """Each warning once, with the metrics it is about unless these are all."""
    about: dict[str, list[str]] = {}
    for name, decision in decisions.items():
        for text in decision.warnings:
            about.setdefault(text, []).append(name)
    lines = []
    for text, of in about.items():
        where = "" if len(of) == len(decisions) else ", ".join(of) + ": "
        lines.append(Line(f"warning: {where}{text}", "yellow"))
    return lines


def _row(verdict: Verdict, median: float) -> tuple[str, ...]:
    low, high = verdict.low, verdict.high
    digits = 1 if low is None or high is None else _digits(high - low)
    estimate = _percent(verdict.estimate, digits)
    total = "" if verdict.total is None else _interval(verdict.total.low, verdict.total.high)
    word, blocks = str(verdict.word), str(verdict.blocks)
    interval = _interval(low, high)
    return verdict.arm, _number(median), interval, estimate, total, word, blocks


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "[unbounded]"
    digits = _digits(high - low)
    return f"[{_percent(low, digits)}, {_percent(high, digits)}]"


def _digits(width: float) -> int:
    """Digits after the point that show an interval's width to two places; many runs need more."""
    return 2 if width <= 0 else min(max(1, 1 - math.floor(math.log10(100 * width))), 6)


def _percent(fraction: float, digits: int) -> str:
    percent = 100 * fraction
    if abs(percent) >= 1e5:
        return f"{percent:+.3g} %"
    return f"{round(percent, digits) + 0.0:+.{digits}f} %"  # + 0.0: no "-0.00 %"


def _number(value: float) -> str:
    """Four digits or more, without an exponent where that is readable."""
    if not 1e-4 <= value < 1e12:
        return f"{value:.4g}"
    return f"{value:.{max(0, 3 - math.floor(math.log10(value)))}f}"


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Columns two blanks apart, numbers to the right."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            _padded(cell, width, right=k in _RIGHT)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _padded(text: str, width: int, *, right: bool = False) -> str:
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks
