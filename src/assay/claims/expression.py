"""Derivations: small expressions over printed cells, and what they can come to.

Written as `arm / price`, `sum(a, b) / c`, `mean(table.row)`: the four operations, whole powers,
numbers, `sum`, `mean`, `min`, `max`, names of cells, and names of rows and columns inside those
four functions. Nothing else of Python.

A cell that occurs twice would make plain interval arithmetic too wide (x - x is not 0). So every
quantity carries its slopes, themselves intervals: where the slope in a cell has one sign over
the whole box, the extremes lie at that cell's ends, and both are evaluated there. Rounding boxes
are small, so that is nearly always; otherwise the result is still an enclosure.

Source: R. E. Moore, R. B. Kearfott, M. J. Cloud, Introduction to Interval Analysis (2009), 6.4
(monotonicity of interval extensions).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from assay.claims.interval import ONE, ZERO, Interval
from assay.claims.units import NUMBER, Unit
from assay.core.parameters import nearest

POWER_MOST = 8
FUNCTIONS = ("sum", "mean", "min", "max")
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}

Resolve = Callable[[str], list[str] | None]
"""A name as written -> the cells it means; None if there is no such thing."""


class UnitsError(ValueError):
    """Quantities of different units were added or compared."""


class SharesError(Exception):
    """Percentages of different things were added or compared."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


@dataclass(frozen=True)
class Node:
    """One step: a "number", "cells", an operator or a function, with what it is applied to."""

    kind: str
    value: Fraction = Fraction(0)
    names: tuple[str, ...] = ()
    parts: tuple[Node, ...] = ()

    def references(self) -> Iterator[str]:
        """Every cell that is named in it."""
        yield from self.names
        for part in self.parts:
            yield from part.references()


@dataclass(frozen=True)
class Quantity:
    """What an expression can come to, in its unit's symbols, and its slope in every cell."""

    range: Interval
    unit: Unit
    slopes: Mapping[str, Interval]


@dataclass(frozen=True)
class Ground:
    """What derivations stand on: printed cells, and the formulas of those that are derived.

    A cell with a formula enters others unrounded, as its formula gives it.
    """

    leaves: Mapping[str, Quantity]
    formulas: Mapping[str, Node]


def compile_expression(text: str, resolve: Resolve) -> Node:
    """The steps of an expression; ValueError says what cannot be understood."""
    text = text.strip()
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        raise ValueError(f"{text!r} is not a derivation; write for example arm / price") from None
    return _compile(tree.body, text, resolve)


def _compile(tree: ast.expr, text: str, resolve: Resolve) -> Node:
    if isinstance(tree, ast.Constant) and type(tree.value) in (int, float):
        return Node("number", Fraction(ast.get_source_segment(text, tree) or "0"))
    if isinstance(tree, ast.Name | ast.Attribute):
        name = ast.unparse(tree)
        (cell, *more) = _resolved(name, resolve)
        if more:
            raise ValueError(f"{name} is several cells; put it into {', '.join(FUNCTIONS)}")
        return Node("cells", names=(cell,))
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return Node("-", parts=(Node("number"), _compile(tree.operand, text, resolve)))
    if isinstance(tree, ast.BinOp):
        return _binary(tree, text, resolve)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.keywords:
        return _call(tree.func.id, tree.args, text, resolve)
    raise ValueError(f"{ast.unparse(tree)!r} is not allowed in a derivation")


def _binary(tree: ast.BinOp, text: str, resolve: Resolve) -> Node:
    operator = _OPERATORS.get(type(tree.op))
    left = _compile(tree.left, text, resolve)
    if operator:
        return Node(operator, parts=(left, _compile(tree.right, text, resolve)))
    power = tree.right.value if isinstance(tree.right, ast.Constant) else None
    if isinstance(tree.op, ast.Pow) and type(power) is int and 1 <= power <= POWER_MOST:
        made = left
        for _ in range(power - 1):
            made = Node("*", parts=(made, left))
        return made
    raise ValueError(f"{ast.unparse(tree)!r}: only + - * / and whole powers up to {POWER_MOST}")


def _call(name: str, arguments: list[ast.expr], text: str, resolve: Resolve) -> Node:
    if name not in FUNCTIONS or not arguments:
        raise ValueError(
            f"{name}(...) is not a function{nearest(name, FUNCTIONS)}: "
            f"use {', '.join(FUNCTIONS)}, of one cell or more"
        )
    parts: list[Node] = []
    for argument in arguments:
        if isinstance(argument, ast.Name | ast.Attribute):
            found = _resolved(ast.unparse(argument), resolve)
            parts += [Node("cells", names=(cell,)) for cell in found]
        else:
            parts.append(_compile(argument, text, resolve))
    return Node(name, parts=tuple(parts))


def _resolved(name: str, resolve: Resolve) -> list[str]:
    found = resolve(name)
    if not found:
        raise ValueError(f"there is no cell {name!r}")
    return found


def leaf(name: str, values: Interval, unit: Unit) -> Quantity:
    """A cell as it enters a derivation."""
    return Quantity(values, unit, {name: ONE})


def solve(node: Node, ground: Ground) -> Quantity:
    """All that an expression can come to; UndefinedError, UnitsError and SharesError."""
    wide = _evaluate(node, ground, {})
    if node.kind == "cells" and node.names[0] not in ground.formulas:
        return wide
    first, last = {}, {}
    for name, slope in wide.slopes.items():
        held = ground.leaves[name].range
        low, high = Interval.point(held.low), Interval.point(held.high)
        if slope.low >= 0:
            first[name], last[name] = low, high
        elif slope.high <= 0:
            first[name], last[name] = high, low
    lowest = _evaluate(node, ground, first).range.low
    highest = _evaluate(node, ground, last).range.high
    return Quantity(Interval(lowest, highest), wide.unit, wide.slopes)


def _evaluate(node: Node, ground: Ground, held: Mapping[str, Interval]) -> Quantity:
    """One pass of interval arithmetic with slopes; some cells are held at an end."""
    if node.kind == "number":
        return Quantity(Interval.point(node.value), NUMBER, {})
    if node.kind == "cells":
        return _cell(node.names[0], ground, held)
    parts = [_evaluate(part, ground, held) for part in node.parts]
    if node.kind in FUNCTIONS:
        return _apply(node.kind, parts)
    return _STEPS[node.kind](*parts)


def _cell(name: str, ground: Ground, held: Mapping[str, Interval]) -> Quantity:
    if name in ground.formulas:
        found = _evaluate(ground.formulas[name], ground, held)
        share_of = ground.leaves[name].unit.share_of
        unit = Unit("", Fraction(1), found.unit.symbols, share_of or found.unit.share_of)
        return Quantity(found.range, unit, found.slopes)
    printed = ground.leaves[name]
    return Quantity(held.get(name, printed.range), printed.unit, printed.slopes)


def _apply(name: str, parts: list[Quantity]) -> Quantity:
    step: Any = {"min": _smaller, "max": _larger}.get(name, _plus)
    total = parts[0]
    for part in parts[1:]:
        total = step(total, part)
    if name != "mean":
        return total
    return _times(total, Quantity(Interval.point(Fraction(1, len(parts))), NUMBER, {}))


def _joined(left: Quantity, right: Quantity) -> Unit:
    """The unit of a sum or a choice; refused where the two cannot be added."""
    one, other = left.unit, right.unit
    if one.symbols != other.symbols:
        raise UnitsError(f"{one.named()} and {other.named()} cannot be added or compared")
    if one.share_of and other.share_of and one.share_of != other.share_of:
        raise SharesError(one.share_of, other.share_of)
    return Unit("", Fraction(1), one.symbols, one.share_of or other.share_of)


def _slopes(left: Quantity, by_left: Interval, right: Quantity, by_right: Interval) -> Any:
    found = {name: slope * by_left for name, slope in left.slopes.items()}
    for name, slope in right.slopes.items():
        found[name] = found.get(name, ZERO) + slope * by_right
    return found


def _plus(left: Quantity, right: Quantity) -> Quantity:
    unit = _joined(left, right)
    return Quantity(left.range + right.range, unit, _slopes(left, ONE, right, ONE))


def _minus(left: Quantity, right: Quantity) -> Quantity:
    unit = _joined(left, right)
    return Quantity(left.range - right.range, unit, _slopes(left, ONE, right, -ONE))


def difference(left: Quantity, right: Quantity) -> Quantity:
    """One quantity less another, with which it shares no cell."""
    return _minus(left, right)


def _times(left: Quantity, right: Quantity) -> Quantity:
    unit = left.unit * right.unit
    slopes = _slopes(left, right.range, right, left.range)
    return Quantity(left.range * right.range, _plain(unit), slopes)


def _over(left: Quantity, right: Quantity) -> Quantity:
    one, other = left.unit.share_of, right.unit.share_of
    if one and other and one != other:
        raise SharesError(one, other)
    value = left.range / right.range
    slopes = _slopes(left, ONE / right.range, right, -(value / right.range))
    return Quantity(value, _plain(left.unit * right.unit.inverse()), slopes)


def _plain(unit: Unit) -> Unit:
    """The symbols alone: values are kept in them."""
    return Unit("", Fraction(1), unit.symbols)


def _larger(left: Quantity, right: Quantity) -> Quantity:
    return _chosen(left, right, left.range.largest(right.range), left.range.below(right.range))


def _smaller(left: Quantity, right: Quantity) -> Quantity:
    least = -((-left.range).largest(-right.range))
    return _chosen(left, right, least, right.range.below(left.range))


def _chosen(left: Quantity, right: Quantity, value: Interval, is_right: bool) -> Quantity:
    """The larger or the smaller; where either can be it, the slope is anything between."""
    unit = _joined(left, right)
    if is_right:
        return Quantity(value, unit, right.slopes)
    either = Interval(Fraction(0), Fraction(1))
    return Quantity(value, unit, _slopes(left, either, right, either))


_STEPS: dict[str, Callable[[Quantity, Quantity], Quantity]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": _over,
}
