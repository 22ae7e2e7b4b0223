"""Stalls in the terminal: a line each arm that has any, and what they were."""

from __future__ import annotations

from collections.abc import Sequence

from assay.explain import ArmStalls
from assay.plan import Plan
from assay.report.words.line import Line
from assay.report.words.stalls import stall_cause, stall_text


def stall_lines(plan: Plan, found: Sequence[ArmStalls]) -> list[Line]:
    """Every arm with stalls; nothing where no run had one."""
    lines = []
    for one in found:
        case = f"{one.case}: " if len(plan.cases) > 1 else ""
        lines.append(Line(f"{case}{one.arm}   stalls   {stall_text(one)}", "yellow"))
        lines.append(Line(f"    cause     {stall_cause(one)}"))
    return [*lines, Line("")] if lines else []
