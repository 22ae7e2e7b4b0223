"""Reading the evidence of a claim file: values, tables, and the formulas of derived cells."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from typing import Any, cast

from assay.claims.expression import Node, compile_expression
from assay.claims.model import Cell, PrintedTable
from assay.claims.printed import read_printed
from assay.claims.units import parse_unit
from assay.core.document import Document, Path
from assay.core.errors import Problem
from assay.core.fields import Fields
from assay.core.metrics import Better
from assay.core.parameters import nearest

BETTER: tuple[Better, ...] = ("higher", "lower")


class EvidenceReader:
    """All cells of a claim file by name; every mistake goes into `problems`."""

    def __init__(self, document: Document, problems: list[Problem]) -> None:
        self.document, self.problems = document, problems
        self.cells: dict[str, Cell] = {}
        self.tables: dict[str, PrintedTable] = {}
        self.formulas: dict[str, Node] = {}
        self.derived: list[tuple[str, Path, dict[str, Any], str]] = []

    def wrong(self, key: Path, message: str, next_step: str) -> None:
        """Note a mistake."""
        self.problems.append(self.document.problem(key, message, next_step))

    def read(self, top: Fields) -> None:
        """Values and tables, then what is derived from what."""
        for name in self._usable(top.table("value"), ("value",)):
            self._value(name)
        for name in self._usable(top.table("table"), ("table",)):
            self._table(name)
        for cell, key, values, around in self.derived:
            if "from" in values:
                node = self.expression(values["from"], (*key, "from"), around)
                if node is not None:
                    self.formulas[cell] = node
        self._refuse_circles()

    def _usable(self, names: Iterable[str], key: Path) -> list[str]:
        """The names that a derivation can hold; the others are mistakes."""
        found = []
        for name in names:
            if name.isidentifier() and not keyword.iskeyword(name):
                found.append(name)
            else:
                said = f"{name!r} cannot be a name in a derivation"
                self.wrong((*key, name), said, "use letters, digits and _, and no word of Python's")
        return found

    # one value

    def _value(self, name: str) -> None:
        key: Path = ("value", name)
        fields = Fields(self.document, key, f"value {name!r}", self.problems)
        written, place = fields.text("is"), fields.text("place", "")
        exact, derivation = fields.flag("exact"), fields.text("from", "")
        fields.text("note", "")
        fields.unknown()
        if written:
            self._cell(name, written, None, (*key, "is"), place, exact=exact)
        if derivation and name in self.cells:
            self.derived.append((name, key, {"kind": "value", "from": derivation}, ""))

    def _cell(
        self, name: str, text: object, unit: str | None, key: Path, place: str, *, exact: bool
    ) -> None:
        if not isinstance(text, str):
            message = f"{name}: {text!r} should be a text, so that its digits are kept as printed"
            self.wrong(key, message, f'write "{text}"')
            return
        try:
            printed = read_printed(text, unit, exact=exact)
        except ValueError as error:
            self.wrong(key, f"{name}: {error}", "transcribe the number as printed, or ? for none")
            return
        self.cells[name] = Cell(name, printed, key, place)

    # a table

    def _table(self, name: str) -> None:
        key: Path = ("table", name)
        fields = Fields(self.document, key, f"table {name!r}", self.problems)
        place, rows = fields.text("place", ""), fields.table("rows")
        fields.text("note", "")
        columns = fields.values.get("columns")
        fields.asked.append("columns")
        if isinstance(columns, dict):
            exact = fields.texts("exact", [])
            table = self._by_columns(name, key, columns, rows, (place, exact))
            measures = dict.fromkeys(columns)
            measures |= self._directions(fields, key, measures)
        else:
            table, measures = self._by_rows(name, key, fields.texts("columns"), rows, place)
        self._usable(rows, (*key, "rows"))
        self._usable(table, (*key, "columns"))
        self.tables[name] = PrintedTable(name, tuple(rows), table, cast(Any, measures))
        self._derived(fields, key, self.tables[name])
        fields.unknown()

    def _by_columns(
        self, name: str, key: Path, columns: dict[str, Any], rows: dict[str, Any], rest: Any
    ) -> tuple[str, ...]:
        place, exact = rest
        self._named(exact, columns, (*key, "exact"), "column")
        for column, unit in columns.items():
            self._unit(unit, (*key, "columns", column))
        for row, cells in rows.items():
            if not self._fits(cells, columns, (*key, "rows", row)):
                continue
            for index, (column, text) in enumerate(zip(columns, cells, strict=True)):
                at = (*key, "rows", row, index)
                cell, unit = f"{name}.{row}.{column}", columns[column]
                if isinstance(unit, str):
                    self._cell(cell, text, unit, at, place, exact=column in exact)
        return tuple(columns)

    def _by_rows(
        self, name: str, key: Path, columns: list[str], rows: dict[str, Any], place: str
    ) -> tuple[tuple[str, ...], dict[str, Better | None]]:
        measures: dict[str, Better | None] = {}
        for row in rows:
            fields = Fields(
                self.document, (*key, "rows", row), f"row {row!r} of {name}", self.problems
            )
            unit, exact = fields.text("unit"), fields.flag("exact")
            self._unit(unit, (*key, "rows", row, "unit"))
            measures[row] = fields.choice("better", BETTER, None)
            cells = fields.texts("cells")
            fields.unknown()
            if cells and self._fits(cells, columns, (*key, "rows", row, "cells")):
                for index, (column, text) in enumerate(zip(columns, cells, strict=True)):
                    at = (*key, "rows", row, "cells", index)
                    self._cell(f"{name}.{row}.{column}", text, unit, at, place, exact=exact)
        return tuple(columns), measures

    def _unit(self, unit: object, key: Path) -> None:
        try:
            parse_unit(unit if isinstance(unit, str) else "")
        except ValueError as error:
            self.wrong(key, str(error), 'give every column its unit; "times" for a bare number')

    def _fits(self, cells: object, columns: Any, key: Path) -> bool:
        if isinstance(cells, list) and len(cells) == len(columns):
            return True
        count = len(cells) if isinstance(cells, list) else "no"
        self.wrong(
            key,
            f"{count} cells for {len(columns)} columns",
            f"give a list with one text for each of {', '.join(columns)}",
        )
        return False

    def _directions(self, fields: Fields, key: Path, measures: Any) -> dict[str, Better]:
        found: dict[str, Better] = {}
        better = fields.table("better")
        self._named(better, measures, (*key, "better"), "column")
        for name, word in better.items():
            if word in BETTER:
                found[name] = word
            else:
                self.wrong((*key, "better", name), f"{word!r} is no direction", "higher or lower")
        return found

    def _named(self, names: Any, known: Any, key: Path, what: str) -> None:
        for name in names:
            if name not in known:
                message = f"{name!r} is not a {what}{nearest(str(name), list(known))}"
                self.wrong(key, message, f"use {', '.join(known)}")

    def _derived(self, fields: Fields, key: Path, table: PrintedTable) -> None:
        """A derived row or column: its formula, once for each of its cells."""
        for index in range(fields.tables("derived")):
            at: Path = (*key, "derived", index)
            found = Fields(self.document, at, f"derived cells of {table.name}", self.problems)
            line = found.text("cells")
            if not table.line(line):
                names = (*table.columns, *table.rows)
                message = f"{line!r} is neither a column nor a row{nearest(line, list(names))}"
                self.wrong((*at, "cells"), message, f"use one of {', '.join(names)}")
                continue
            for cell in table.line(line):
                if cell in self.cells:
                    around = _around(cell, by_column=line in table.columns)
                    self.derived.append((cell, at, found.values, around))

    # formulas

    def expression(self, text: object, key: Path, around: str = "") -> Node | None:
        """The derivation in a text; `around` is the row or column that bare names are looked up
        in first, as "table.row.*" or "table.*.column"."""
        if not isinstance(text, str):
            self.wrong(key, f"{text!r} should be a derivation", "write for example arm / price")
            return None
        try:
            return compile_expression(text, lambda name: self.resolve(name, around))
        except ValueError as error:
            known = [*self.cells, *self.tables]
            wanted = str(error).split("'")[1] if "there is no cell" in str(error) else ""
            hint = nearest(wanted, known) if wanted else ""
            self.wrong(key, f"{error}{hint}", "name a value, table.row.column, or a row or column")
            return None

    def resolve(self, name: str, around: str = "") -> list[str] | None:
        """The cells that a name means."""
        near = around.replace("*", name)
        if around and near in self.cells:
            return [near]
        if name in self.cells:
            return [name]
        table, _, line = name.partition(".")
        found = self.tables[table].line(line) if table in self.tables else []
        return [cell for cell in found if cell in self.cells] or None

    def _refuse_circles(self) -> None:
        done: set[str] = set()
        for cell, key, _, _ in self.derived:
            circle = self._circle(cell, [], done)
            if circle:
                self.wrong(
                    (*key, "from"),
                    f"circular derivation: {' <- '.join(circle)}",
                    "derive a cell from cells that do not need it",
                )
                return

    def _circle(self, cell: str, path: list[str], done: set[str]) -> list[str]:
        if cell in path:
            return [*path[path.index(cell) :], cell]
        if cell in done or cell not in self.formulas:
            return []
        for other in self.formulas[cell].references():
            found = self._circle(other, [*path, cell], done)
            if found:
                return found
        done.add(cell)
        return []


def _around(cell: str, *, by_column: bool) -> str:
    """Where the names in a derived cell's formula are looked up first."""
    table, row, column = cell.split(".")
    return f"{table}.{row}.*" if by_column else f"{table}.*.{column}"
