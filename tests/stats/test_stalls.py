"""Stalls of one run: deep, beyond the run's own unrest, and one after the other as one."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from assay.stats.stalls import DEEP, DEVIATIONS, LEAST, Stall, stalls


def slowly(rates: list[float]) -> list[Stall]:
    """The same, interval by interval, as it is written down."""
    if len(rates) < LEAST:
        return []
    median = statistics.median(rates)
    deviation = statistics.median(abs(rate - median) for rate in rates) / 0.6745
    found: list[list[int]] = []
    for place, rate in enumerate(rates):
        if rate < DEEP * median and rate < median - DEVIATIONS * deviation:
            if found and found[-1][-1] == place - 1:
                found[-1].append(place)
            else:
                found.append([place])
    return [
        Stall(places[0], places[-1], min(rates[p] for p in places) / median) for places in found
    ]


@pytest.mark.parametrize("seed", range(40))
def test_stalls_are_those_of_the_slow_way(seed: int) -> None:
    """Runs with and without dips, of many lengths."""
    drawn = np.random.default_rng(seed)
    rates = np.exp(drawn.normal(0, drawn.choice([0.01, 0.1, 0.4]), drawn.integers(2, 60)))
    rates[drawn.random(len(rates)) < 0.15] *= 0.1
    found, expected = stalls(rates.tolist()), slowly(rates.tolist())
    assert [(s.first, s.last) for s in found] == [(s.first, s.last) for s in expected]
    assert [s.depth for s in found] == pytest.approx([s.depth for s in expected])


def test_seconds_one_after_the_other_are_one_stall() -> None:
    """And its depth is that of the lowest of them."""
    rates = [100.0, 101, 99, 10, 5, 100, 100, 100, 20, 100]
    assert stalls(rates) == [Stall(3, 4, 0.05), Stall(8, 8, 0.2)]


def test_a_dip_above_half_and_a_run_without_rest_have_none() -> None:
    """A stall is deep, and more than the run's own unrest."""
    assert stalls([100.0, 100, 100, 60, 100, 100, 100]) == []
    assert stalls([100.0, 20, 90, 30, 110, 25, 95, 15]) == []
    assert stalls([100.0, 1, 100]) == []


def test_noise_alone_makes_no_stall() -> None:
    """Of 2,000 runs of 30 s whose seconds differ by 5 to 30 %, at most one in a thousand."""
    drawn = np.random.default_rng(1)
    runs = [drawn.normal(1, drawn.choice([0.05, 0.15, 0.3]), 30) for _ in range(2000)]
    assert sum(bool(stalls(run.tolist())) for run in runs) <= 2
