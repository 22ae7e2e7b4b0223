"""Mistakes in a claim file, with line and column, and what to do."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from assay.claims import audit_claim, read_claim
from assay.core.errors import ClaimError
from assay.price import read_prices

GOOD = """name = "x"
title = "X"
source = "nobody"

[value]
price = { is = "800 USD" }

[table.t]
place = "page 1"
[table.t.columns]
a = "TPS"
b = "TPS/USD"
[table.t.rows]
one = ["96137", "120"]

[[table.t.derived]]
cells = "b"
from = "a / price"

[[statement]]
says = "much"
kind = "gain"
stated = "20 %"
of = "t.one.a"
over = "t.one.a"
"""


def problems(text: str) -> list[tuple[int, int, str]]:
    """Line, column and message of every mistake."""
    with pytest.raises(ClaimError) as caught:
        audit_claim(read_claim("x.toml", text))
    assert all(p.next_step for p in caught.value.problems)
    return [(p.line, p.column, p.message) for p in caught.value.problems]


def test_the_file_without_a_mistake_is_read() -> None:
    """So that each mistake below is the only one."""
    assert len(audit_claim(read_claim("x.toml", GOOD))) == 2


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "said"),
    [
        ('"800 USD"', '"800"', 6, 11, "has no unit"),
        ('"800 USD"', '"-800 USD"', 6, 11, "negative amount of money"),
        ('"800 USD"', '"cheap"', 6, 11, "not a number"),
        ('"800 USD"', "800", 6, 11, "should be a text"),
        ('b = "TPS/USD"', 'b = ""', 12, 1, "not a unit"),
        ('b = "TPS/USD"', "b = 5", 12, 1, "not a unit"),
        ('"96137"', '"many"', 14, 8, "not a number"),
        ('"120"]', "120]", 14, 17, "kept as printed"),
        ('"96137", ', "", 14, 1, "1 cells for 2 columns"),
        ('"a / price"', '"a / prise"', 18, 1, "did you mean 'price'"),
        ('"a / price"', '"a / "', 18, 1, "not a derivation"),
        ('"a / price"', '"b / price"', 18, 1, "circular derivation: t.one.b <- t.one.b"),
        ('cells = "b"', 'cells = "c"', 17, 1, "neither a column nor a row"),
        ('kind = "gain"', 'kind = "gains"', 22, 1, "not allowed"),
        ('stated = "20 %"', "", 20, 3, "'stated' is missing"),
        ('stated = "20 %"', 'stated = "much"', 23, 1, "not a number"),
        ('stated = "20 %"', 'stated = "20 %"\nresult = "follows"', 24, 1, "unknown key 'result'"),
        ('over = "t.one.a"', 'over = "t.two.a"', 25, 1, "no cell 't.two.a'"),
        ('over = "t.one.a"', 'over = "t.one.b"', 20, 3, "USD and a bare number cannot be"),
        ('over = "t.one.a"', "over = 3", 25, 1, "should be a text"),
        ('says = "much"', "", 20, 3, "needs `says`"),
        ('name = "x"', 'nane = "x"', 1, 1, "unknown key 'nane'"),
        ("[value]", "[value", 5, 7, "not TOML"),
        ("one = ", "with = ", 14, 1, "cannot be a name"),
        ("price = {", "a-b = {", 6, 1, "cannot be a name"),
    ],
)
def test_a_mistake_has_its_place(old: str, new: str, line: int, column: int, said: str) -> None:
    """Line and column of the key or the cell, and words."""
    assert old in GOOD
    found = problems(GOOD.replace(old, new))
    assert any((at, col) == (line, column) and said in text for at, col, text in found), found


def shown_in_docs(first: str) -> str:
    """The indented block of docs/price.md that starts with a line."""
    page = (Path(__file__).parent.parent.parent / "docs" / "price.md").read_text()
    block = page[page.index(f"    {first}") :].split("\n")
    inside = itertools.takewhile(lambda line: not line or line.startswith("    "), block)
    return "\n".join(line.removeprefix("    ") for line in inside)


def test_the_examples_in_the_docs_are_understood() -> None:
    """Copied from the page, they work."""
    rows = audit_claim(read_claim("docs", shown_in_docs('name = "mariadb-arm"')))
    assert [str(r.result) for r in rows] == ["follows", "does not follow"]
    assert read_prices("docs", shown_in_docs("[[price]]"))["my-arm-16"].date == "2026-10-01"


def test_a_longer_circle_is_named_in_full() -> None:
    """Each step of it."""
    text = GOOD.replace('800 USD"', '800 USD", from = "2 * worth"') + (
        '\n[value.worth]\nis = "5 USD"\nfrom = "price / 2"\n'
    )
    ((line, _, said),) = problems(text)
    assert (line, said) == (6, "circular derivation: price <- worth <- price")


def test_all_mistakes_come_at_once() -> None:
    """Nobody mends a file one error at a time."""
    text = GOOD.replace("800 USD", "800").replace('"gain"', '"gains"').replace('"96137"', '"x"')
    assert {line for line, _, _ in problems(text)} >= {6, 14, 22}
