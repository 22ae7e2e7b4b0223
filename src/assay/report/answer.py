"""The answer in plain words: what to take, what does nothing, what is unsure.

One short paragraph made from the verdicts and from nothing else, so that it cannot say
more than they do. Effects are told as measured ("lowers latency_p99 by ..."), while verdict
rows count up as better. Not here: numbers beyond the interval, and advice that no verdict gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay._units import format_percent
from assay.metrics import metric
from assay.report.text import interval, label
from assay.study import Plan
from assay.verdict.rows import SUITE, Row, Verdicts
from assay.verdict.rule import percent


def answer(plan: Plan, verdicts: Verdicts) -> list[str]:
    """The sentences of the answer, most important first."""
    rows = headline(plan, verdicts)
    arms = [r for r in rows if r.arm]
    said = [_recommended(plan, verdicts, arms)]
    said += _others(verdicts, arms)
    said += [_none(arms, plan.margin), _unsure(arms), _invalid(arms)]
    said += [_combined(r, plan.margin) for r in rows if ":" in r.contrast.of and not r.arm]
    said += _by_case(plan, verdicts, arms)
    said += [_fragile(r) for r in arms]
    said += [_placebo(r) for r in arms if r.arm in _placebos(plan)]
    return [s for s in said if s]


def headline(plan: Plan, verdicts: Verdicts) -> list[Row]:
    """The primary rows that the answer is about: of the suite where there are several cases."""
    case = SUITE if len(plan.cases) > 1 else plan.cases[0].name
    return [r for r in primary(verdicts) if r.case == case]


def primary(verdicts: Verdicts) -> list[Row]:
    """The rows that are verdicts; a study may watch its primary metric as a lead as well."""
    return [r for r in verdicts.verdicts if r.metric == verdicts.primary and not is_lead(r)]


def is_lead(row: Row) -> bool:
    """Whether a row only suggests."""
    return row.strength == "suggests"


def as_measured(row: Row) -> Row:
    """The row with effects as changes of the metric itself, up as more, not up as better."""
    if metric(row.metric).better == "higher":
        return row
    return row.model_copy(
        update={
            "estimate": _inverse(row.estimate),
            "low": _inverse(row.high),
            "high": _inverse(row.low),
        }
    )


def _inverse(effect: float | None) -> float | None:
    return None if effect is None else 1 / (1 + effect) - 1


def by_how_much(row: Row) -> str:
    """The size of an effect whose direction is known: "by 4.5 % to 13.3 %"."""
    measured = as_measured(row)
    ends = [e for e in (measured.low, measured.high) if e is not None]
    sizes = sorted(abs(e) for e in ends)
    shown = [format_percent(s, signed=False) for s in sizes]
    if not shown:
        return "by an amount that nothing bounds yet"
    if len(shown) == 1:
        return f"by at least {shown[0]}"
    return f"by {shown[0]}" if shown[0] == shown[1] else f"by {shown[0]} to {shown[1]}"


def moves(row: Row) -> str:
    """What a decided row does to its metric: "raises throughput by 4.5 % to 13.3 %"."""
    better = metric(row.metric).better == "higher"
    verb = "raises" if (row.word == "helps") == better else "lowers"
    return f"{verb} {row.metric} {by_how_much(row)}"


def listed(names: Iterable[str]) -> str:
    """Names as a sentence has them: "a, b and c"."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _of(rows: Sequence[Row], word: str) -> list[Row]:
    return [r for r in rows if r.word == word]


def _recommended(plan: Plan, verdicts: Verdicts, arms: Sequence[Row]) -> str:
    taken = next((r for r in arms if r.arm == verdicts.recommended), None)
    if taken is None:
        if _of(arms, "helps"):
            return ""
        if arms and not [r for r in arms if r.word not in ("undecided", "invalid")]:
            return "There is no answer yet: nothing is decided."
        yet = " yet" if _of(arms, "undecided") else ""
        return f"Take nothing{yet}: no change here is shown to make {verdicts.primary} better."
    if plan.design == "ladder":
        return f"Take every step up to {taken.arm}: each one helped, and the last {moves(taken)}."
    return f"Take {taken.arm}: it {moves(taken)}."


def _others(verdicts: Verdicts, arms: Sequence[Row]) -> list[str]:
    said = []
    helping = [r for r in _of(arms, "helps") if r.arm != verdicts.recommended]
    if helping and verdicts.recommended:
        parts = [f"{label(r)} ({by_how_much(r)})" for r in helping]
        said.append(f"Also shown to help: {listed(parts)}.")
    elif helping:
        parts = [f"{label(r)} {moves(r)}" for r in helping]
        said.append(f"Shown to help, though no arm is recommended: {listed(parts)}.")
    said += [f"Do not take {label(r)}: it {moves(r)}." for r in _of(arms, "hurts")]
    return said


def _none(arms: Sequence[Row], margin: float) -> str:
    names = [label(r) for r in _of(arms, "no difference")]
    return f"No difference larger than {percent(margin)}: {listed(names)}." if names else ""


def _unsure(arms: Sequence[Row]) -> str:
    undecided = _of(arms, "undecided")
    bounded = [r for r in undecided if r.low is not None or r.high is not None]
    unbounded = [label(r) for r in undecided if r not in bounded]
    parts = [f"{label(r)} (anywhere in {interval(as_measured(r))})" for r in bounded]
    said = [f"Unsure: {listed(parts)}."] if parts else []
    if unbounded:
        said.append(f"Unsure, and not bounded yet: {listed(unbounded)}.")
    return " ".join(said)


def _invalid(arms: Sequence[Row]) -> str:
    names = [label(r) for r in _of(arms, "invalid")]
    if not names:
        return ""
    return (
        f"No valid verdict, because what was compared was not seen in force in every run: "
        f"{listed(names)}."
    )


def _combined(row: Row, margin: float) -> str:
    """What an interaction means for taking both; empty while it is not decided."""
    both = " and ".join(row.contrast.of.split(":"))
    none = percent(margin)
    said = {
        "helps": f"Together, {both} bring more than the two apart would.",
        "hurts": f"Together, {both} bring less than the two apart would.",
        "no difference": f"Together, {both} bring what the two bring apart, within {none}.",
    }
    return said.get(row.word, "")


def _by_case(plan: Plan, verdicts: Verdicts, arms: Sequence[Row]) -> list[str]:
    """Where the cases do not all say what the suite says."""
    said = []
    for row in arms if len(plan.cases) > 1 else ():
        mine = [
            r
            for r in primary(verdicts)
            if r.case != SUITE
            and (r.contrast.of, r.contrast.given) == (row.contrast.of, row.contrast.given)
        ]
        words = {r.case: r.word for r in mine}
        if set(words.values()) != {row.word}:
            each = [f"{word} in {case}" for case, word in words.items()]
            said.append(f"The cases differ about {label(row)}: {listed(each)}.")
    return said


def _fragile(row: Row) -> str:
    """What the ruling says against its own word; empty where it stands firm."""
    _, found, doubt = row.reason.partition("fragile: ")
    return f"The verdict on {label(row)} is fragile: {doubt}." if found else ""


def _placebos(plan: Plan) -> set[str]:
    return {a.name for a in plan.arms if a.placebo}


def _placebo(row: Row) -> str:
    if row.word in ("helps", "hurts"):
        return (
            f"The placebo {row.arm} cannot matter, yet it {row.word}: "
            "trust none of this before that is explained."
        )
    return ""
