"""Reading a claim file: from TOML to a `Claim`, or all its mistakes with line and column.

A claim file holds what a source prints and the statements it makes. It has no key that says
whether a statement holds: that is for the audit to find. docs/price.md shows the vocabulary.
"""

from __future__ import annotations

from typing import Any

from assay.claims.cells import BETTER, EvidenceReader
from assay.claims.expression import Node
from assay.claims.model import CellComparison, Claim, PrintedTable, Protocol, Statement
from assay.claims.printed import Printed, read_printed
from assay.core.document import Document, Path, parse
from assay.core.errors import ClaimError, Problem
from assay.core.fields import Fields
from assay.core.units import parse_percent

COMPARED = ("gain", "reduction", "saving", "percent", "times", "points", "same")
"""Kinds that hold `of` against `over`."""

KINDS = ("value", *COMPARED, "range", "compare", "best", "rising", "falling", "linear", "mask")
WORDS = ("better", "worse", "no better", "no worse", "equal", "mixed")
SHARES = ("every", "almost every", "most", "some", "none")


def read_claim(name: str, text: str) -> Claim:
    """The claim in `text`; ClaimError holds every mistake found."""
    document = parse(name, text, ClaimError)
    problems: list[Problem] = []
    claim = _ClaimReader(document, problems).claim(name)
    if problems:
        raise ClaimError(name, problems)
    return claim


class _ClaimReader:
    def __init__(self, document: Document, problems: list[Problem]) -> None:
        self.document, self.problems = document, problems
        self.evidence = EvidenceReader(document, problems)

    def claim(self, name: str) -> Claim:
        top = Fields(self.document, (), "the top level", self.problems)
        short, title, source = top.text("name", name), top.text("title"), top.text("source")
        top.text("note", "")
        self.evidence.read(top)
        protocols = {key: self.protocol(key) for key in top.table("protocol")}
        made = [self.statement(key, cell, a) for cell, key, _, a in self.evidence.derived]
        made += [self.statement(("statement", i), None) for i in range(top.tables("statement"))]
        top.unknown()
        for one in made:
            if one.protocol and one.protocol not in protocols:
                message = f"there is no protocol {one.protocol!r}"
                self.evidence.wrong((*one.key, "protocol"), message, "add [protocol.NAME]")
        return Claim(
            short,
            title,
            source,
            self.document,
            self.evidence.cells,
            self.evidence.formulas,
            tuple(made),
            protocols,
        )

    # statements

    def statement(self, key: Path, cell: str | None, around: str = "") -> Statement:
        """One statement; with `cell` that of a derived cell, whose text is what is stated."""
        fields = Fields(self.document, key, "a statement", self.problems)
        if cell is not None:
            fields.asked += ["cells", "is", "exact", "note"]
        kind = fields.choice("kind", KINDS, "value")
        place = fields.text("place", "")
        says = fields.text("says", "" if cell else None) or ""
        if cell is None and not says:
            self.evidence.wrong(key, "a statement needs `says`", "quote it, shortly")
        stated = self.stated(fields, kind, cell)
        if cell is not None:
            found = self.evidence.cells[cell]
            says = f"{says}: {cell}" if says else cell
            says, place = f"{says} = {found.printed.text}", place or found.place
        parts: dict[str, tuple[Node, ...]] = {}
        comparisons: tuple[CellComparison, ...] = ()
        options: dict[str, Any] = {}
        if kind in ("compare", "best"):
            comparisons = self.comparisons(fields, kind)
        elif kind == "mask":
            options = self.mask(fields)
        else:
            parts = self.parts(fields, kind, around)
        made = Statement(
            says=says,
            place=place,
            kind=kind,
            key=key,
            stated=stated,
            parts=parts,
            comparisons=comparisons,
            word=fields.choice("word", WORDS, "better") if kind == "compare" else "",
            within=fields.choice("in", SHARES, "every") if comparisons else "",
            options=options | ({"within": self.within(fields)} if kind == "same" else {}),
            assuming=fields.text("assuming", ""),
            protocol=fields.text("protocol", ""),
        )
        fields.unknown()
        return made

    def stated(self, fields: Fields, kind: str, cell: str | None) -> Printed | None:
        """The number stated, where the kind needs one."""
        if cell is not None:
            return self.evidence.cells[cell].printed
        if kind not in ("value", "range", *COMPARED) or kind == "same":
            return None
        text = fields.text("stated")
        if not text:
            return None
        try:
            return read_printed(text)
        except ValueError as error:
            fields.wrong(("stated",), f"stated: {error}", 'write for example stated = "2-5 %"')
            return None

    def parts(self, fields: Fields, kind: str, around: str) -> dict[str, tuple[Node, ...]]:
        """The derivations of a kind, by key."""
        names = {"linear": ("x", "y"), "range": ("from",), "value": ("from",)}.get(kind)
        if kind in COMPARED:
            names = ("of", "over")
        elif names is None:
            names = ("values",)
        many = kind in ("range", "linear", "rising", "falling")
        found = {}
        for name in names:
            texts = fields.texts(name) if many else [fields.text(name)]
            lines = [self.line(t, (*fields.path, name), around, many=many) for t in texts if t]
            found[name] = tuple(node for line in lines for node in line)
        if kind == "linear" and len(found["x"]) != len(found["y"]):
            fields.wrong(("y",), "x and y differ in length", "give one y for every x")
        return found

    def line(self, text: str, key: Path, around: str, *, many: bool) -> list[Node]:
        """A derivation; where several may stand, a row or a column too."""
        cells = self.evidence.resolve(text, around) if many else None
        if cells:
            return [Node("cells", names=(cell,)) for cell in cells]
        node = self.evidence.expression(text, key, around)
        return [] if node is None else [node]

    def within(self, fields: Fields) -> float:
        """How far apart two quantities may be that are called the same; a fraction."""
        text = fields.text("within", "5%")
        try:
            return parse_percent(text)
        except ValueError as error:
            fields.wrong(("within",), str(error), 'write for example within = "5%"')
            return 0.05

    # comparisons over tables

    def comparisons(self, fields: Fields, kind: str) -> tuple[CellComparison, ...]:
        of = fields.texts("of")
        over = fields.texts("over" if kind == "compare" else "among")
        asked = fields.texts("measures", [])
        better = fields.choice("better", BETTER, "")
        if kind == "compare" and len(over) not in (1, len(of)):
            fields.wrong(("over",), "`over` is neither one nor as many as `of`", "pair them up")
            return ()
        pairs = (
            [(of[0], over)]
            if kind == "best"
            else [(one, [over[0] if len(over) == 1 else over[i]]) for i, one in enumerate(of)]
        )
        found: list[CellComparison] = []
        for one, others in pairs:
            found += self.compared(fields, one, others, asked, better)
        return tuple(found)

    def compared(
        self, fields: Fields, one: str, others: list[str], asked: list[str], better: Any
    ) -> list[CellComparison]:
        """One subject against others: in every measure asked for, or with a direction."""
        table = self.subject(one)
        if table is None:
            if not better:
                message = f"{one!r} is not a row or column of a table with directions"
                fields.wrong(("of",), message, 'name TABLE.SUBJECT, or say better = "higher"')
                return []
            nodes = [self.evidence.expression(text, fields.path) for text in (one, *others)]
            if any(node is None for node in nodes):
                return []
            made = [node for node in nodes if node is not None]
            return [CellComparison(one, made[0], tuple(made[1:]), better, is_measure=False)]
        found = []
        for measure in asked or [m for m, way in table.measures.items() if way]:
            way = better or table.measures.get(measure)
            lines = [self.measured(fields, table, text, measure) for text in (one, *others)]
            if way is None or None in lines:
                if way is None:
                    fields.wrong(("measures",), f"{measure!r} has no direction", "say `better`")
                continue
            cells = [Node("cells", names=(line,)) for line in lines if line]
            label = f"{measure} of {one.split('.')[-1]}"
            found.append(CellComparison(label, cells[0], tuple(cells[1:]), way))
        return found

    def subject(self, text: str) -> PrintedTable | None:
        """The table that a text names a subject of."""
        name, _, line = text.partition(".")
        table = self.evidence.tables.get(name)
        if table is None or line in table.measures:
            return None
        return table if line in (*table.rows, *table.columns) else None

    def measured(self, fields: Fields, table: PrintedTable, text: str, measure: str) -> str | None:
        name, _, line = text.partition(".")
        other = self.evidence.tables.get(name, table)
        cell = other.cell(line, measure)
        if cell in self.evidence.cells:
            return cell
        fields.wrong((), f"there is no cell {cell!r}", "compare subjects that share measures")
        return None

    # the rest

    def mask(self, fields: Fields) -> dict[str, Any]:
        masks, cpus = fields.texts("masks"), fields.count("cpus")
        for mask in masks:
            try:
                int(mask.replace(",", ""), 16)
            except ValueError:
                fields.wrong(("masks",), f"{mask!r} is not a hexadecimal mask", 'such as "fe00"')
                return {}
        covers = fields.texts("covers")
        for cpu in covers:
            if not cpu.isdigit():
                fields.wrong(("covers",), f"{cpu!r} is not a CPU's number", 'such as ["1", "2"]')
                return {}
        return {"masks": masks, "cpus": cpus, "covers": [int(cpu) for cpu in covers]}

    def protocol(self, name: str) -> Protocol:
        key: Path = ("protocol", name)
        fields = Fields(self.document, key, f"protocol {name!r}", self.problems)
        noise = fields.text("assumed_noise", "")
        made = Protocol(
            name=name,
            place=fields.text("place", ""),
            runs=fields.count("runs"),
            order=fields.text("order", "not stated"),
            dropped=fields.text("dropped", ""),
            spread=tuple(self.spread(fields)),
            noise=self.noise(fields, noise) if noise else None,
            because=fields.text("because", ""),
            paired=fields.flag("paired"),
        )
        fields.unknown()
        if not made.spread and made.noise is None:
            fields.wrong((), "no `spread` and no `assumed_noise`", "noise is printed or assumed")
        return made

    def spread(self, fields: Fields) -> list[str]:
        found = []
        for text in fields.texts("spread", []):
            cell = self.evidence.cells.get(text)
            if cell is None or cell.printed.range is None or not cell.printed.is_range:
                message = f"{text!r} is not a cell that holds a range"
                fields.wrong(("spread",), message, "name cells such as 1.03-1.22")
            else:
                found.append(text)
        return found

    def noise(self, fields: Fields, text: str) -> float | None:
        try:
            return parse_percent(text)
        except ValueError as error:
            fields.wrong(("assumed_noise",), str(error), 'such as "2%"')
            return None
