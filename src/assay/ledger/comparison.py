"""Two bundles of one study: which answers agree, contradict, or cannot be compared, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from assay.core.errors import InputError
from assay.ledger.entries import BY_KIND, Entered, LedgerEntry, LedgerRow
from assay.ledger.series import differing

Relation = Literal["agree", "other size", "compatible", "contradict", "not comparable"]

HARMLESS = frozenset({"Assay", "version of the statistics", "python", "digest of the study"})
"""Differences under which two answers contradict each other all the same. The study's text may
differ in a comment; what it says of arms, cases and rule is compared by itself."""


class ComparedAnswers(Entered):
    """Two answers of one question, and how they stand to each other; `why` for people."""

    label: str
    case: str
    metric: str
    relation: Relation
    why: str
    first: LedgerRow | None
    second: LedgerRow | None


class BundleComparison(Entered):
    """Two bundles of one study; `differs` are facts of hosts, servers and measuring, from what to
    what."""

    study: str
    folders: tuple[str, str]
    differs: dict[str, tuple[str, str]]
    answers: list[ComparedAnswers]


def compare_entries(first: LedgerEntry, second: LedgerEntry) -> BundleComparison:
    """Compare the answers of two bundles, leads left out. InputError if they are of two studies."""
    if (first.study, first.kind) != (second.study, second.kind):
        raise InputError(
            f"{first.folder} is of study {first.study}, {second.folder} of {second.study}",
            next_step=f"assay ledger list --study {first.study}",
        )
    differs = differing(first, second)
    answers = list(_answers(first, second, differs))
    return BundleComparison(
        study=first.study,
        folders=(first.folder, second.folder),
        differs=differs,
        answers=answers,
    )


def _answers(
    first: LedgerEntry, second: LedgerEntry, differs: Mapping[str, tuple[str, str]]
) -> Iterator[ComparedAnswers]:
    mine, its = (
        {row.question: row for row in entry.rows if row.strength in ("confirmed", BY_KIND)}
        for entry in (first, second)
    )
    places = [name for name in differs if name not in HARMLESS]
    for question in dict.fromkeys([*mine, *its]):
        one, other = mine.get(question), its.get(question)
        row = one or other
        assert row is not None, "a question comes from one of the two"
        why = _incomparable(first, second, one, other)
        if why or one is None or other is None:
            relation: Relation = "not comparable"
        else:
            relation, why = _relation(one, other, places)
        yield ComparedAnswers(
            label=row.label, case=row.case, metric=row.metric, relation=relation, why=why,
            first=one, second=other,
        )  # fmt: skip


def _incomparable(
    first: LedgerEntry, second: LedgerEntry, one: LedgerRow | None, other: LedgerRow | None
) -> str:
    """Why two rows are no answers to one question; empty where they are."""
    if one is None or other is None:
        return f"the {'first' if one is None else 'second'} bundle has no answer to it"
    for place, entry, row in (("first", first, one), ("second", second, other)):
        if entry.told_apart:
            return f"the {place} bundle is invalid: {entry.told_apart}"
        if row.word == "invalid":
            return f"the {place} answer is invalid: {row.reason}"
    if (one.target, one.workload) != (other.target, other.workload):
        return f"{one.target} under {one.workload}, and {other.target} under {other.workload}"
    if one.changes != other.changes:
        return f"it is about {', '.join(one.changes)}, and about {', '.join(other.changes)}"
    for arm in (one.of, one.against):
        levels = first.arms.get(arm, {}), second.arms.get(arm, {})
        if levels[0] != levels[1]:
            return f"arm {arm} has other levels: {_levels(levels[0])}, and {_levels(levels[1])}"
    return ""


def _levels(levels: Mapping[str, str]) -> str:
    return " ".join(f"{name}={level}" for name, level in levels.items())


def _relation(one: LedgerRow, other: LedgerRow, places: list[str]) -> tuple[Relation, str]:
    apart = _are_apart(one, other)
    opposite = {one.word, other.word} == {"helps", "hurts"}
    if one.word == other.word and not apart:
        return ("compatible", "neither decided") if one.word == "undecided" else ("agree", "")
    if one.word == other.word and one.word != "undecided":
        return "other size", "the intervals are apart" + _around(places)
    if not (apart or opposite):
        return "compatible", f"{one.word}, and {other.word}; the intervals overlap"
    if places:
        return "not comparable", f"{one.word}, and {other.word}{_around(places)}"
    return "contradict", f"{one.word}, and {other.word}; nothing else is known to differ"


def _around(places: list[str]) -> str:
    return f"; so are {', '.join(places)}" if places else ""


def _are_apart(one: LedgerRow, other: LedgerRow) -> bool:
    """Whether no value is in both intervals; an end that is not bounded bounds nothing."""
    return _below(one, other) or _below(other, one)


def _below(one: LedgerRow, other: LedgerRow) -> bool:
    return one.high is not None and other.low is not None and one.high < other.low
