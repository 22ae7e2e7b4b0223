"""Statements in words over tables: "improved every measure", "the best", "rises", "linear".

A comparison of two printed numbers is certain where their intervals do not overlap, and even
where they are printed alike. Otherwise it is unclear, and a statement that hangs on it cannot be
checked. "Almost every" is taken as four fifths at least, "most" as more than half.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from assay.claims.expression import Node, difference, solve
from assay.claims.figures import StatementFinding
from assay.claims.interval import Interval
from assay.claims.model import CellComparison, Claim, Statement
from assay.claims.result import Result

LISTED = 5
"""Comparisons that a reason names."""

_FITS = {
    "better": ("better",),
    "worse": ("worse",),
    "equal": ("equal",),
    "no better": ("worse", "equal"),
    "no worse": ("better", "equal"),
    "best": ("better", "equal"),
}
_ENOUGH = {
    "every": Fraction(1),
    "almost every": Fraction(4, 5),
    "most": Fraction(1, 2),
    "some": Fraction(0),
}


def compared(claim: Claim, statement: Statement) -> StatementFinding:
    """Whether subjects are better, worse or equal in every, most or some measures."""
    found = [(c, _relation(claim, c.of, c.others[0], c.better)) for c in statement.comparisons]
    if statement.word == "mixed":
        return _mixed(claim, found)
    fits = _FITS[statement.word]
    return _counted(claim, statement, [(c, _fits(r, fits), r) for c, r in found])


def best(claim: Claim, statement: Statement) -> StatementFinding:
    """Whether no other is better, in every, most or some measures."""
    found = []
    for c in statement.comparisons:
        relations = [_relation(claim, c.of, other, c.better) for other in c.others]
        answers = [_fits(r, _FITS["best"]) for r in relations]
        all_of = False if False in answers else None if None in answers else True
        found.append((c, all_of, "best" if all_of else "unclear" if all_of is None else "beaten"))
    return _counted(claim, statement, found)


def ordered(claim: Claim, statement: Statement) -> StatementFinding:
    """Whether values rise or fall from each to the next."""
    nodes = statement.parts["values"]
    way = "higher" if statement.kind == "rising" else "lower"
    answers = [_relation(claim, after, before, way) for before, after in itertools.pairwise(nodes)]
    if "worse" in answers or "equal" in answers:
        step = next(i for i, a in enumerate(answers) if a in ("worse", "equal"))
        reason = f"not from the {_nth(step + 1)} to the {_nth(step + 2)} value"
        return StatementFinding(Result.NOT, None, reason)
    if "unclear" in answers:
        return StatementFinding(Result.UNCHECKED, None, "two values overlap within their rounding")
    return StatementFinding(Result.FOLLOWS, None, f"each value is {way} than the one before")


def linear(claim: Claim, statement: Statement) -> StatementFinding:
    """Whether y is proportional to x: one factor fits every pair within its rounding."""
    low, high = None, None
    for x, y in zip(statement.parts["x"], statement.parts["y"], strict=True):
        found = solve(Node("/", parts=(y, x)), claim.ground()).range
        low = found.low if low is None else max(low, found.low)
        high = found.high if high is None else min(high, found.high)
    assert low is not None, "the reader refuses an empty list"
    assert high is not None, "both ends are set together"
    if low <= high:
        return StatementFinding(
            Result.FOLLOWS, None, "one factor fits every pair within its rounding"
        )
    return StatementFinding(Result.NOT, None, "y over x is not the same for every pair")


def mask(claim: Claim, statement: Statement) -> StatementFinding:
    """Which CPUs hexadecimal masks name together, against those that are said."""
    said = set(statement.options["covers"])
    named: set[int] = set()
    for text in statement.options["masks"]:
        bits = int(text.replace(",", ""), 16)
        named |= {cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1}
    reason = f"the masks name CPUs {_runs_of(named)}"
    beyond = {cpu for cpu in named if cpu >= statement.options["cpus"]}
    if beyond:
        reason += f"; there is no CPU {_runs_of(beyond)} among {statement.options['cpus']}"
    fits = named == said and not beyond
    return StatementFinding(Result.FOLLOWS if fits else Result.NOT, None, reason)


def _relation(claim: Claim, of: Node, other: Node, better: str) -> str:
    """better, worse, equal or unclear."""
    ground = claim.ground()
    one, two = solve(of, ground), solve(other, ground)
    if set(one.slopes) & set(two.slopes):
        apart = solve(Node("-", parts=(of, other)), ground).range
    else:
        apart = difference(one, two).range
    if apart == Interval.point(0) or one.range == two.range:
        return "equal"
    if apart.low >= 0:
        return "better" if better == "higher" else "worse"
    if apart.high <= 0:
        return "worse" if better == "higher" else "better"
    return "unclear"


def _fits(relation: str, wanted: tuple[str, ...]) -> bool | None:
    return None if relation == "unclear" else relation in wanted


def _mixed(claim: Claim, found: list[tuple[CellComparison, str]]) -> StatementFinding:
    words = [relation for _, relation in found]
    reason = _listing(claim, [(c, None, r) for c, r in found])
    if "better" in words and "worse" in words:
        return StatementFinding(Result.FOLLOWS, None, reason)
    result = Result.UNCHECKED if "unclear" in words else Result.NOT
    return StatementFinding(result, None, reason)


def _counted(
    claim: Claim, statement: Statement, found: list[tuple[CellComparison, bool | None, str]]
) -> StatementFinding:
    """The quantifier over the answers; unclear ones are counted both ways."""
    yes = sum(answer is True for _, answer, _ in found)
    unclear = sum(answer is None for _, answer, _ in found)
    verdicts = {_holds(statement.within, count, len(found)) for count in (yes, yes + unclear)}
    against = [f for f in found if f[1] is not True] or found
    if statement.within == "none":
        against = [f for f in found if f[1] is not False] or found
    counts = f"{yes} of {len(found)}; " if len(found) > 1 else ""
    result = Result.FOLLOWS if verdicts == {True} else Result.NOT
    if len(verdicts) > 1:
        result = Result.UNCHECKED
    return StatementFinding(result, None, counts + _listing(claim, against))


def _holds(share: str, count: int, total: int) -> bool:
    if share == "none":
        return count == 0
    if share in ("most", "some"):
        return Fraction(count, total) > _ENOUGH[share]
    return Fraction(count, total) >= _ENOUGH[share]


def _listing(claim: Claim, found: list[tuple[CellComparison, bool | None, str]]) -> str:
    """Comparisons in words: "data of tsx is worse (4.00 after 2.10)"."""
    parts = []
    for c, _, relation in found[:LISTED]:
        against = _text(claim, c.others[0]) if len(c.others) == 1 else f"{len(c.others)} others"
        parts.append(f"{c.label} is {c.word(relation)} ({_text(claim, c.of)} against {against})")
    more = len(found) - LISTED
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "")


def _text(claim: Claim, node: Node) -> str:
    """A cell as printed; what is derived, by its cells."""
    texts = [claim.cells[name].printed.text for name in node.references()]
    return texts[0] if node.kind == "cells" else ", ".join(texts)


def _nth(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


def _runs_of(cpus: set[int]) -> str:
    """CPU numbers as the kernel lists them: "1-7,9-15"."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and parts[-1][-1] == cpu - 1:
            parts[-1] = [parts[-1][0], cpu]
        else:
            parts.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts) or "none"
