"""Why a verdict is what it is: the page's section of causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.explain import Explanation
from assay.plan import Plan
from assay.report.words.explained import cause, holds, parts


@dataclass(frozen=True)
class CausePart:
    """One part of an explanation; `name` is empty where it belongs to the part above."""

    name: str
    text: str


@dataclass(frozen=True)
class CauseRow:
    """Why one arm's verdict is what it is."""

    case: str
    """Empty where there is one case."""
    label: str
    against: str
    word: str
    held: bool
    """Whether nothing that was predicted turned out otherwise."""
    cause: str
    """In one line."""
    parts: list[CausePart]


@dataclass(frozen=True)
class CauseSection:
    """The causes of all arms."""

    rows: list[CauseRow]
    cases: bool
    """Whether there are several cases."""
    empty: str
    """Why there is no row; empty where there are some."""


def causes_view(plan: Plan, found: Sequence[Explanation]) -> CauseSection:
    """What the report shows: a row for each arm with its cause, and a table of predictions."""
    several = len(plan.cases) > 1
    return CauseSection(
        rows=[
            CauseRow(
                case=one.verdict.case if several else "",
                label=one.verdict.arm,
                against=one.verdict.contrast.against,
                word=one.verdict.word,
                held=holds(one),
                cause=cause(one) or "nothing was predicted, and nothing else stands out",
                parts=[CausePart(name, text) for name, text, _ in parts(one)],
            )
            for one in found
        ],
        cases=several,
        empty="" if found else "No arm has a verdict that could be explained.",
    )
