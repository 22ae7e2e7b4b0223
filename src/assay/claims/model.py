"""A claim as it was read: printed cells with their places, and the statements made from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from assay.claims.expression import Ground, Node, Quantity, leaf
from assay.claims.interval import ZERO
from assay.claims.printed import Printed
from assay.core.document import Document, Path
from assay.core.metrics import Better


@dataclass(frozen=True)
class Cell:
    """One printed number. `key` is where it stands in the claim file, `place` in the source."""

    name: str
    printed: Printed
    key: Path
    place: str


@dataclass(frozen=True)
class PrintedTable:
    """A table's layout. Measures are what has a unit; subjects are what was measured.

    `measures` gives each its direction, or None where the source states none.
    """

    name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    measures: Mapping[str, Better | None]

    @property
    def measures_are_rows(self) -> bool:
        """Whether every row has its own unit."""
        return tuple(self.measures) == self.rows

    def cell(self, subject: str, measure: str) -> str:
        """The name of a cell."""
        row, column = (measure, subject) if self.measures_are_rows else (subject, measure)
        return f"{self.name}.{row}.{column}"

    def line(self, name: str) -> list[str]:
        """The cells of a row or a column."""
        if name in self.rows:
            return [f"{self.name}.{name}.{column}" for column in self.columns]
        if name in self.columns:
            return [f"{self.name}.{row}.{name}" for row in self.rows]
        return []


@dataclass(frozen=True)
class CellComparison:
    """`of` against each of `others`, in one measure, or as numbers of which `better` is said."""

    label: str
    of: Node
    others: tuple[Node, ...]
    better: Better
    is_measure: bool = True

    def word(self, relation: str) -> str:
        """better, worse, no better, no worse in the words of plain numbers: higher, lower."""
        if self.is_measure:
            return relation
        worse = "lower" if self.better == "higher" else "higher"
        words = {"better": self.better, "worse": worse}
        words |= {"no better": f"not {self.better}", "no worse": f"not {worse}"}
        return words.get(relation, relation)


@dataclass(frozen=True)
class Protocol:
    """How the numbers behind a claim were measured, as far as the source says.

    `spread`: cells that are the range of these runs. `noise`: run to run, assumed where there is
    no spread, a fraction; `because` says why that much. `paired`: the spread is of differences
    between a run and its own baseline.
    """

    name: str
    place: str
    runs: int
    order: str
    dropped: str
    spread: tuple[str, ...]
    noise: float | None
    because: str
    paired: bool


@dataclass(frozen=True)
class Statement:
    """One statement as made, and the evidence it is to be held against; not whether it holds."""

    says: str
    place: str
    kind: str
    key: Path
    stated: Printed | None
    parts: Mapping[str, tuple[Node, ...]] = field(default_factory=dict)
    comparisons: tuple[CellComparison, ...] = ()
    word: str = ""
    within: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    assuming: str = ""
    protocol: str = ""


@dataclass(frozen=True)
class Claim:
    """One claim file. `name` is what the audit calls it, `source` what it transcribes."""

    name: str
    title: str
    source: str
    document: Document
    cells: Mapping[str, Cell]
    formulas: Mapping[str, Node]
    statements: tuple[Statement, ...]
    protocols: Mapping[str, Protocol]

    def ground(self, *, printed_only: bool = False) -> Ground:
        """The cells as derivations see them; `printed_only`: rounded, as the reader has them."""
        return Ground(self._leaves, {} if printed_only else self.formulas)

    @cached_property
    def _leaves(self) -> dict[str, Quantity]:
        return {
            name: leaf(name, cell.printed.range or ZERO, cell.printed.unit)
            for name, cell in self.cells.items()
        }

    def not_printed(self, nodes: tuple[Node, ...]) -> list[str]:
        """The cells that derivations need and the source does not print."""
        found: dict[str, None] = {}
        for node in nodes:
            for name in node.references():
                if name in self.formulas:
                    found |= dict.fromkeys(self.not_printed((self.formulas[name],)))
                elif self.cells[name].printed.range is None:
                    found[name] = None
        return list(found)
