"""The warm-up by MSER-5 and the length of a run, against slow twins, brute force and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.warmup import (
    between_variance,
    drift,
    has_settled,
    inside_variance,
    mser5,
    run_windows,
    warmup_seconds,
)


def correlated(rng: np.random.Generator, count: int, sd: float, phi: float) -> np.ndarray:
    """AR(1) noise with standard deviation `sd` and lag-1 correlation `phi`."""
    steps = rng.normal(size=count) * np.sqrt(1 - phi**2)
    noise = np.empty(count)
    noise[0] = rng.normal()
    for i in range(1, count):
        noise[i] = phi * noise[i - 1] + steps[i]
    return sd * noise


def slow_start(rng: np.random.Generator, count: int, phi: float = 0.5) -> np.ndarray:
    """Windows of 1 s of a server that begins 30 % slow and settles with tau = 8 s; 2 % noise."""
    middle = np.arange(count) + 0.5
    return (1 - 0.3 * np.exp(-middle / 8)) * np.exp(correlated(rng, count, 0.02, phi))


def slow_twin(series: np.ndarray) -> int:
    """MSER-5 as White and Spratt write it: sums of squares over (k - d) squared, one by one."""
    k = len(series) // 5
    z = [sum(series[5 * j : 5 * j + 5]) / 5 for j in range(k)]
    best, cut = float("inf"), 0
    for d in range(k // 2 + 1):
        rest = z[d:]
        mean = sum(rest) / len(rest)
        error = sum((v - mean) ** 2 for v in rest) / (k - d) ** 2
        if error < best and len(rest) >= 5:
            best, cut = error, 5 * d
    return cut


@pytest.mark.parametrize("seed", range(20))
def test_mser5_is_the_published_rule(seed: int) -> None:
    """Against sums written out, on runs with and without a slow start."""
    rng = np.random.default_rng(seed)
    series = slow_start(rng, 60 + 7 * seed) if seed % 2 else 1 + correlated(rng, 103, 0.1, 0.7)
    assert mser5(series) == slow_twin(series)


@pytest.mark.parametrize("cold", [0, 3, 5, 20, 50])
def test_a_step_is_cut_at_the_first_whole_batch_behind_it(cold: int) -> None:
    """100 windows, the first ones half as fast."""
    series = np.where(np.arange(100) < cold, 0.5, 1.0)
    assert mser5(series) == 5 * -(-cold // 5)
    assert has_settled(series)


def test_only_the_first_half_is_cut_and_a_later_minimum_is_told() -> None:
    """A server that is cold for most of the run has not been seen warm."""
    series = np.where(np.arange(100) < 70, 0.5, 1.0)
    assert mser5(series) <= 50
    assert not has_settled(series)
    assert drift(series) == pytest.approx(np.log(25 / (20 * 0.5 + 5)))


def test_a_constant_or_short_series_is_not_cut() -> None:
    """Nothing to gain, or nothing to judge by."""
    assert mser5([0.1] * 100) == 0
    assert mser5([]) == 0
    assert mser5([1.0, 2.0] * 10) == 0
    assert not has_settled([1.0])
    assert has_settled([3.3] * 100)


def test_a_steady_run_is_seldom_cut_much() -> None:
    """400 windows, as a pilot has them: white noise, and noise that lasts over five windows."""
    rng = np.random.default_rng(7)
    for phi, cut_share, late in ((0.0, 0.10, 0.03), (0.8, 0.25, 0.08)):
        runs = [1 + correlated(rng, 400, 0.05, phi) for _ in range(200)]
        assert np.quantile([mser5(r) / 400 for r in runs], 0.95) <= cut_share
        assert np.mean([not has_settled(r) for r in runs]) <= late
        assert np.median([abs(drift(r)) for r in runs]) < 0.02


def test_the_warmup_is_half_as_much_again_as_the_longest_cut() -> None:
    """Over runs and arms alike; without runs or cuts there is none."""
    runs = [np.where(np.arange(100) < cold, 0.5, 1.0) for cold in (0, 20, 10)]
    assert warmup_seconds(runs, 0.02) == pytest.approx(1.5 * 20 * 0.02)
    assert warmup_seconds(runs[:1], 0.02) == 0
    assert warmup_seconds([], 0.02) == 0


def test_a_fixed_warmup_leaves_less_bias_than_cutting_each_run() -> None:
    """Method note 3.13: 30 % slow start, tau 8 s, runs of 60 s; pilots of 3 runs and 2 arms."""
    rng = np.random.default_rng(3)
    logs = []
    for _ in range(200):
        fixed = round(warmup_seconds([slow_start(rng, 60) for _ in range(6)], 1.0))
        run = slow_start(rng, 60)
        warmed = slow_start(rng, fixed + 60)[fixed:]
        logs.append([np.log(part.mean()) for part in (run, run[mser5(run) :], warmed)])
    untrimmed, each, fixed_bias = np.mean(logs, axis=0)
    assert -0.045 < untrimmed < -0.037
    assert -0.008 < each < -0.001
    assert abs(fixed_bias) < 0.001
    assert abs(fixed_bias) < abs(each)


def test_cutting_each_run_cuts_arms_differently() -> None:
    """Two arms equally fast when warm, one with half the slow start: the cuts bias the contrast."""
    rng = np.random.default_rng(5)
    milder = [1 - (1 - slow_start(rng, 60, 0.0)) / 2 for _ in range(200)]
    plain = [slow_start(rng, 60, 0.0) for _ in range(200)]
    each = [np.log(r[mser5(r) :].mean()) for r in (*milder, *plain)]
    fixed = [np.log(r[44:].mean()) for r in (*milder, *plain)]
    assert np.mean(each[:200]) - np.mean(each[200:]) > 3 * abs(
        np.mean(fixed[:200]) - np.mean(fixed[200:])
    )


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8])
def test_the_variance_inside_is_that_of_a_long_mean_times_its_windows(phi: float) -> None:
    """For AR(1) noise it is sd^2 (1 + phi) / (1 - phi); batches of 20 keep most of it."""
    rng = np.random.default_rng(11)
    found = [inside_variance(1e6 * (1 + correlated(rng, 300, 0.03, phi))) for _ in range(300)]
    truth = 0.03**2 * (1 + phi) / (1 - phi)
    assert 0.80 * truth < np.mean(found) < 1.05 * truth
    with pytest.raises(ValueError, match="too few"):
        inside_variance([1.0] * 39)


def test_the_variance_between_leaves_out_what_blocks_and_arms_share() -> None:
    """Drift between blocks of 10 % and arms 30 % apart; runs vary by 2 %, windows by 6 %."""
    rng = np.random.default_rng(13)
    found = []
    for _ in range(2000):
        blocks, arms = rng.normal(size=(3, 1)) * 0.1, np.array([0, 0.3, -0.2])
        noise = rng.normal(size=(3, 3)) * np.sqrt(0.02**2 + 0.06**2 / 300)
        found.append(between_variance(1e6 * np.exp(blocks + arms + noise), 0.06**2, 300))
    assert np.mean(found) == pytest.approx(0.02**2, rel=0.05)


def test_the_variance_between_is_never_nothing() -> None:
    """Not below what so few runs can tell from zero; with one arm the mean alone is taken out."""
    equal = np.ones((3, 2))
    assert between_variance(equal, 0.03, 300) == pytest.approx(0.03 / 300)
    assert between_variance(np.ones((3, 5)), 0.03, 300) == pytest.approx(0.03 / 300 / 2)
    one = np.exp([[0.01], [0.0], [-0.01]])
    assert between_variance(one, 0.0, 300) == pytest.approx(0.01**2)


def cost(n: int, inside: float, between: float, overhead: float, window: float) -> float:
    """Seconds per unit of precision."""
    return (between + inside / n) * (overhead + n * window)


@pytest.mark.parametrize("inside", [1e-4, 3e-3, 0.09])
@pytest.mark.parametrize("between", [1e-6, 2e-4, 1e-2])
@pytest.mark.parametrize(("overhead", "window"), [(0.65, 0.01), (20.0, 0.1), (0.001, 0.01)])
def test_no_other_number_of_windows_is_cheaper(
    inside: float, between: float, overhead: float, window: float
) -> None:
    """Against a search of all; rounding up costs at most what the next smaller number saves."""
    found = run_windows(inside, between, overhead, window)
    cap = max(1, int(np.ceil(10 * overhead / window)))
    costs = {n: cost(n, inside, between, overhead, window) for n in range(1, cap + 1)}
    best = min(costs, key=costs.__getitem__)
    assert found in (best, best + 1)
    assert costs[found] <= 1.10 * costs[best]


def test_without_variance_between_runs_the_length_is_capped() -> None:
    """Where a run costs a tenth more than the limit that no length beats."""
    found = run_windows(1e-3, 0.0, 0.65, 0.01)
    assert found == 650
    assert cost(found, 1e-3, 0.0, 0.65, 0.01) == pytest.approx(1.10 * 1e-3 * 0.01)
    assert run_windows(1e-3, 1e-12, 0.65, 0.01) == found
    assert run_windows(0.0, 0.0, 0.65, 0.01) == 1
    assert run_windows(1e-3, 1e-3, 0.0, 0.01) == 1
    with pytest.raises(ValueError, match="cannot be negative"):
        run_windows(-1.0, 1.0, 1.0, 1.0)


def test_lengths_chosen_from_a_pilot_are_nearly_as_cheap_as_the_best() -> None:
    """Three runs of two arms, whose between-run variance has two degrees of freedom."""
    rng = np.random.default_rng(17)
    inside, between, overhead, window = 0.06**2, 0.015**2, 0.65, 0.01
    best = min(cost(n, inside, between, overhead, window) for n in range(1, 2000))
    paid = []
    for _ in range(300):
        runs = np.exp(rng.normal(size=(3, 2)) * np.sqrt(between + inside / 300))
        seen = inside * rng.chisquare(54) / 54
        length = run_windows(seen, between_variance(runs, seen, 300), overhead, window)
        paid.append(cost(length, inside, between, overhead, window) / best)
    assert np.mean(paid) < 1.25
    assert np.median(paid) < 1.10
