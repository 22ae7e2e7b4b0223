"""What a search found, in the terminal: the answer, and each thing that was asked."""

from __future__ import annotations

from assay.bisection import Found, SearchPlan
from assay.core.units import format_duration
from assay.report.words.bisection import answer, step_line
from assay.report.words.line import Line

STYLES = {"named": "green", "range": "yellow", "undecided": "yellow", "stopped": "yellow"}


def search_lines(plan: SearchPlan, found: Found) -> list[Line]:
    """The answer, the steps, and what they took."""
    style = STYLES.get(found.answer, "")
    lines = [Line(text, style) for text in answer(plan, found)]
    lines += [Line(f"  {step_line(plan, stage)}", "dim") for stage in found.stages]
    failed = [node for node in found.nodes if not node.built]
    lines += [
        Line(f"  {plan.nodes[n.node].short} does not build: {n.reason}", "dim") for n in failed
    ]
    took = format_duration(found.took_s)
    total = f"{found.builds} builds, {found.runs} runs, {took} for {found.searched} nodes"
    return [*lines, Line(total, "dim")]
