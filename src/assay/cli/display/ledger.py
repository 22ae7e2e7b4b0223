"""What the ledger says, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.core.metrics import metric
from assay.core.units import format_percent, format_quantity
from assay.ledger import (
    BundleComparison,
    FoundAnswer,
    LedgerEntry,
    LedgerRow,
    ListedBundle,
    QuestionHistory,
)
from assay.ledger.rebuilding import Rebuilt
from assay.report import Line
from assay.report.words.wording import STYLES

RELATIONS: Mapping[str, str] = {
    "agree": "green",
    "other size": "yellow",
    "compatible": "",
    "contradict": "bold red",
    "not comparable": "dim",
}


def table_of(*columns: str) -> Table:
    """A table without lines."""
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, header_style="dim", overflow="fold")
    return table


def entries_view(bundles: Sequence[ListedBundle]) -> Table:
    """Bundles, a line each."""
    table = table_of("no", "begun", "study", "answers", "machine", "Assay", "where")
    for listed in bundles:
        entry, where = listed.entry, listed.where
        place = entry.folder if where == "here" else f"{entry.folder} ({_lost(where, entry.node)})"
        place += "" if entry.checked else " (not recomputed)"
        table.add_row(
            str(listed.bundle), _date(entry.started), Text(entry.study), Text(_answers(entry)),
            Text(entry.machine), entry.assay, Text(place, "" if where == "here" else "yellow"),
        )  # fmt: skip
    return table


def _lost(where: str, node: str) -> str:
    return f"on {node}" if where == "elsewhere" else where


def _answers(entry: LedgerEntry) -> str:
    if entry.told_apart:
        return "invalid"
    counts: dict[str, int] = {}
    for row in entry.rows:
        if row.strength == "confirmed":
            counts[row.word] = counts.get(row.word, 0) + 1
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items())) or "none"


def found_view(rows: Sequence[FoundAnswer], gone: Mapping[int, str]) -> Table:
    """Answers with their bundles; `gone` has what became of bundles that are not in place."""
    table = table_of("verdict", "of", "interval", "metric", "study", "case", "begun", "bundle")
    for found in rows:
        row = found.row
        lead = " (a lead)" if row.strength == "suggests" else ""
        bundle = f"{found.bundle} {found.folder}"
        if found.bundle in gone:
            bundle += f" ({_lost(gone[found.bundle], found.node)})"
        word = "invalid" if found.told_apart else row.word
        table.add_row(
            Text(word + lead, STYLES.get(word, "")), Text(row.label), _interval(row), row.metric,
            Text(found.study), Text(row.case), _date(found.started), Text(bundle),
        )  # fmt: skip
    return table


def _interval(row: LedgerRow | None) -> str:
    if row is None:
        return ""
    low, high = ("" if end is None else format_percent(end) for end in (row.low, row.high))
    return f"[{low or '-inf'}, {high or '+inf'}]"


def comparison_view(found: BundleComparison) -> Group:
    """Two bundles of a study against each other."""
    table = table_of("", "of", "case", "metric", "first", "second", "why")
    for answer in found.answers:
        table.add_row(
            Text(answer.relation, RELATIONS[answer.relation]), Text(answer.label),
            Text(answer.case), answer.metric, _interval(answer.first), _interval(answer.second),
            Text(answer.why),
        )  # fmt: skip
    parts: list[RenderableType] = [Text(f"{found.study}: {found.folders[0]}, {found.folders[1]}")]
    parts += [table, _differences("differs", found.differs)]
    return Group(*parts)


def _differences(title: str, differs: Mapping[str, tuple[str, str]]) -> Text:
    if not differs:
        return Text("nothing differs that the bundles know of", "dim")
    said = [f"{name} {one or '(empty)'} -> {other or '(empty)'}"
            for name, (one, other) in differs.items()]  # fmt: skip
    return Text(f"{title}: " + "; ".join(said))


def history_view(found: QuestionHistory) -> Group:
    """A question's answers in the order of time, with a line where its level changed."""
    kind = f"level of {found.label}" if found.is_level else found.label
    title = f"{found.study}, {found.case}: {kind}, {found.metric}, machine {found.machine}"
    table = table_of("begun", "value", "interval", "verdict", "Assay", "bundle")
    changes = {change.bundle: change for change in found.changes}
    parts: list[RenderableType] = [Text(title, "bold")]
    for point in found.points:
        if point.bundle in changes:
            table.add_row(Text("change"), Text(_change(found, point.bundle), "bold magenta"))
        ends = [f"{format_percent(end)}" for end in (point.low, point.high) if end is not None]
        table.add_row(
            _date(point.started), _value(found, point.value),
            f"[{', '.join(ends)}]" if len(ends) == 2 else "",
            Text(point.word, STYLES.get(point.word, "")), point.assay,
            Text(f"{point.bundle} {point.folder}"),
        )  # fmt: skip
    parts.append(table)
    for change in found.changes:
        parts.append(_differences(f"at {_date(change.started)} changed too", change.differs))
    return Group(*parts)


def _change(found: QuestionHistory, bundle: int) -> str:
    change = next(c for c in found.changes if c.bundle == bundle)
    return f"{_value(found, change.before)} -> {_value(found, change.after)}"


def _value(found: QuestionHistory, value: float) -> str:
    if found.is_level:
        return format_quantity(value, metric(found.metric).unit)
    return format_percent(value)


def _date(started: str) -> str:
    return started[:16].replace("T", " ")


def rebuilt_lines(found: Rebuilt) -> Iterator[Line]:
    """What came of making the ledger anew."""
    if found.set_aside:
        yield Line(f"the damaged ledger is in {found.set_aside}", "yellow")
    copies = f", {found.copies} copies left out" if found.copies else ""
    yield Line(f"{found.entered} bundles entered{copies}")
    for folder in found.gone:
        yield Line(f"gone: {folder}", "yellow")
    for folder, why in found.refused.items():
        yield Line(f"left out: {folder}: {why}", "red")
