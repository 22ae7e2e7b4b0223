"""A comparison as a gate: what fails, and how a continuous integration is told.

Only *hurts* fails, and only where the interval says that it is more than was allowed: a gate that
closes on noise is switched off within a week. Not here: where the texts go.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from xml.etree import ElementTree

from assay.compare.study_text import FACTOR
from assay.core.metrics import metric
from assay.core.printable import markdown_cell, printable
from assay.core.units import format_percent, format_quantity, percent
from assay.plan import Plan
from assay.plan.names import BASELINE
from assay.record import RunRecord
from assay.report.words.answer import answer
from assay.report.words.wording import as_measured, interval, is_arm
from assay.verdict.rows import SUITE, Row, Verdicts

MARKS = {"helps": "✅", "hurts": "❌", "no difference": "➖", "undecided": "❔", "invalid": "⚠️"}


def judged(plan: Plan, verdicts: Verdicts) -> list[Row]:
    """The verdicts on commands: of each case, and with several cases of all together."""
    return [r for r in verdicts.verdicts if is_arm(r) and r.metric == plan.primary]


def least_loss(row: Row) -> float:
    """By how much a command is worse at least, as measured: 0.03 is 3 % more time, or 3 % less of
    what should be much. Zero unless it hurts."""
    if row.word != "hurts":
        return 0.0
    seen = as_measured(row)
    ends = [abs(e) for e in (seen.low, seen.high) if e is not None]
    return min(ends, default=0.0)


def failing(plan: Plan, verdicts: Verdicts, allowed: float) -> list[Row]:
    """The verdicts that close the gate: those that hurt, surely by more than `allowed`."""
    rows = judged(plan, verdicts)
    return [r for r in rows if r.word == "hurts" and least_loss(r) >= allowed]


def markdown(plan: Plan, records: Sequence[RunRecord], verdicts: Verdicts, allowed: float) -> str:
    """The summary of a step, or a comment: a table, and the answer in sentences."""
    failed = failing(plan, verdicts, allowed)
    known = metric(plan.primary)
    title = "is worse than allowed" if failed else "nothing is worse than allowed"
    names = ", ".join(dict.fromkeys(_code(r.arm) for r in failed))
    lines = [
        f"### {'❌' if failed else '✅'} Assay: {f'{names} {title}' if failed else title}",
        "",
        f"{known.text}; {known.better} is better. A loss fails from {percent(allowed)} on."
        if allowed
        else f"{known.text}; {known.better} is better. Every sure loss fails.",
        "",
        "| | command | median | typical run, + is better | verdict | runs |",
        "|---|---|---|---|---|---|",
    ]
    for case in plan.cases:
        lines += _rows(plan, records, verdicts, case.name)
    lines += ["", *(f"{markdown_cell(s)}  " for s in answer(plan, verdicts))]
    lines += [f"{verdicts.blocks} blocks, {verdicts.runs} runs, seed {plan.seed}."]
    lines += [f"> {markdown_cell(w)}" for w in verdicts.warnings]
    return "\n".join(lines) + "\n"


def _rows(plan: Plan, records: Sequence[RunRecord], verdicts: Verdicts, case: str) -> list[str]:
    unit = metric(plan.primary).unit
    found = {r.arm: r for r in judged(plan, verdicts) if r.case == case and r.scope != SUITE}
    lines = []
    for arm in plan.arms:
        if arm.placebo:
            continue
        values = [
            r.metrics[plan.primary]
            for r in records
            if r.status == "ok" and (r.case, r.arm) == (case, arm.name)
        ]
        median = format_quantity(statistics.median(values), unit) if values else ""
        name = _code(arm.levels[FACTOR])
        name = f"{markdown_cell(case)}: {name}" if len(plan.cases) > 1 else name
        row = found.get(arm.name)
        said = (
            ("", "baseline", "")
            if arm.name == BASELINE or row is None
            else (MARKS.get(row.word, ""), interval(row), row.word)
        )
        mark, effect, word = said
        lines.append(f"| {mark} | {name} | {median} | {effect} | {word} | {len(values)} |")
    return lines


def junit(plan: Plan, verdicts: Verdicts, allowed: float) -> str:
    """A test case for each verdict; those that close the gate are failures, the undecided and the
    invalid are skipped."""
    failed = failing(plan, verdicts, allowed)
    rows = judged(plan, verdicts)
    suite = ElementTree.Element(
        "testsuite",
        name="assay",
        tests=str(len(rows)),
        failures=str(len(failed)),
        skipped=str(sum(r.word in ("undecided", "invalid") for r in rows)),
    )
    for row in rows:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"assay.{printable(row.case)}", name=printable(row.arm)
        )
        said = f"{row.word} {interval(row)}: {row.reason}"
        if row in failed:
            ElementTree.SubElement(case, "failure", message=printable(_loss(row)))
        elif row.word in ("undecided", "invalid"):
            ElementTree.SubElement(case, "skipped", message=printable(said))
        ElementTree.SubElement(case, "system-out").text = printable(said)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def notes(plan: Plan, verdicts: Verdicts, allowed: float) -> list[str]:
    """Commands of a GitHub workflow: an error for what closes the gate, a warning for what hurts
    less, and for what is not valid."""
    failed = failing(plan, verdicts, allowed)
    found = []
    for row in judged(plan, verdicts):
        if row in failed:
            found.append(_annotation("error", row, _loss(row)))
        elif row.word == "hurts":
            found.append(_annotation("warning", row, f"{_loss(row)}; that is allowed"))
        elif row.word == "invalid":
            found.append(_annotation("warning", row, f"no valid verdict: {row.reason}"))
    return found


def _loss(row: Row) -> str:
    seen = as_measured(row)
    least = format_percent(least_loss(row), signed=False)
    return f"{row.arm} changes {row.metric} by {interval(seen)}, at least {least} for the worse"


def _annotation(kind: str, row: Row, text: str) -> str:
    """Its title and text, with what ends them written as GitHub wants it."""

    def kept(said: str) -> str:
        said = said.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        return said

    title = kept(f"assay: {row.case}").replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={title}::{kept(text)}"


def _code(name: str) -> str:
    """A name as code in a cell of a table."""
    return f"`{printable(name).replace('`', chr(39)).replace('|', chr(92) + '|')}`"
