"""Throughput over threads in the terminal: curves in words, comparisons, a table."""

from __future__ import annotations

from collections.abc import Sequence

from assay.plan import Plan
from assay.report.words.line import Line
from assay.report.words.scaling import (
    CAUTION,
    ThreadRow,
    cases,
    compared,
    not_compared,
    thread_rows,
)
from assay.report.words.wording import STYLES, estimate, interval, listed, short
from assay.verdict.rows import ScalingRow, Verdicts


def scaling_lines(plan: Plan, verdicts: Verdicts) -> list[Line]:
    """Per case the curves in words, then throughput level by level."""
    lines: list[Line] = []
    for case in cases(verdicts):
        curves = [c for c in verdicts.scaling if c.case == case]
        where = f", case {case}" if case and len(plan.cases) > 1 else ""
        lines.append(Line(f"Scaling: {plan.primary} over threads{where}", "dim"))
        sentences: dict[str, list[str]] = {}
        for curve in curves:
            said = f"{curve.sentence} ({curve.blocks} blocks)"
            sentences.setdefault(said, []).append(curve.configuration)
        lines += [Line(f"{listed(names)}: {said}") for said, names in sentences.items()]
        lines.append(Line(""))
        lines += [] if all(c.refused for c in curves) else _compared_lines(verdicts, case)
        lines += _thread_lines(thread_rows(plan, verdicts, case), curves, plan)
        lines.append(Line(""))
    return lines


def _compared_lines(verdicts: Verdicts, case: str) -> list[Line]:
    rows = [r for r in compared(verdicts) if r.case == case]
    if not rows:
        return []
    if refused := not_compared(rows):
        return [Line(f"contention and coherency are not compared: {refused}"), Line("")]
    against = rows[0].contrast.against
    lines = [Line(f"Compared with {against}, up is better: less of it", "dim")]
    width = max(len(short(r)) for r in rows)
    for row in rows:
        size = f"   estimate {estimate(row)}" if row.estimate is not None else ""
        lines.append(
            Line(f"{short(row):{width}}   {row.word:13}   {interval(row)}{size}", STYLES[row.word])
        )
        lines.append(Line(f"    why      {row.reason}"))
    return [*lines, Line(f"    {CAUTION}"), Line("")]


def _thread_lines(
    rows: Sequence[ThreadRow], curves: Sequence[ScalingRow], plan: Plan
) -> list[Line]:
    """A small table: threads, throughput of each configuration, what their ratio suggests."""
    names = [c.configuration for c in curves]
    leads = any(r.lead for r in rows)
    heads = ["threads", *names, *([f"{names[-1]} against {names[0]} (leads)"] if leads else [])]
    cells = [
        [str(r.threads), *r.measured, f"{r.lead:15} {r.interval}" if r.lead else ""] for r in rows
    ]
    widths = [max(len(str(row[k])) for row in [heads, *cells]) for k in range(len(heads))]

    def joined(row: Sequence[str]) -> str:
        padded = (f"{cell:{w}}" for cell, w in zip(row, widths, strict=False))
        return "   ".join(padded).rstrip()

    return [Line(joined(heads), "dim"), *(Line(joined(row)) for row in cells)]
