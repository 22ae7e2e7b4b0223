"""How much of a slice should not count, by what ended in its first milliseconds."""

from __future__ import annotations

import random

import pytest

from assay.stats.lead import lead_of


def slices(cold_ms: int, per_ms: int = 50, count: int = 80) -> tuple[list[list[int]], list[float]]:
    """Slices whose first milliseconds are empty, and then like the rest, with noise."""
    chance = random.Random(cold_ms)

    def in_ms(ms: int) -> int:
        return 0 if ms < cold_ms else round(chance.gauss(per_ms, per_ms**0.5))

    return [[in_ms(ms) for ms in range(20)] for _ in range(count)], [float(per_ms)] * count


@pytest.mark.parametrize("cold_ms", [2, 7, 15])
def test_what_is_empty_is_left_out(cold_ms: int) -> None:
    """To half a percent of the slice."""
    assert 1000 * lead_of(*slices(cold_ms), slice_s=0.1) == pytest.approx(cold_ms, abs=1)


def test_a_server_that_is_there_at_once_loses_a_millisecond() -> None:
    """The least, for the hand-over."""
    assert lead_of(*slices(0), slice_s=0.1) == 0.001


def test_what_comes_in_a_burst_is_left_out_too() -> None:
    """Answers that were held back, say."""
    early, rates = slices(0)
    early = [[row[0] + 200, *row[1:]] for row in early]
    assert lead_of(early, rates, slice_s=0.1) == 0.001
    early = [[*row[:4], row[4] + 200, *row[5:]] for row in early]
    assert lead_of(early, rates, slice_s=0.1) == 0.005


def test_nothing_that_was_seen_is_no_lead() -> None:
    """Servers that answered nothing are told by other means."""
    assert lead_of([], [], slice_s=0.1) == 0.0
    assert lead_of([[0, 0]], [0.0], slice_s=0.1) == 0.0
