"""Durations, sizes and percentages."""

from __future__ import annotations

import pytest

from assay.core.units import (
    format_duration,
    format_percent,
    format_quantity,
    parse_duration,
    parse_percent,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("2s", 2), ("1.5min", 90), ("1 h", 3600), ("20us", 2e-5)]
)
def test_a_duration_is_read_in_seconds(text: str, seconds: float) -> None:
    """Every unit, with and without a space."""
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["5", "5 parsecs", "", "-1s", 5, None, "1e3s", "ms"])
def test_what_is_no_duration_is_refused_with_an_example(text: object) -> None:
    """A bare number is no duration."""
    with pytest.raises(ValueError, match="for example"):
        parse_duration(text)


def test_sizes_and_percentages_have_their_own_units() -> None:
    """A size is no percentage."""
    assert parse_size("16KiB") == 16384
    assert parse_percent("2%") == pytest.approx(0.02)
    with pytest.raises(ValueError, match="percentage"):
        parse_percent("2s")
    with pytest.raises(ValueError, match="size"):
        parse_size("2%")


def test_numbers_are_shown_with_the_digits_they_deserve() -> None:
    """Small effects keep two digits, large ones none."""
    assert format_percent(0.0213) == "+2.1 %"
    assert format_percent(-0.00123) == "-0.12 %"
    assert format_percent(5.4) == "+540 %"
    assert format_duration(0.25) == "250 ms"
    assert format_duration(200) == "3 min 20 s"
    assert format_duration(59.97) == "1 min"
    assert format_quantity(1_240_000, "op/s") == "1.24 Mop/s"
    assert format_quantity(1_240_000, "ns") == "1.24 ms"
    assert format_quantity(0.031, "fraction") == "3.1 %"
