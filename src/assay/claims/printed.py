"""A number as it stands in print, and what it can have been before it was rounded.

    12.3          from 12.25 to 12.35: half a unit of the last digit printed
    42,870        from 42,869.5 to 42,870.5
    about 3.9     from 3.8 to 4.0: one whole unit of the last digit that counts; trailing zeros of
                  a whole number count up to its second digit (about 450,000: 440,000 to 460,000)
    up to 30      at most 30.5; `at least`, `over` likewise from below
    2-5           a range; its ends are rounded as they stand
    1M, 70k       the digits times 10^6 or 10^3, rounded as printed
    ?             not printed: a chart without numbers, or a number nobody gives

An interval is closed at both ends, because nobody says which way a half was rounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from assay.claims.interval import Interval
from assay.claims.units import Unit, parse_unit

NOT_PRINTED = "?"
_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?[kMGT]?"
_PRINTED = re.compile(
    rf"(?:(?P<word>about|~|up to|at most|at least|over)\s*)?"
    rf"(?P<low>{_NUMBER})(?:\s*(?:-|–|to)\s*(?P<high>{_NUMBER}))?(?P<rest>(?:[ %].*)?)"
)
_SUFFIX = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_WORDS = {"~": "about", "at most": "up to", "over": "at least"}


@dataclass(frozen=True)
class Printed:
    """A printed quantity: its text, what its two ends can have been, and its unit.

    `least` and `most` are in the unit's symbols (bytes, seconds, fractions); they are the same
    where one number is printed, and None where none is. `word` is "", "about", "up to" or "at
    least".
    """

    text: str
    least: Interval | None
    most: Interval | None
    unit: Unit
    word: str = ""

    @property
    def range(self) -> Interval | None:
        """Everything it can have been."""
        return self.least.hull(self.most) if self.least and self.most else None

    @property
    def is_range(self) -> bool:
        """Whether two ends are printed."""
        return self.least != self.most

    def admits(self, found: Interval) -> bool:
        """Whether a recomputed value, in the unit's symbols, can be what is printed."""
        stated = self.range
        assert stated is not None, "nothing is compared with what is not printed"
        if self.word == "up to":
            return found.low <= stated.high
        if self.word == "at least":
            return stated.low <= found.high
        return stated.meets(found)

    def cut_off(self) -> Interval | None:
        """What it can have been if digits were cut off instead of rounded."""
        if self.word or self.is_range or self.least is None:
            return None
        middle = (self.least.low + self.least.high) / 2
        width = self.least.high - self.least.low
        ends = sorted((middle, middle + (-width if middle < 0 else width)))
        return Interval(*ends)


def read_printed(text: str, unit: str | None = None, *, exact: bool = False) -> Printed:
    """A printed quantity; ValueError says what is wrong with it.

    With `unit` the text is the number alone (a trailing "%" is allowed where that is the unit);
    without, the unit follows the number. `exact`: a count or a definition, not rounded.
    """
    written = text.strip()
    if written.split(" ", 1)[0] == NOT_PRINTED:
        _, _, follows = written.partition(" ")
        return Printed(text, None, None, _unit_of(text, follows, unit))
    match = _PRINTED.fullmatch(written)
    if match is None:
        raise ValueError(f'{text!r} is not a number; write for example "12.3", "about 5" or "?"')
    follows = match["rest"].strip()
    if unit is not None and follows == "%" and unit.startswith("%"):
        follows = ""
    found = _unit_of(text, follows, unit)
    word = _WORDS.get(match["word"] or "", match["word"] or "")
    least = _rounded(match["low"], about=word == "about", exact=exact)
    most = _rounded(match["high"] or match["low"], about=word == "about", exact=exact)
    if most.high < least.high:
        raise ValueError(f"{text!r} is a range whose ends are the wrong way round")
    if found.is_money and match["low"].startswith("-"):
        raise ValueError(f"{text!r} is a negative amount of money")
    return Printed(text, least.scaled(found.scale), most.scaled(found.scale), found, word)


def _unit_of(text: str, follows: str, unit: str | None) -> Unit:
    if unit is not None and follows:
        raise ValueError(f"{text!r}: only a number belongs here, its unit is {unit}")
    if unit is None and not follows:
        raise ValueError(f'{text!r} has no unit; write for example "{text} USD" or "{text} times"')
    return parse_unit(follows if unit is None else unit)


def _rounded(number: str, *, about: bool, exact: bool) -> Interval:
    scale = _SUFFIX.get(number[-1], 1)
    digits = (number if scale == 1 else number[:-1]).replace(",", "")
    value = Fraction(digits) * scale
    if exact:
        return Interval.point(value)
    _, point, decimals = digits.partition(".")
    step = Fraction(scale, 10 ** len(decimals))
    if about and not point:
        whole = digits.lstrip("+-0")
        zeros = min(len(whole) - len(whole.rstrip("0")), max(0, len(whole) - 2))
        step *= 10**zeros
    half = step if about else step / 2
    return Interval(value - half, value + half)
