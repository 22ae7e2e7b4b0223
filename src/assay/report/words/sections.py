"""Rows grouped by what they are, for the terminal and for the page.

A reader who has to act on it must not take an averaged effect for an arm, a lead for a verdict,
or the self-check for a result. So each kind of row stands under a heading that says what it is,
and rows that only suggest stand nowhere among those that are confirmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.plan import Plan
from assay.reasons import Code, worded
from assay.report.words.wording import codes, is_lead, kind_of, listed
from assay.verdict.rows import SUITE, Row, Verdicts


@dataclass(frozen=True)
class RowSection:
    """Rows of one kind. `title` says what they are, `note` how to read them."""

    key: str
    title: str
    note: str
    rows: list[Row]


_SECTIONS = {
    "change": ("Changes: each arm against {baseline}{fresh}", ""),
    "step": (
        "Steps, in this order",
        "Each rung is compared with the one below. A ladder cannot tell what a change does by "
        "itself, or together with others, from its place in the order.",
    ),
    "main": (
        "Main effects: averaged over the settings of the others",
        "An average can hide an effect that helps in one setting and hurts in another; the simple "
        "effects show it.",
    ),
    "simple": ("Simple effects: at one setting of the others", ""),
    "interaction": (
        "Interactions: half of how much one effect changes when the other is on",
        "Above zero, the two bring more together than apart; below zero, less.",
    ),
    "control": (
        "Self-check: an arm equal to the baseline",
        "Nothing should tell it from {baseline}. If something does, this harness makes "
        "differences of its own, and no verdict of the study is valid.",
    ),
}


def sections(plan: Plan, rows: Sequence[Row]) -> list[RowSection]:
    """Confirmed rows by kind, kinds without rows left out; scaling has a place of its own."""
    kinds = [(kind_of(row), row) for row in rows]
    fresh = ", on fresh runs" if plan.screen else ""
    names = {"baseline": plan.baseline, "fresh": fresh}
    return [
        RowSection(key, title.format(**names), note.format(**names), own)
        for key, (title, note) in _SECTIONS.items()
        if (own := [row for kind, row in kinds if kind == key])
    ]


def primary(verdicts: Verdicts) -> list[Row]:
    """The rows that are verdicts; a study may watch its primary metric as a lead as well."""
    return [r for r in verdicts.verdicts if r.metric == verdicts.primary and not is_lead(r)]


def headline(plan: Plan, verdicts: Verdicts) -> list[Row]:
    """The verdicts that the answer is about: of the suite where there are several cases."""
    return [r for r in primary(verdicts) if r.case == main_case(plan)]


def main_case(plan: Plan) -> str:
    """The case that a study speaks of first."""
    return SUITE if plan.has_suite else plan.cases[0].name


def heading(plan: Plan, case: str) -> str:
    """How a case is introduced; empty where there is only one."""
    if len(plan.cases) == 1:
        return ""
    if case == SUITE:
        return f"{'Both' if len(plan.cases) == 2 else f'All {len(plan.cases)}'} cases together"
    return f"Case {case}" if plan.axis is None else case


# leads


def slow_runs(verdicts: Verdicts) -> list[Row]:
    """The stability lines."""
    return [r for r in verdicts.verdicts if r.contrast.kind == "stability"]


def predictions(verdicts: Verdicts) -> list[Row]:
    """What changes were to move, and what became of that."""
    return [r for r in verdicts.verdicts if r.contrast.kind == "prediction"]


def by_threads(plan: Plan, verdicts: Verdicts) -> list[Row]:
    """Of a scaling study: which configuration is faster at each number of threads."""
    if plan.scaling is None:
        return []
    return [r for r in verdicts.verdicts if is_lead(r) and r.contrast.kind == "simple"]


def other_leads(plan: Plan, verdicts: Verdicts) -> list[Row]:
    """What other metrics suggest; leads with a place of their own are not among them."""
    apart = [*slow_runs(verdicts), *by_threads(plan, verdicts), *predictions(verdicts)]
    return [
        r
        for r in verdicts.verdicts
        if is_lead(r) and r not in apart and not _of_the_screen(plan, r)
    ]


def _of_the_screen(plan: Plan, row: Row) -> bool:
    return plan.screen is not None and not row.contrast.against


# reasons


_PLAIN = (Code.ABOVE_ZERO, Code.BELOW_ZERO, Code.WITHIN_MARGIN)


def is_plain(row: Row) -> bool:
    """Whether a row's reasons say no more than word and interval do."""
    return (
        len(row.reasons) == 1
        and row.reasons[0].code in _PLAIN
        and ("less_than" not in row.reasons[0].fields)
    )


def own_reason(row: Row) -> str:
    """A row's reason without what is wrong with the whole study, which is said once.

    Of an arm that another beat before its own verdict, only that.
    """
    if not row.reasons:
        return row.reason
    if left := [r for r in row.reasons if r.code == Code.LEFT_RACE]:
        return worded(left)
    return worded(r for r in row.reasons if r.code != Code.CONTROL_DIFFERS)


def left_race(row: Row) -> bool:
    """Whether an arm was beaten before its own verdict."""
    return Code.LEFT_RACE in codes(row)


def flips(rows: Sequence[Row]) -> list[str]:
    """Factors that help in one setting of the others and hurt in another: no average tells it."""
    simple = [r for r in rows if kind_of(r) == "simple"]
    said = []
    for factor in dict.fromkeys(r.contrast.of for r in simple):
        alone = [r for r in rows if kind_of(r) == "change" and r.contrast.of == factor]
        mine = [*alone, *(r for r in simple if r.contrast.of == factor)]
        helps, hurts = ([r for r in mine if r.word == word] for word in ("helps", "hurts"))
        if helps and hurts:
            said.append(
                f"{factor} changes its sign: it helps {_where(helps)}, and hurts {_where(hurts)}"
            )
    return said


def _where(rows: Sequence[Row]) -> str:
    given = [r.contrast.given for r in rows if r.contrast.given]
    alone = ["alone"] if len(given) < len(rows) else []
    return listed([*alone, *([f"given {listed(given)}"] if given else [])])
