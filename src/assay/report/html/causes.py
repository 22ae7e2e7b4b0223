"""Why a verdict is what it is: the page's section of causes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.explain import Explanation
from assay.plan import Plan
from assay.report.words.explained import cause, holds, parts


def causes_view(plan: Plan, found: Sequence[Explanation]) -> dict[str, Any]:
    """What the report shows: a row for each arm with its cause, and a table of predictions."""
    several = len(plan.cases) > 1
    return {
        "rows": [
            {
                "case": one.verdict.case if several else "",
                "label": one.verdict.arm,
                "against": one.verdict.contrast.against,
                "word": one.verdict.word,
                "held": holds(one),
                "cause": cause(one) or "nothing was predicted, and nothing else stands out",
                "parts": [{"name": name, "text": text} for name, text, _ in parts(one)],
            }
            for one in found
        ],
        "cases": several,
        "empty": "" if found else "No arm has a verdict that could be explained.",
    }
