"""Closed intervals of fractions: every operation holds all results, and no more."""

from __future__ import annotations

import operator
import random
from fractions import Fraction

import pytest

from assay.claims.interval import Interval, UndefinedError


def drawn(draw: random.Random) -> Interval:
    """An interval with ends from -5 to 5, sometimes a point."""
    ends = sorted(Fraction(draw.randint(-50, 50), 10) for _ in range(2))
    return Interval(*ends) if draw.random() < 0.9 else Interval.point(ends[0])


@pytest.mark.parametrize("act", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_results_lie_inside_and_both_ends_are_results(act) -> None:
    """Of 300 pairs of intervals: the corners attain the ends, drawn points stay inside."""
    draw = random.Random(3)
    for _ in range(300):
        a, b = drawn(draw), drawn(draw)
        if act is operator.truediv and b.low <= 0 <= b.high:
            with pytest.raises(UndefinedError):
                act(a, b)
            continue
        found = act(a, b)
        corners = [act(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        assert (found.low, found.high) == (min(corners), max(corners))
        for _ in range(10):
            x, y = (i.low + (i.high - i.low) * Fraction(draw.randint(0, 10), 10) for i in (a, b))
            assert found.low <= act(x, y) <= found.high


def test_what_meets_what_lies_below_and_what_holds_both() -> None:
    """Touching intervals meet, and one is still not above the other."""
    one, two = Interval(Fraction(1), Fraction(2)), Interval(Fraction(2), Fraction(3))
    assert one.meets(two)
    assert one.below(two)
    assert not two.below(one)
    assert not one.meets(Interval.point(3))
    assert one.hull(two) == Interval(Fraction(1), Fraction(3))
    assert one.largest(two) == two
    assert -one == Interval(Fraction(-2), Fraction(-1))
    assert one.scaled(Fraction(2)) == Interval(Fraction(2), Fraction(4))
