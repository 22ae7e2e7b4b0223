"""What a printed number can have been before it was rounded."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from assay.claims.printed import read_printed


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("12.3 s", F("12.25"), F("12.35")),
        ("12.30 s", F("12.295"), F("12.305")),
        ("42,870 s", F("42869.5"), F("42870.5")),
        ("0 s", F("-0.5"), F("0.5")),
        ("-3.0 s", F("-3.05"), F("-2.95")),
        ("~3.9 s", F("3.8"), F("4.0")),
        ("about 450,000 s", F(440_000), F(460_000)),
        ("about 20 s", F(19), F(21)),
        ("about 7 s", F(6), F(8)),
        ("1M s", F(500_000), F(1_500_000)),
        ("2.10G s", F(2_095_000_000), F(2_105_000_000)),
        ("2-5 s", F("1.5"), F("5.5")),
        ("1.03 – 1.22 s", F("1.025"), F("1.225")),
        ("50 %", F("0.495"), F("0.505")),
        ("2 ms", F("0.0015"), F("0.0025")),
        ("1.5 KiB", F(1484, 1) + F(4, 5), F(1587, 1) + F(1, 5)),
    ],
)
def test_a_number_stands_for_all_that_round_to_it(text: str, low: F, high: F) -> None:
    """Half a unit of its last digit; a whole one for "about"; each end of a range by itself."""
    found = read_printed(text).range
    assert found is not None
    assert (found.low, found.high) == (low, high)


def test_a_count_is_exact() -> None:
    """Sixteen cores are not fifteen and a half."""
    found = read_printed("16 core", exact=True).range
    assert found is not None
    assert found.low == found.high == 16


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("much", "not a number"),
        ("12", "has no unit"),
        ("1,23 s", "not a number"),
        ("5 - 2 s", "wrong way round"),
        ("-5 USD", "negative amount of money"),
        ("5 % for all", "not a unit"),
        ("5 B of RAM", 'only "%" may be'),
        ("5 a//b", "not a unit"),
    ],
)
def test_what_is_no_quantity_is_refused(text: str, said: str) -> None:
    """With what is wrong about it."""
    with pytest.raises(ValueError, match=said):
        read_printed(text)


def test_nothing_printed_has_a_unit_and_no_range() -> None:
    """A chart without numbers."""
    found = read_printed("? op/s")
    assert found.range is None
    assert found.unit.named() == "op*s^-1"


def test_bounds_admit_one_side() -> None:
    """Up to 30 % admits 12 %, and at least 10 does not admit 9."""
    small = read_printed("12 %").range
    assert small is not None
    assert read_printed("up to 30 %").admits(small)
    assert not read_printed("up to 10 %").admits(small)
    assert not read_printed("at least 30 %").admits(small)
