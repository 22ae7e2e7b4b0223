"""The answer in plain words: what to take, what does nothing, what is unsure.

One short paragraph made from the verdicts and from nothing else, so that it cannot say
more than they do. Effects are told as measured ("lowers latency_p99 by ..."), while verdict
rows count up as better. Not here: numbers beyond the interval, and advice that no verdict gives.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.metrics import metric
from assay.core.units import format_percent, percent
from assay.plan import CONTROLS, Plan
from assay.reasons import Code
from assay.report.words.best import standing
from assay.report.words.curves import curve_sentences
from assay.report.words.scaling import compared, not_compared, wins
from assay.report.words.sections import flips, headline, left_race, primary, slow_runs
from assay.report.words.speeds import speeds_sentence
from assay.report.words.wording import (
    as_measured,
    codes,
    interval,
    is_arm,
    kind_of,
    label,
    listed,
    short,
)
from assay.verdict.rows import SUITE, Row, Verdicts


def answer(plan: Plan, verdicts: Verdicts) -> list[str]:
    """The sentences of the answer, most important first."""
    if told := verdicts.told_apart:
        return [f"There is no answer: {told}.", "Find out why before any of it is believed."]
    if plan.scaling is not None:
        return [s for s in _scales(plan, verdicts) if s]
    if plan.axis is not None:
        return _along(plan, verdicts)
    rows = headline(plan, verdicts)
    arms = [r for r in rows if is_arm(r)]
    if plan.screen is not None and verdicts.screen is None:
        return ["There is no answer yet: the screen is not complete."]
    if not arms and verdicts.screen is not None:
        return [f"Take nothing: the screen found nothing to confirm; {verdicts.screen.sentence}."]
    said = [_recommended(plan, verdicts, arms), _best(plan, verdicts)]
    said += _others(verdicts, arms)
    said += [_none(arms, plan.margin), _left(arms), _unsure(arms), *_invalid(arms)]
    said += [f"{text}." for text in flips(rows)]
    said += _interactions(rows, plan.margin)
    said += _by_case(plan, verdicts, arms)
    said.append(speeds_sentence(verdicts))
    said += [_slow(slow_runs(verdicts), word) for word in ("hurts", "helps")]
    said += [_typical_only(r) for r in arms]
    said += [_not_robust(r) for r in arms]
    said += [_placebo(r) for r in arms if r.arm in _placebos(plan)]
    return [s for s in said if s]


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
    """What a decided row does: "raises throughput by 4.5 % to 13.3 % in a typical run"."""
    better = metric(row.metric).better == "higher"
    verb = "raises" if (row.word == "helps") == better else "lowers"
    return f"{verb} {row.metric} {by_how_much(row)} in a typical run"


def _of(rows: Sequence[Row], word: str) -> list[Row]:
    return [r for r in rows if r.word == word]


def _recommended(plan: Plan, verdicts: Verdicts, arms: Sequence[Row]) -> str:
    taken = next((r for r in arms if r.arm == verdicts.recommended), None)
    if taken is None:
        if _of(arms, "helps"):
            return ""
        if arms and not [r for r in arms if r.word != "invalid"]:
            return "There is no answer: no verdict here is valid."
        if arms and not [r for r in arms if r.word not in ("undecided", "invalid")]:
            return "There is no answer yet: nothing is decided."
        yet = " yet" if _of(arms, "undecided") else ""
        return f"Take nothing{yet}: no change here is shown to make {verdicts.primary} better."
    if plan.design == "ladder":
        return f"Take every step up to {taken.arm}: each one helped, and the last {moves(taken)}."
    return f"Take {taken.arm}: it {moves(taken)}."


def _best(plan: Plan, verdicts: Verdicts) -> str:
    """What the arm to take could not be told from, and at what effort."""
    best = standing(plan, verdicts)
    if best is None or plan.design == "ladder" or verdicts.recommended not in best.inside:
        return ""
    efforts = {a.name: a.effort or "" for a in plan.arms}
    mine = efforts[verdicts.recommended]
    others = [arm for arm in best.inside if arm != verdicts.recommended]
    dearer = [arm for arm in others if efforts[arm] > mine]
    same = [arm for arm in others if efforts[arm] == mine]
    cheaper = [arm for arm in others if efforts[arm] < mine]
    said = [
        f"{listed(arms, 'or')} may be as good or better{text}"
        for arms, text in (
            (same, " for the same effort"),
            (dearer, " for more effort"),
            (cheaper, " for less effort, but is not shown to help"),
        )
        if arms
    ]
    return f"This study cannot tell whether it is the best: {'; '.join(said)}." if said else ""


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


def _left(arms: Sequence[Row]) -> str:
    """Arms that left a race: beaten, so nobody waited for their verdict."""
    beaten = [r for r in _of(arms, "undecided") if left_race(r)]
    return f"Beaten by another arm: {listed(label(r) for r in beaten)}." if beaten else ""


def _unsure(arms: Sequence[Row]) -> str:
    undecided = [r for r in _of(arms, "undecided") if not left_race(r)]
    bounded = [r for r in undecided if r.low is not None or r.high is not None]
    unbounded = [label(r) for r in undecided if r not in bounded]
    parts = [f"{label(r)} (anywhere in {interval(as_measured(r))})" for r in bounded]
    said = [f"Unsure: {listed(parts)}."] if parts else []
    if unbounded:
        said.append(f"Unsure, and not bounded yet: {listed(unbounded)}.")
    return " ".join(said)


def _invalid(arms: Sequence[Row]) -> list[str]:
    """Why there is no valid verdict: a missing witness, or what else spoils a comparison."""
    rows = _of(arms, "invalid")
    unseen = [label(r) for r in rows if Code.NO_WITNESS in codes(r)]
    spoiled = [r for r in rows if Code.NO_WITNESS not in codes(r)]
    said = [f"No valid verdict on {label(r)}: {_first(r)}." for r in spoiled]
    if unseen:
        said.append(
            f"No valid verdict, because what was compared was not seen in force in every run: "
            f"{listed(unseen)}."
        )
    return said


def _first(row: Row) -> str:
    return row.reasons[0].text if row.reasons else row.reason


def _interactions(rows: Sequence[Row], margin: float) -> list[str]:
    """What interactions mean for taking both; nothing while they are not decided."""
    mine = [r for r in rows if kind_of(r) == "interaction"]
    said = [
        f"Together, {_both(r)} bring {more} than the two apart would."
        for word, more in (("helps", "more"), ("hurts", "less"))
        for r in _of(mine, word)
    ]
    apart, none = [_both(r) for r in _of(mine, "no difference")], percent(margin)
    if len(apart) == 1:
        said.append(f"Together, {apart[0]} bring what the two bring apart, within {none}.")
    elif apart:
        pairs = "; ".join(apart)
        said.append(f"These bring together what they bring apart, within {none}: {pairs}.")
    return said


def _both(row: Row) -> str:
    return " and ".join(row.contrast.of.split(":"))


def _by_case(plan: Plan, verdicts: Verdicts, arms: Sequence[Row]) -> list[str]:
    """Where the cases do not all say what the suite says."""
    said = []
    for row in arms if len(plan.cases) > 1 else ():
        mine = [r for r in primary(verdicts) if r.case != SUITE and is_arm(r) and _same(r, row)]
        words = {r.case: r.word for r in mine}
        if set(words.values()) != {row.word}:
            each = [f"{word} in {case}" for case, word in words.items()]
            said.append(f"The cases differ about {label(row)}: {listed(each)}.")
    return said


def _same(one: Row, other: Row) -> bool:
    """Whether two rows compare the same things, in whatever case."""
    first, second = one.contrast, other.contrast
    return (first.of, first.given, first.against) == (second.of, second.given, second.against)


def _typical_only(row: Row) -> str:
    """Where a verdict on the typical run says nothing good of all runs together."""
    found = [r.text for r in row.reasons if r.code == Code.TYPICAL_ONLY]
    return f"Of {label(row)}, {found[0]}." if found else ""


def _not_robust(row: Row) -> str:
    """What the ruling says against its own word; empty where it stands firm."""
    found = [r.text for r in row.reasons if r.code == Code.NOT_ROBUST]
    return f"The verdict on {label(row)} is {found[0]}." if found else ""


def _slow(rows: Sequence[Row], word: str) -> str:
    """A lead on rare slow runs, which the verdicts' robust estimate hides."""
    found = [row for row in rows if row.word == word]
    if not found:
        return ""
    more = "more" if word == "hurts" else "fewer"
    arms = list(dict.fromkeys(row.arm for row in found))
    have = "has" if len(arms) == 1 else "have"
    shown = found[0].reason if len(arms) == 1 else f"of {arms[0]}, {found[0].reason}"
    return f"A lead, no verdict: {listed(arms)} {have} {more} rare slow runs: {shown}."


def _placebos(plan: Plan) -> set[str]:
    return {a.name for a in plan.arms if a.placebo and a.name not in CONTROLS}


def _placebo(row: Row) -> str:
    if row.word in ("helps", "hurts"):
        return (
            f"The placebo {row.arm} cannot matter, yet it {row.word}: "
            "trust none of this before that is explained."
        )
    return ""


# curves


def _along(plan: Plan, verdicts: Verdicts) -> list[str]:
    """What every comparison comes to over its axis, then how it scales, and what is wrong."""
    if not verdicts.curves or verdicts.planned is None:
        return ["There is no answer yet: too few blocks are done."]
    said = [f"{text[:1].upper()}{text[1:]}." for text in curve_sentences(verdicts)]
    said += _scales(plan, verdicts) if verdicts.scaling else []
    rows = primary(verdicts)
    said += list(dict.fromkeys(_placebo(r) for r in rows if r.arm in _placebos(plan)))
    return [s for s in said if s]


# scaling


def _scales(plan: Plan, verdicts: Verdicts) -> list[str]:
    """How each configuration scales, how two compare, and which is faster."""
    if not verdicts.scaling:
        return ["There is no answer yet: not all blocks are done."]
    said = []
    for case in dict.fromkeys(c.case for c in verdicts.scaling):
        where = f" in case {case}" if case and len(plan.cases) > 1 else ""
        curves = [c for c in verdicts.scaling if c.case == case]
        refused = {c.refused for c in curves}
        if len(refused) == 1 and curves[0].refused:
            said.append(f"Nothing can be said about how it scales{where}: {curves[0].refused}.")
        else:
            said += [f"{c.configuration}{where}: {c.sentence}." for c in curves]
        rows = [r for r in compared(verdicts) if r.case == case]
        if not not_compared(rows):
            said += [_parameter(r) for r in rows]
        if found := wins(plan, verdicts, case):
            said.append(f"{found[:1].upper()}{found[1:]}.")
    return said


def _parameter(row: Row) -> str:
    """One parameter of a configuration against the other's."""
    against, given = row.contrast.against, row.contrast.given
    if row.word == "helps":
        return f"{row.contrast.of} has less {given} than {against}, by {interval(row)}."
    if row.word == "hurts":
        return (
            f"{row.contrast.of} has more {given} than {against}, by {interval(as_measured(row))}."
        )
    if row.word == "invalid":
        return f"No valid verdict on the {short(row)}: {row.reason}."
    return f"Unsure about the {short(row)} against {against}: {interval(row)}, up is better."
