"""The history of one question over time, versions and machines, with change points.

A series is of one question on one machine: another machine is another series, since a level moves
with the machine and an effect may.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.ledger.entries import BY_KIND, Entered, LedgerEntry, LedgerRow
from assay.stats.change_points import change_points


class HistoryPoint(Entered):
    """One bundle's answer, or level. Effects are fractions; a level is in its metric's unit, and
    has no interval."""

    bundle: int
    folder: str
    started: str
    assay: str
    word: str
    value: float
    low: float | None
    high: float | None


class HistoryChange(Entered):
    """A change of level: first seen in `bundle`; `differs` are facts, versions and texts that
    changed there, from what to what."""

    bundle: int
    started: str
    before: float
    after: float
    p: float
    differs: dict[str, tuple[str, str]]


class QuestionHistory(Entered):
    """A question on one machine: its answers in the order of time, and where they changed."""

    study: str
    case: str
    label: str
    metric: str
    machine: str
    is_level: bool
    points: list[HistoryPoint]
    changes: list[HistoryChange]


Numbered = tuple[int, LedgerEntry]


def histories(
    entries: Iterable[Numbered], *, of: str = "", case: str = "", metric: str = "",
    request: str = "", level: bool = False,
) -> list[QuestionHistory]:  # fmt: skip
    """The histories that entries give, those with most points first; `of`, `case` and `metric`
    keep what is equal to them, `request` follows answers for that kind of request instead of the
    whole, and `level` levels of arms instead of effects."""
    ordered = sorted(entries, key=lambda numbered: (numbered[1].started, numbered[0]))
    series: dict[tuple[str, ...], list[tuple[Numbered, HistoryPoint]]] = {}
    for numbered in ordered:
        made = _levels(numbered, of) if level else _answers(numbered, of, request)
        for key, point in made:
            if case in ("", key[1]) and metric in ("", key[3]):
                series.setdefault(key, []).append((numbered, point))
    found = [_history(key, points, level) for key, points in series.items()]
    return sorted(found, key=lambda history: (-len(history.points), history.label))


def differing(
    first: LedgerEntry, second: LedgerEntry, texts: bool = True
) -> dict[str, tuple[str, str]]:
    """What differs around two bundles: facts of the host, versions of servers and of Assay, how
    was measured, and (with `texts`) the study's text. From what to what."""
    found: dict[str, tuple[str, str]] = {}
    own = {
        "Assay": (first.assay, second.assay),
        "version of the statistics": (str(first.statistics), str(second.statistics)),
    }
    if texts:
        own["digest of the study"] = (first.study_sha256[:12], second.study_sha256[:12])
    for name, (one, other) in own.items():
        if one != other:
            found[name] = (one, other)
    for group in ("facts", "servers", "conditions"):
        found |= _differences(getattr(first, group), getattr(second, group))
    return found


def _differences(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    found = {}
    for name in sorted({*first, *second}):
        one, other = first.get(name, "not known"), second.get(name, "not known")
        if one != other:
            found[name] = _short(one, other) if name == "cpu_features" else (one, other)
    return found


def _short(one: str, other: str) -> tuple[str, str]:
    """Of two long lists of words, those that the other lacks."""
    mine, its = set(one.split()), set(other.split())
    return " ".join(sorted(mine - its)) or "-", " ".join(sorted(its - mine)) or "-"


def _answers(
    numbered: Numbered, of: str, request: str
) -> Iterator[tuple[tuple[str, ...], HistoryPoint]]:
    number, entry = numbered
    strength = BY_KIND if request else "confirmed"
    for row in entry.rows:
        if row.strength != strength or row.request != request or row.estimate is None:
            continue
        if row.word == "invalid" or entry.told_apart:
            continue
        if of in ("", row.of, row.label):
            key = (entry.study, row.case, _titled(row), row.metric, entry.machine)
            yield key, _point(number, entry, row.estimate, row.word, row.low, row.high)


def _titled(row: LedgerRow) -> str:
    return row.label if row.kind == "change" else f"{row.label} ({row.kind} effect)"


def _levels(numbered: Numbered, of: str) -> Iterator[tuple[tuple[str, ...], HistoryPoint]]:
    number, entry = numbered
    for level in entry.levels:
        if of in ("", level.arm):
            key = (entry.study, level.case, level.arm, level.metric, entry.machine)
            yield key, _point(number, entry, level.value)


def _point(
    number: int, entry: LedgerEntry, value: float, word: str = "",
    low: float | None = None, high: float | None = None,
) -> HistoryPoint:  # fmt: skip
    return HistoryPoint(
        bundle=number, folder=entry.folder, started=entry.started, assay=entry.assay,
        word=word, value=value, low=low, high=high,
    )  # fmt: skip


def _history(
    key: tuple[str, ...], points: Sequence[tuple[Numbered, HistoryPoint]], level: bool
) -> QuestionHistory:
    study, case, label, metric, machine = key
    values = [point.value for _, point in points]
    changes = []
    for found in change_points([_log(value, level) for value in values]):
        (_, before), _ = points[found.index - 1]
        (number, after), _ = points[found.index]
        changes.append(
            HistoryChange(
                bundle=number,
                started=after.started,
                before=_value(found.before, level),
                after=_value(found.after, level),
                p=found.p,
                differs=differing(before, after),
            )
        )
    return QuestionHistory(
        study=study, case=case, label=label, metric=metric, machine=machine, is_level=level,
        points=[point for _, point in points], changes=changes,
    )  # fmt: skip


def _log(value: float, level: bool) -> float:
    """Ratios on the scale on which they add up; what has no logarithm stays as it is."""
    if level:
        return math.log(value) if value > 0 else value
    return math.log1p(value) if value > -1 else value


def _value(logged: float, level: bool) -> float:
    return math.exp(logged) if level else math.expm1(logged)
