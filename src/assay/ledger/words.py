"""What the ledger says, in words: the terminal and the page say it alike."""

from __future__ import annotations

from collections.abc import Mapping

from assay.core.metrics import metric
from assay.core.units import format_percent, format_quantity
from assay.ledger.entries import LedgerEntry, LedgerRow
from assay.ledger.series import HistoryPoint, QuestionHistory
from assay.ledger.store import ListedBundle


def lost(where: str, node: str) -> str:
    """What became of a bundle that is not in its folder."""
    return f"on {node}" if where == "elsewhere" else where


def place(listed: ListedBundle) -> str:
    """Where a bundle of the ledger is, and whether it was recomputed."""
    entry = listed.entry
    gone = "" if listed.where == "here" else f" ({lost(listed.where, entry.node)})"
    return f"{entry.folder}{gone}" + ("" if entry.checked else " (not recomputed)")


def answers(entry: LedgerEntry) -> str:
    """A bundle's answers, counted by word."""
    if entry.told_apart:
        return "invalid"
    counts: dict[str, int] = {}
    for row in entry.rows:
        if row.strength == "confirmed":
            counts[row.word] = counts.get(row.word, 0) + 1
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items())) or "none"


def row_interval(row: LedgerRow | None) -> str:
    """An answer's interval; empty without an answer."""
    if row is None:
        return ""
    low, high = ("" if end is None else format_percent(end) for end in (row.low, row.high))
    return f"[{low or '-inf'}, {high or '+inf'}]"


def point_interval(point: HistoryPoint) -> str:
    """The interval of a point of a history; empty where it has none."""
    ends = [format_percent(end) for end in (point.low, point.high) if end is not None]
    return f"[{', '.join(ends)}]" if len(ends) == 2 else ""


def differences(title: str, differs: Mapping[str, tuple[str, str]]) -> str:
    """What differs around two bundles, from what to what."""
    if not differs:
        return "nothing differs that the bundles know of"
    said = [f"{name} {one or '(empty)'} -> {other or '(empty)'}"
            for name, (one, other) in differs.items()]  # fmt: skip
    return f"{title}: " + "; ".join(said)


def history_title(found: QuestionHistory) -> str:
    """What a history is of."""
    kind = f"level of {found.label}" if found.is_level else found.label
    return f"{found.study}, {found.case}: {kind}, {found.metric}, machine {found.machine}"


def history_value(found: QuestionHistory, value: float) -> str:
    """A value of a history: a level in its unit, or an effect."""
    if found.is_level:
        return format_quantity(value, metric(found.metric).unit)
    return format_percent(value)


def history_change(found: QuestionHistory, bundle: int) -> str:
    """The change that a bundle is the first to show, from what to what; empty without one."""
    for change in found.changes:
        if change.bundle == bundle:
            before, after = (history_value(found, v) for v in (change.before, change.after))
            return f"{before} -> {after}"
    return ""


def date(started: str) -> str:
    """Day and minute."""
    return started[:16].replace("T", " ")
