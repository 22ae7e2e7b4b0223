"""The audit in the terminal: a table for each source."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from assay.claims import Audited, Result
from assay.report.words.audited import by_claim, counted

STYLES = {
    Result.FOLLOWS: "green",
    Result.NOT: "red",
    Result.WRONG_KIND: "red",
    Result.UNCHECKED: "yellow",
}


def audit_tables(rows: Sequence[Audited], *, contradicted: bool = False) -> list[Table]:
    """One table for each claim; with `contradicted` only what the evidence contradicts."""
    tables = []
    for group in by_claim(rows):
        shown = [r for r in group if r.is_contradicted or not contradicted]
        if shown:
            tables.append(_table(group, shown))
    return tables


def _table(group: list[Audited], shown: list[Audited]) -> Table:
    table = Table(
        title=Text(f"{group[0].claim}  {counted(group)}", style="bold"),
        title_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="dim",
    )
    table.add_column("result", no_wrap=True)
    table.add_column("statement", ratio=3, overflow="fold")
    table.add_column("stated", max_width=24)
    table.add_column("recomputed", max_width=24)
    table.add_column("place", max_width=28)
    table.add_column("why", ratio=3, overflow="fold")
    designs = dict.fromkeys(r.design for r in shown if r.design)
    if designs:
        table.caption = Text("\n".join(f"design: {d}" for d in designs), style="dim")
        table.caption_justify = "left"
    for row in shown:
        cells = (
            Text(str(row.result), style=STYLES[row.result]),
            Text(row.statement),
            Text(row.stated),
            Text(row.recomputed_text()),
            Text(row.place, style="dim"),
            Text("" if row.result is Result.FOLLOWS else row.reason),
        )
        table.add_row(*cells)
    return table
