"""What the ledger says, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.ledger import (
    BundleComparison,
    FoundAnswer,
    ListedBundle,
    QuestionHistory,
    words,
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
        place = Text(words.place(listed), "" if where == "here" else "yellow")
        table.add_row(
            str(listed.bundle), words.date(entry.started), Text(entry.study),
            Text(words.answers(entry)), Text(entry.machine), entry.assay, place,
        )  # fmt: skip
    return table


def found_view(rows: Sequence[FoundAnswer], gone: Mapping[int, str]) -> Table:
    """Answers with their bundles; `gone` has what became of bundles that are not in place."""
    table = table_of("verdict", "of", "interval", "metric", "study", "case", "begun", "bundle")
    for found in rows:
        row = found.row
        lead = " (a lead)" if row.strength == "suggests" else ""
        bundle = f"{found.bundle} {found.folder}"
        if found.bundle in gone:
            bundle += f" ({words.lost(gone[found.bundle], found.node)})"
        word = "invalid" if found.told_apart else row.word
        table.add_row(
            Text(word + lead, STYLES.get(word, "")), Text(row.label), words.row_interval(row),
            row.metric, Text(found.study), Text(row.case), words.date(found.started), Text(bundle),
        )  # fmt: skip
    return table


def comparison_view(found: BundleComparison) -> Group:
    """Two bundles of a study against each other."""
    table = table_of("", "of", "case", "metric", "first", "second", "why")
    for answer in found.answers:
        table.add_row(
            Text(answer.relation, RELATIONS[answer.relation]), Text(answer.label),
            Text(answer.case), answer.metric, words.row_interval(answer.first),
            words.row_interval(answer.second), Text(answer.why),
        )  # fmt: skip
    parts: list[RenderableType] = [Text(f"{found.study}: {found.folders[0]}, {found.folders[1]}")]
    parts += [table, _differences("differs", found.differs)]
    return Group(*parts)


def _differences(title: str, differs: Mapping[str, tuple[str, str]]) -> Text:
    return Text(words.differences(title, differs), "" if differs else "dim")


def history_view(found: QuestionHistory) -> Group:
    """A question's answers in the order of time, with a line where its level changed."""
    table = table_of("begun", "value", "interval", "verdict", "Assay", "bundle")
    parts: list[RenderableType] = [Text(words.history_title(found), "bold")]
    for point in found.points:
        if change := words.history_change(found, point.bundle):
            table.add_row(Text("change"), Text(change, "bold magenta"))
        table.add_row(
            words.date(point.started), words.history_value(found, point.value),
            words.point_interval(point),
            Text(point.word, STYLES.get(point.word, "")), point.assay,
            Text(f"{point.bundle} {point.folder}"),
        )  # fmt: skip
    parts.append(table)
    for moved in found.changes:
        parts.append(_differences(f"at {words.date(moved.started)} changed too", moved.differs))
    return Group(*parts)


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
