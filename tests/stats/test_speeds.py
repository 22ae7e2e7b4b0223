"""Two speeds and pair noise, on machines whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.stats.rule import Rule
from assay.stats.sample_size import blocks_by_ranks, blocks_for_smallest
from assay.stats.signed_rank import SignedRank
from assay.stats.speeds import of_runs, of_slices, pair_noise, two_speeds

STEP = 0.01


def wandering(
    seconds: float, slow: float, dwell_s: float, noise: float = 0.02, seed: int = 5
) -> np.ndarray:
    """Speed 1 or `slow`, each for `dwell_s` on average."""
    drawn = np.random.default_rng(seed)
    turns = drawn.random(round(seconds / STEP)) < STEP / dwell_s
    state = np.cumsum(turns) % 2
    return np.where(state == 1, slow, 1.0) * np.exp(drawn.normal(0, noise, len(state)))


@pytest.mark.parametrize(("slow", "dwell"), [(0.5, 3.0), (0.7, 1.0), (0.9, 0.5)])
def test_two_speeds_are_found_with_how_long_each_lasts(slow: float, dwell: float) -> None:
    """Dwell times within a third: some ten to a hundred of them."""
    found = two_speeds(wandering(200, slow, dwell), STEP)
    assert found is not None
    assert found.slow == pytest.approx(slow, abs=0.01)
    assert found.slow_share == pytest.approx(0.5, abs=0.2)
    both = (found.slow_dwell_s + found.fast_dwell_s) / 2
    assert both == pytest.approx(dwell, rel=0.35)


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
def test_one_speed_is_not_taken_for_two(noise: float) -> None:
    drawn = np.random.default_rng(1)
    assert two_speeds(np.exp(drawn.normal(0, noise, 6000)), STEP) is None


def test_a_slow_drift_is_not_taken_for_two_speeds() -> None:
    assert two_speeds(np.linspace(1.0, 1.2, 6000), STEP) is None


def test_a_rare_hiccup_is_no_second_speed() -> None:
    """A hundredth of the time."""
    series = np.ones(6000)
    series[::500] = 0.3
    assert two_speeds(series, STEP) is None


def test_noise_of_runs_is_that_of_two_windows() -> None:
    """White noise of 10 % in each step of 10 ms: 1 % in a second, times the root of two."""
    drawn = np.random.default_rng(2)
    series = np.exp(drawn.normal(0, 0.1, 60_000))
    found = pair_noise(of_runs(series, STEP, 1.0, 0.5))
    assert found == pytest.approx(0.01 * math.sqrt(2), rel=0.2)


def test_turns_take_out_what_windows_cannot() -> None:
    """A machine that halves its speed for three seconds at a time."""
    series = wandering(600, 0.5, 3.0)
    runs, slices = of_runs(series, STEP, 1.0, 1.1), of_slices(series, STEP, 1.0, 0.1)
    noise = pair_noise(runs), pair_noise(slices)
    assert noise[0] is not None
    assert noise[1] is not None
    assert noise[0] > 0.3
    assert noise[1] < noise[0] / 10
    needed = [blocks_by_ranks(contrasts, Rule(0.05, 0.05), 1) for contrasts in (runs, slices)]
    assert needed[0] > 2 * needed[1]


def test_blocks_by_ranks_are_those_of_a_normal_noise_where_it_is_normal() -> None:
    """Within a step of the sizes that studies have."""
    rule = Rule(0.02, 0.02)
    for noise in (0.005, 0.02, 0.05, 0.1):
        contrasts = np.random.default_rng(4).normal(0, noise, 2000)
        normal = blocks_for_smallest(noise, rule, 1)
        assert blocks_by_ranks(contrasts, rule, 1) == pytest.approx(normal, rel=0.3)


def test_blocks_by_ranks_are_enough_where_some_blocks_are_wild() -> None:
    """A third of them far off: the deviation asks for hundreds, whole studies find it in tens."""
    rule, drawn = Rule(0.05, 0.05), np.random.default_rng(6)

    def blocks(count: int) -> np.ndarray:
        wild = drawn.random(count) < 0.3
        return np.where(wild, drawn.normal(0, 0.6, count), drawn.normal(0, 0.02, count))

    needed = blocks_by_ranks(blocks(2000), rule, 1)
    assert needed < blocks_for_smallest(float(np.std(blocks(2000))), rule, 1) / 5
    found = sum(
        SignedRank(blocks(needed) + rule.smallest_log).interval(rule.alpha_main)[0] > 0
        for _ in range(200)
    )
    assert found >= 160


def test_a_short_series_bounds_nothing() -> None:
    """Fewer than eight pairs."""
    series = wandering(10, 0.5, 1.0)
    assert pair_noise(of_runs(series, STEP, 3.0, 1.1)) is None
    assert pair_noise(of_slices(series, STEP, 3.0, 0.1)) is None
    assert two_speeds(series[:50], STEP) is None
