"""Histograms out of a bundle: their cost is bounded, and percentiles are those of the library."""

from __future__ import annotations

import base64
import random
import zlib

import pytest
from hdrh.histogram import HdrHistogram

from assay.core.histograms import BYTES_MAX, merge, value_at


def test_a_histogram_that_inflates_without_end_is_not_read() -> None:
    """1.4 MB of text took a minute and more."""
    bomb = base64.b64encode(bytes(8) + zlib.compress(bytes(64 * BYTES_MAX))).decode()
    good = HdrHistogram(1, 3_600_000_000, 3)
    good.record_value(1000)
    merged, unreadable = merge([bomb, good.encode().decode()])
    assert unreadable == 1
    assert merged is not None
    assert merged.total_count == 1


@pytest.mark.parametrize("seed", range(20))
def test_a_percentile_is_what_the_slow_library_finds(seed: int) -> None:
    """Of few values and of many, written and read back, of one histogram and of two added."""
    drawn = random.Random(seed)
    made = []
    for _ in range(2):
        one = HdrHistogram(1, 3_600_000_000_000, drawn.choice([2, 3]))
        for _ in range(drawn.choice([1, 2, 300])):
            one.record_value(int(drawn.lognormvariate(10, 3)) + 1)
        made.append(one)
    merged, _ = merge([one.encode().decode() for one in made])
    read = HdrHistogram.decode(made[0].encode())
    for histogram in (made[0], read, merged):
        for percent in (0.0, 50.0, 90.0, 99.0, 99.9, 100.0):
            assert value_at(histogram, percent) == histogram.get_value_at_percentile(percent)


def test_a_percentile_of_nothing_is_zero() -> None:
    assert value_at(HdrHistogram(1, 1000, 2), 50.0) == 0
