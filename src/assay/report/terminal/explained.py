"""Why a verdict is what it is: what `assay explain` prints."""

from __future__ import annotations

from collections.abc import Sequence

from assay.explain import Explanation
from assay.plan import Plan
from assay.report.words.built import build_lines
from assay.report.words.explained import parts
from assay.report.words.line import Line
from assay.report.words.wording import STYLES, estimate, interval


def explanation_lines(plan: Plan, found: Sequence[Explanation]) -> list[Line]:
    """Everything that `assay explain` prints of a study's arms."""
    lines = []
    for one in found:
        row = one.verdict
        case = f"{row.case}: " if len(plan.cases) > 1 else ""
        size = f"   {estimate(row)} {interval(row)}" if row.estimate is not None else ""
        head = f"{case}{row.arm} against {row.contrast.against}   {row.word}{size}"
        lines.append(Line(head, STYLES[row.word]))
        lines += [Line(f"    {name:9} {text}", style) for name, text, style in parts(one)]
        lines.append(Line(""))
    return (
        lines + build_lines(plan)
        if lines
        else [Line("no arm has a verdict that could be explained", "yellow")]
    )
