"""Statements that are numbers: recomputed from the cells, and compared with what is stated.

Percentages come in kinds, and one number can be right as one and wrong as another:

    gain       of / over - 1     how far `of` lies above `over`; no upper limit
    reduction  1 - of / over     how far it lies below; never above 100 %
    saving     1 - of / over     of cost at equal work; never above 100 %
    times      of / over
    points     of - over         of two percentages
    percent    gain or reduction, seen from either side: the statement does not say which

Where a stated number is not what its kind gives but is what another kind gives, it is of the
wrong kind, and the reason names both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from assay.claims.expression import Node, Quantity, UnitsError, solve
from assay.claims.interval import Interval
from assay.claims.model import Claim, Statement
from assay.claims.printed import Printed
from assay.claims.result import Result, shown
from assay.claims.units import parse_unit

_ONE = Node("number", Fraction(1))
PERCENT = parse_unit("%")


@dataclass(frozen=True)
class StatementFinding:
    """An answer, what was recomputed (in the unit's symbols), and why."""

    result: Result
    found: Interval | None
    reason: str


def _ratio(a: Node, b: Node) -> Node:
    return Node("/", parts=(a, b))


def _gain(a: Node, b: Node) -> Node:
    return Node("-", parts=(_ratio(a, b), _ONE))


def _reduction(a: Node, b: Node) -> Node:
    return Node("-", parts=(_ONE, _ratio(a, b)))


FORMS: dict[str, Callable[[Node, Node], Node]] = {
    "gain": _gain,
    "reduction": _reduction,
    "saving": _reduction,
    "times": _ratio,
    "points": lambda a, b: Node("-", parts=(a, b)),
}
NAMES = {
    "gain": "an increase",
    "reduction": "a reduction",
    "saving": "a saving at equal work",
    "times": "a ratio",
    "points": "a difference in points",
}
_MISTAKEN: dict[str, tuple[tuple[str, bool, str], ...]] = {
    "gain": (
        ("times", False, "the ratio of the two"),
        ("points", False, "their difference in points"),
        ("reduction", True, "how far the lower lies below the higher"),
    ),
    "reduction": (
        ("gain", True, "the gain of the other over it"),
        ("times", False, "the ratio of the two"),
        ("points", True, "their difference in points"),
    ),
    "saving": (
        ("gain", True, "the gain in work per cost"),
        ("times", False, "the ratio of the two costs"),
        ("times", True, "the ratio of the two costs"),
    ),
    "times": (("gain", False, "the increase, one less than the ratio"),),
    "points": (("gain", False, "the increase in percent"),),
}
"""What a number may be taken for: the kind, whether `of` and `over` change places, in words."""


def value(claim: Claim, statement: Statement) -> StatementFinding:
    """A derived number against the one stated."""
    (node,) = statement.parts["from"]
    return _held(claim, statement, node, "")


def compared(claim: Claim, statement: Statement) -> StatementFinding:
    """`of` against `over`, as the kind of percentage that is stated."""
    (of,), (over,) = statement.parts["of"], statement.parts["over"]
    finding = _held(claim, statement, FORMS[statement.kind](of, over), NAMES[statement.kind])
    if finding.result is Result.FOLLOWS:
        return finding
    stated, reason = _stated(statement), finding.reason
    mistaken = _taken_for(claim, statement, of, over)
    too_large = statement.kind == "saving" and (stated.range or _NONE).low > 1
    if not mistaken and not too_large:
        return finding
    limit = "a saving cannot exceed 100 %" if too_large else ""
    parts = [limit, f"{stated.text} is {mistaken}" if mistaken else "", reason]
    return StatementFinding(Result.WRONG_KIND, finding.found, "; ".join(p for p in parts if p))


def percent(claim: Claim, statement: Statement) -> StatementFinding:
    """A percentage whose kind the statement leaves open: any of four readings will do."""
    (of,), (over,) = statement.parts["of"], statement.parts["over"]
    stated, tried = _stated(statement), []
    for form, a, b in (
        ("reduction", of, over),
        ("gain", of, over),
        ("gain", over, of),
        ("reduction", over, of),
    ):
        found = _solved(claim, statement, FORMS[form](a, b))
        if stated.admits(found.range):
            said = shown(found.range, stated.unit)
            return StatementFinding(Result.FOLLOWS, found.range, f"as {NAMES[form]}: {said}")
        if found.range.low > 0:
            tried.append((form, found.range))
    said = ", ".join(f"{shown(r, stated.unit)} as {NAMES[f]}" for f, r in tried)
    return StatementFinding(Result.NOT, tried[0][1] if tried else None, f"the cells give {said}")


def spread(claim: Claim, statement: Statement) -> StatementFinding:
    """A range that is said to hold several values."""
    stated, least, most = _stated(statement), [], []
    for node in statement.parts["from"]:
        low, high = _ends(claim, statement, node)
        least.append(low)
        most.append(high)
    lowest = min(least, key=lambda i: i.low)
    highest = max(most, key=lambda i: i.high)
    inside = stated.range or _NONE
    fits = lowest.high >= inside.low and highest.low <= inside.high
    if stated.word == "up to":
        fits = highest.low <= inside.high
    found = lowest.hull(highest)
    ends = [shown(_middle(end), stated.unit) for end in (lowest, highest)]
    one = lowest == highest
    reason = f"it is {ends[0]}" if one else f"the values go from {ends[0]} to {ends[1]}"
    return StatementFinding(Result.FOLLOWS if fits else Result.NOT, found, reason)


def same(claim: Claim, statement: Statement) -> StatementFinding:
    """Two quantities that are said to be about the same."""
    (of,), (over,) = statement.parts["of"], statement.parts["over"]
    found = solve(_gain(of, over), claim.ground()).range
    limit = Fraction(str(statement.options["within"]))
    reason = f"they differ by {shown(found, PERCENT)}; up to {100 * float(limit):g} % is allowed"
    if -limit <= found.low and found.high <= limit:
        return StatementFinding(Result.FOLLOWS, found, reason)
    apart = found.low > limit or found.high < -limit
    return StatementFinding(Result.NOT if apart else Result.UNCHECKED, found, reason)


_NONE = Interval.point(0)


def _middle(held: Interval) -> Interval:
    """What was printed, of the interval it stands for."""
    return Interval.point((held.low + held.high) / 2)


def _stated(statement: Statement) -> Printed:
    assert statement.stated is not None, "the reader refuses a number statement without a number"
    return statement.stated


def _solved(claim: Claim, statement: Statement, node: Node, *, printed: bool = False) -> Quantity:
    """What a derivation comes to, in the unit that is stated; UnitsError if it is in another."""
    found = solve(node, claim.ground(printed_only=printed))
    stated = _stated(statement)
    if found.unit.symbols != stated.unit.symbols:
        raise UnitsError(
            f"the statement is in {stated.unit.named()}, its evidence in {found.unit.named()}"
        )
    return found


def _held(claim: Claim, statement: Statement, node: Node, name: str) -> StatementFinding:
    """A derivation against the number stated, with what explains a difference."""
    stated = _stated(statement)
    found = _solved(claim, statement, node).range
    as_kind = f"as {name} " if name else ""
    said = f"{as_kind}it is {shown(found, stated.unit)}"
    if stated.admits(found):
        return StatementFinding(Result.FOLLOWS, found, said)
    rounded = _solved(claim, statement, node, printed=True).range
    cut = stated.cut_off()
    if stated.admits(rounded):
        said += f"; {stated.text} follows only from cells that were rounded before"
    elif cut is not None and cut.meets(found):
        said += "; the digits were cut off, not rounded"
    return StatementFinding(Result.NOT, found, said)


def _taken_for(claim: Claim, statement: Statement, of: Node, over: Node) -> str:
    """What the stated number is instead, in words; "" if nothing that is known."""
    stated = _stated(statement)
    for printed in (False, True):
        ground = claim.ground(printed_only=printed)
        for kind, swapped, words in _MISTAKEN[statement.kind]:
            a, b = (over, of) if swapped else (of, over)
            found = solve(FORMS[kind](a, b), ground)
            if found.unit.symbols or not stated.admits(found.range):
                continue
            rounded = ", from cells that were rounded before" if printed else ""
            exact = solve(FORMS[kind](a, b), claim.ground()).range
            return f"{words} ({shown(exact, stated.unit)}{rounded})"
    return ""


def _ends(claim: Claim, statement: Statement, node: Node) -> tuple[Interval, Interval]:
    """The least and the most of one value: the two ends of a cell that holds a range."""
    if node.kind == "cells" and node.names[0] not in claim.formulas:
        printed = claim.cells[node.names[0]].printed
        if printed.unit.symbols != _stated(statement).unit.symbols:
            raise UnitsError(
                f"the range is in {_stated(statement).unit.named()}, "
                f"{node.names[0]} in {printed.unit.named()}"
            )
        assert printed.least is not None, "what is not printed was left out before"
        assert printed.most is not None, "both ends are printed or none"
        return printed.least, printed.most
    found = _solved(claim, statement, node).range
    return found, found
