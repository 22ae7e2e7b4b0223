"""Total work: the ratio of arithmetic means, held against a bootstrap and against its level."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.stats.total_work import total_work

RNG = np.random.default_rng(3)


def paired(blocks: int, gain: float, noise: float, machine: float = 0.3) -> np.ndarray:
    """An arm and a baseline in blocks whose machine has a speed of its own."""
    speed = np.exp(RNG.normal(0, machine, (blocks, 1)))
    return 1e6 * speed * np.exp(RNG.normal(0, noise, (blocks, 2))) * [1 + gain, 1.0]


def test_what_both_arms_share_cancels() -> None:
    """The machine's speed varies by 30 %, the arms by 1 %: the interval is of the latter."""
    found = total_work([paired(40, 0.05, 0.01)], 1, 0.05)
    assert found is not None
    assert found.low < 0.05 < found.high
    assert found.high - found.low < 0.02


def test_less_is_better_turns_the_ratio_over() -> None:
    amounts = paired(20, 0.10, 0.0, 0.0)
    better, worse = total_work([amounts], 1, 0.05), total_work([amounts], -1, 0.05)
    assert better is not None
    assert worse is not None
    assert better.estimate == pytest.approx(0.10)
    assert worse.estimate == pytest.approx(1 / 1.10 - 1)
    assert worse.low <= worse.estimate <= worse.high


def test_several_cases_are_the_mean_of_their_logs() -> None:
    cases = [paired(20, gain, 0.0, 0.0) for gain in (0.10, 0.21)]
    found = total_work(cases, 1, 0.05)
    assert found is not None
    assert math.log1p(found.estimate) == pytest.approx((math.log(1.10) + math.log(1.21)) / 2)


def test_the_interval_is_that_of_a_bootstrap_over_blocks() -> None:
    """The slow obvious twin: blocks drawn again, 4,000 times."""
    amounts = paired(60, 0.03, 0.05)
    found = total_work([amounts], 1, 0.05)
    assert found is not None
    drawn = amounts[RNG.integers(0, 60, (4000, 60))].mean(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1] - 1, [0.025, 0.975])
    width = high - low
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.12 * width)


def test_it_covers_the_truth_as_often_as_it_says() -> None:
    """A thousand studies of 15 blocks; 95 % with its binomial limits."""
    missed = 0
    for _ in range(1000):
        found = total_work([paired(15, 0.02, 0.04)], 1, 0.05)
        assert found is not None
        missed += not found.low <= 0.02 <= found.high
    assert 30 <= missed <= 75


def test_two_blocks_bound_nothing() -> None:
    assert total_work([paired(2, 0.0, 0.1)], 1, 0.05) is None
    assert total_work([], 1, 0.05) is None
