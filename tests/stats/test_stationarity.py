"""Trends inside a window: found where they matter, rarely made up."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from assay.stats.signed_rank import SignedRank
from assay.stats.stationarity import steadiness, trend_of

MARGIN = math.log1p(0.02)


def interval(start, length, operations):
    """A part of a window."""
    return SimpleNamespace(start_ms=start, length_ms=length, operations=operations)


def windows(rng, runs, deviation, slopes):
    """Trends of some arms, normal, each about its slope."""
    return {
        arm: dict(enumerate(rng.normal(slope, deviation, runs).tolist()))
        for arm, slope in slopes.items()
    }


def just_reaching(runs):
    """The trend's deviation where all noise is inside the window and the 90 % interval of a
    contrast of two runs just fits the margin: twice the deviation of a run's own log."""
    return 2 * MARGIN * math.sqrt(runs) / (1.645 * math.sqrt(2))


# the trend of one run


def test_a_server_that_gets_faster_has_a_positive_trend():
    """The log of the second half's rate over the first's."""
    rising = [interval(1000 * k, 1000, n) for k, n in enumerate((100, 100, 110, 110))]
    assert trend_of(rising) == pytest.approx(math.log(1.1))
    assert trend_of(rising[::-1]) == pytest.approx(math.log(1.1))
    assert trend_of([interval(k, 1, 7) for k in range(10)]) == pytest.approx(0)


def test_the_interval_in_the_middle_counts_for_both_halves():
    """Three intervals: half of the second on either side."""
    found = trend_of([interval(0, 10, 100), interval(10, 10, 200), interval(20, 10, 300)])
    assert found == pytest.approx(math.log(400 / 200))


def test_intervals_of_unequal_length_are_compared_by_rate():
    """A steady rate has no trend however it is cut, and gaps are not counted as idle."""
    lengths = (250, 1000, 400, 900, 37)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    cut = [interval(float(s), n, 3.0 * n) for s, n in zip(starts, lengths, strict=True)]
    assert trend_of(cut) == pytest.approx(0, abs=1e-12)
    assert trend_of([interval(0, 10, 30), interval(50, 10, 30)]) == pytest.approx(0, abs=1e-12)


def test_a_trend_needs_two_intervals_and_operations_in_both_halves():
    """Otherwise there is none, rather than an infinite one."""
    assert trend_of([]) is None
    assert trend_of([interval(0, 1000, 500)]) is None
    assert trend_of([interval(0, 10, 500), interval(10, 10, 0)]) is None
    assert trend_of([interval(0, 10, 500), interval(10, 0, 3)]) is None


# steadiness of arms


def test_a_steady_arm_shows_its_trend_and_its_interval():
    """The signed-rank interval, as fractions."""
    trends = windows(np.random.default_rng(1), 20, 0.01, {"a": 0.0, "b": 0.0})
    found = steadiness(trends, "a", MARGIN)["b"]
    sample = SignedRank(trends["b"].values())
    assert found.steady
    assert found.trend == pytest.approx(math.expm1(sample.estimate))
    assert (found.low, found.high) == pytest.approx(tuple(map(math.expm1, sample.interval(0.05))))


def test_arms_that_all_warm_up_are_not_steady():
    """Each for its own trend, the baseline too."""
    trends = windows(np.random.default_rng(2), 20, 0.01, {"a": 0.04, "b": 0.04})
    found = steadiness(trends, "a", MARGIN)
    assert not found["a"].steady
    assert not found["b"].steady
    assert "faster than first halves" in found["b"].why.text
    assert "warm up longer" in found["b"].why.text


def test_an_arm_that_drifts_away_from_the_baseline_is_not_steady():
    """Neither trend is proven alone, the difference is: noise that both share cancels."""
    shared = np.random.default_rng(3).normal(0, 0.05, 20)
    trends = {
        "a": dict(enumerate(shared.tolist())),
        "b": dict(enumerate((shared - 0.02).tolist())),
    }
    found = steadiness(trends, "a", MARGIN)
    assert found["a"].steady
    assert not found["b"].steady
    assert "less than the baseline's" in found["b"].why.text


def test_a_trend_within_half_the_margin_is_steady():
    """However well it is known."""
    trends = windows(np.random.default_rng(4), 200, 0.001, {"a": 0.0, "b": 0.4 * MARGIN})
    assert all(s.steady for s in steadiness(trends, "a", MARGIN).values())


def test_five_runs_prove_no_trend():
    """No sample of five has a bounded interval; what cannot be told is not said."""
    found = steadiness({"b": dict.fromkeys(range(5), 0.5)}, "a", MARGIN)["b"]
    assert found.steady
    assert found.low is None
    assert steadiness({"a": {}, "b": {}}, "a", MARGIN) == {}


@pytest.mark.parametrize("runs", [8, 30])
def test_noise_that_allows_no_difference_rarely_looks_like_a_trend(runs):
    """500 steady studies in the worst case, all noise inside the windows: at most 5 % an arm; with
    half that noise at most 2 %."""
    rng = np.random.default_rng((5, runs))
    for scale, limit in ((1.0, 0.05), (0.5, 0.02)):
        alarms = sum(
            not steadiness(
                windows(rng, runs, scale * just_reaching(runs), {"a": 0, "b": 0}), "a", MARGIN
            )["b"].steady
            for _ in range(500)
        )
        assert alarms <= binom.ppf(0.999, 500, limit)


def test_asking_for_proof_of_steadiness_would_withhold_every_verdict():
    """Why the rule is the way round it is: in the same studies, intervals inside half the margin
    are seen in less than 2 %."""
    rng = np.random.default_rng(6)
    proven = 0
    for _ in range(200):
        trends = windows(rng, 30, just_reaching(30) / 2, {"b": 0.0})
        found = steadiness(trends, "a", MARGIN)["b"]
        proven += found.low > -0.01 and found.high < 0.01
    assert proven <= 4


def test_a_trend_of_twice_the_margin_is_found():
    """80 % of studies at half the noise that still allows "no difference"."""
    rng = np.random.default_rng(7)
    found = sum(
        not steadiness(
            windows(rng, 30, just_reaching(30) / 2, {"a": 0, "b": 2 * MARGIN}), "a", MARGIN
        )["b"].steady
        for _ in range(200)
    )
    assert found >= 160
