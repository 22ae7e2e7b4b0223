"""Derivations over rounded cells, against their slow twin: cells drawn at random and tried."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from assay.claims.expression import Ground, SharesError, UnitsError, compile_expression, leaf, solve
from assay.claims.interval import Interval, UndefinedError
from assay.claims.units import NUMBER, parse_unit

NAMES = ("a", "b", "c", "d")
EXPRESSIONS = (
    "a + b - c",
    "a * b",
    "a / b",
    "a / b - 1",
    "1 - a / b",
    "a - a",
    "(a - b) / (a + b)",
    "(a + b) / a",
    "a / (a + b + c)",
    "1 / a - 1 / b",
    "a * (1 - b / c)",
    "sum(a, b, c) / d",
    "mean(a, b, c, d)",
    "max(a, b) / min(c, d)",
    "a**2 / b",
    "-a + 2 * b",
)


def resolve(name: str) -> list[str] | None:
    """The four cells, and `all` of them."""
    return list(NAMES) if name == "all" else [name] if name in NAMES else None


def box(seed: int) -> dict[str, Interval]:
    """Four numbers printed with three digits: half a unit of the last one either side."""
    draw = random.Random(seed)
    step = Fraction(1, 10 ** draw.randint(0, 3))
    found = {}
    for name in NAMES:
        middle = draw.randint(100, 999) * step
        found[name] = Interval(middle - step / 2, middle + step / 2)
    return found


def ground(cells: dict[str, Interval]) -> Ground:
    return Ground({name: leaf(name, held, NUMBER) for name, held in cells.items()}, {})


def tried(text: str, values: dict[str, Fraction]) -> Fraction:
    """The slow twin: Python's own arithmetic on one choice of the cells."""
    functions = {"sum": lambda *v: sum(v), "min": min, "max": max}
    functions["mean"] = lambda *v: sum(v) / Fraction(len(v))
    return Fraction(eval(text, {"__builtins__": {}}, {**functions, **values}))


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("seed", range(8))
def test_every_choice_of_cells_lies_inside_and_the_ends_are_reached(text: str, seed: int) -> None:
    """Sixty drawn points are inside; the corners of the box attain both ends exactly."""
    cells = box(seed)
    found = solve(compile_expression(text, resolve), ground(cells)).range
    draw = random.Random(seed + 1000)
    for _ in range(60):
        values = {
            name: held.low + (held.high - held.low) * Fraction(draw.randint(0, 1000), 1000)
            for name, held in cells.items()
        }
        assert found.low <= tried(text, values) <= found.high
    corners = [
        tried(text, dict(zip(NAMES, ends, strict=True)))
        for ends in itertools.product(*((h.low, h.high) for h in cells.values()))
    ]
    assert (min(corners), max(corners)) == (found.low, found.high)


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_enclose_every_choice(seed: int) -> None:
    """Trees of the four operations, four deep; a divisor that can be zero is refused."""
    draw = random.Random(seed)

    def tree(depth: int) -> str:
        if depth == 0 or draw.random() < 0.2:
            return draw.choice(NAMES)
        return f"({tree(depth - 1)} {draw.choice('+-*/')} {tree(depth - 1)})"

    text, cells = tree(4), box(seed)
    try:
        found = solve(compile_expression(text, resolve), ground(cells)).range
    except UndefinedError:
        return
    for _ in range(40):
        values = {
            name: held.low + (held.high - held.low) * Fraction(draw.randint(0, 100), 100)
            for name, held in cells.items()
        }
        assert found.low <= tried(text, values) <= found.high, text


def test_a_difference_of_a_cell_with_itself_is_nothing() -> None:
    """Plain interval arithmetic would give an interval here."""
    found = solve(compile_expression("a - a", resolve), ground(box(1))).range
    assert found == Interval.point(0)


def test_a_turning_point_inside_the_box_is_still_enclosed() -> None:
    """Where a slope has both signs the answer is wider, never wrong."""
    cells = {**box(1), "a": Interval(Fraction(-1), Fraction(1))}
    found = solve(compile_expression("a**2", resolve), ground(cells)).range
    assert found.low <= 0
    assert found.high >= 1


def test_a_derived_cell_enters_unrounded() -> None:
    """b is printed rounded, but its formula says what it was."""
    cells = {**box(1), "a": Interval.point(Fraction(96137)), "b": Interval.point(Fraction(120))}
    formulas = {"b": compile_expression("a / 800", resolve)}
    node = compile_expression("b", resolve)
    held = Ground(ground(cells).leaves, formulas)
    assert solve(node, held).range == Interval.point(Fraction(96137, 800))
    assert solve(node, ground(cells)).range == Interval.point(Fraction(120))


def test_units_and_shares_are_kept_apart() -> None:
    """Dollars are not added to seconds, nor shares of one thing to shares of another."""
    one = Interval.point(Fraction(1))

    def with_units(first: str, second: str) -> Ground:
        pairs = zip(("a", "b"), (first, second), strict=True)
        return Ground({n: leaf(n, one, parse_unit(u)) for n, u in pairs}, {})

    node = compile_expression("a + b", resolve)
    with pytest.raises(UnitsError, match="USD and s"):
        solve(node, with_units("USD", "s"))
    with pytest.raises(SharesError, match="log grabs and data grabs"):
        solve(node, with_units("% of log grabs", "% of data grabs"))
    with pytest.raises(SharesError):
        solve(compile_expression("a / b", resolve), with_units("% of x", "% of y"))
    assert solve(node, with_units("KiB", "B")).unit.named() == "B"
    per = solve(compile_expression("a / b", resolve), with_units("TPS", "USD")).unit
    assert per.symbols == parse_unit("TPS/USD").symbols


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a +", "not a derivation"),
        ("e", "no cell 'e'"),
        ("all", "several cells"),
        ("median(a)", "not a function"),
        ("sum()", "not a function"),
        ("a ** 0.5", "whole powers"),
        ("a % b", "whole powers"),
        ("a if b else c", "not allowed"),
        ("'a'", "not allowed"),
        ("__import__('os')", "not a function"),
        ("a < b", "not allowed"),
        ("sum(a, key=b)", "not allowed"),
    ],
)
def test_what_is_no_derivation_is_refused(text: str, said: str) -> None:
    """Nothing of Python beyond what is listed."""
    with pytest.raises(ValueError, match=said):
        compile_expression(text, resolve)
