"""Closed intervals of exact fractions.

What a printed number can have been before it was rounded is an interval; a derived cell is a
function of several. Fractions and not floats: whether 49.5 rounds to 49 or 50 must not depend on
how a machine stores it. Division by an interval that holds zero is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


class UndefinedError(ArithmeticError):
    """A divisor can be zero within its rounding."""


@dataclass(frozen=True)
class Interval:
    """All numbers from `low` to `high`, both included."""

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        assert self.low <= self.high, "an interval's ends are in order"

    @classmethod
    def point(cls, value: Fraction | int) -> Interval:
        """The interval that holds one number."""
        return cls(Fraction(value), Fraction(value))

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def __truediv__(self, other: Interval) -> Interval:
        if other.low <= 0 <= other.high:
            raise UndefinedError("the divisor can be zero")
        return self * Interval(1 / other.high, 1 / other.low)

    def meets(self, other: Interval) -> bool:
        """Whether some number is in both."""
        return self.low <= other.high and other.low <= self.high

    def below(self, other: Interval) -> bool:
        """Whether no number here is larger than one there."""
        return self.high <= other.low and self != other

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def largest(self, other: Interval) -> Interval:
        """What the larger of two numbers can be."""
        return Interval(max(self.low, other.low), max(self.high, other.high))

    def scaled(self, factor: Fraction) -> Interval:
        """Every number times a positive factor."""
        return Interval(self.low * factor, self.high * factor)


ZERO = Interval.point(0)
ONE = Interval.point(1)
