"""Signed ranks against scipy, against the definition, and against themselves."""

import math

import numpy as np
import pytest
from scipy import stats

from assay.stats import signed_rank
from assay.stats.signed_rank import SignedRank, critical_count, midranks, null_cdf


def samples(count: int, seed: int = 1):
    """Random samples of many sizes, half of them rounded so that they tie."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        values = rng.normal(rng.normal(0, 0.5), 1, rng.integers(1, 45))
        yield np.round(values, 1) if k % 2 else values


def slow_walsh(values) -> list[float]:
    """The definition, for comparison."""
    n = len(values)
    return sorted((values[i] + values[j]) / 2 for i in range(n) for j in range(i, n))


def test_p_values_are_those_of_scipy_exact():
    """Two hundred random samples without ties: the same p to rounding."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        values = np.round(rng.normal(0.3, 1, rng.integers(1, 50)), 12)
        expected = stats.wilcoxon(values, method="exact").pvalue
        assert SignedRank(values).p_value() == pytest.approx(expected, abs=1e-12)


def test_the_null_is_that_of_all_sign_patterns():
    """For 6 blocks, enumerate all 64 sign patterns."""
    sums = [sum(k + 1 for k in range(6) if bits >> k & 1) for bits in range(64)]
    for w in range(11):
        assert null_cdf(6, w) == sum(s <= w for s in sums) / 64


def test_midranks_are_those_of_scipy():
    """Ties share the mean of their ranks."""
    for values in samples(40, seed=2):
        assert np.array_equal(midranks(values), stats.rankdata(values))


def test_estimate_and_interval_follow_the_definition():
    """Median and C-th order statistics of all pairwise means."""
    for values in samples(60):
        sample, averages = SignedRank(values), slow_walsh(np.round(values, 12))
        assert sample.estimate == pytest.approx(float(np.median(averages)), abs=1e-12)
        depth = critical_count(len(values), 0.05)
        if depth == 0:
            assert sample.interval(0.05) == (-math.inf, math.inf)
        else:
            low, high = sample.interval(0.05)
            assert (low, high) == pytest.approx((averages[depth - 1], averages[-depth]), abs=1e-12)


@pytest.mark.parametrize("level", [0.2, 0.05, 0.01, 0.001])
def test_test_and_interval_agree_on_untied_data(level):
    """The interval leaves zero out exactly when the test rejects: in all of 300 samples."""
    rng = np.random.default_rng(3)
    disagree = 0
    for _ in range(300):
        sample = SignedRank(rng.normal(0.5, 1, rng.integers(4, 40)))
        low, high = sample.interval(level)
        disagree += (low > 0 or high < 0) != (sample.p_value() <= level)
    assert disagree == 0


def test_on_tied_data_the_interval_never_claims_more_than_the_test():
    """Zero averages count half in the test and wholly against a claim in the interval."""
    rng = np.random.default_rng(4)
    for _ in range(400):
        sample = SignedRank(np.round(rng.normal(0.3, 1, rng.integers(4, 40)), 0))
        low, high = sample.interval(0.05)
        if low > 0 or high < 0:
            assert sample.p_value() <= 0.05


def test_zeros_count_half_to_each_side():
    """The statistic is the number of positive Walsh averages and half of those that are zero."""
    for values in ([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0], [0.0, -1.0, 1.0, 2.0, 2.0, 3.0, 5.0]):
        averages = slow_walsh(values)
        positive = sum(a > 0 for a in averages) + sum(a == 0 for a in averages) / 2
        tail = math.floor(min(positive, len(averages) - positive))
        assert SignedRank(values).p_value() == pytest.approx(2 * null_cdf(7, tail))


def test_contrasts_equal_in_mathematics_are_equal_here():
    """0.1 + 0.2 and -0.3 tie and cancel, whatever binary fractions make of them."""
    sample = SignedRank([0.1 + 0.2, -0.3, 0.3])
    assert len(set(np.abs(sample.values))) == 1
    assert SignedRank([0.1 + 0.2, -0.3]).estimate == 0.0


@pytest.mark.parametrize("level", [0.1, 0.05, 0.01, 0.001, 1e-4])
def test_the_smooth_null_agrees_with_the_exact_one_where_they_meet(level, monkeypatch):
    """At the largest exact size the two depths differ by at most one in ten thousand."""
    n = signed_rank.EXACT_MAX
    exact = critical_count(n, level)
    critical_count.cache_clear()
    monkeypatch.setattr(signed_rank, "EXACT_MAX", n - 1)
    smooth = critical_count(n, level)
    critical_count.cache_clear()
    assert smooth == pytest.approx(exact, rel=1e-4)


def test_five_blocks_cannot_reject_at_five_percent_and_six_can():
    """2^(1-n) is the smallest p value there is."""
    assert SignedRank([1, 2, 3, 4, 5]).interval(0.05) == (-math.inf, math.inf)
    assert SignedRank([1, 2, 3, 4, 5, 6]).interval(0.05)[0] == 1


def test_noise_estimates_the_standard_deviation():
    """Unbiased to a tenth over normal samples of 8 and of 50."""
    rng = np.random.default_rng(8)
    for n in (8, 50):
        found = [SignedRank(rng.normal(1, 0.03, n)).noise() for _ in range(400)]
        assert np.mean(found) == pytest.approx(0.03, rel=0.1)


def test_a_sample_of_a_hundred_thousand_follows_the_large_sample_theory():
    """Estimate at the mean, interval 1.96 sqrt(pi/3) deviations of the mean to either side."""
    values = np.random.default_rng(9).normal(0.01, 0.02, 100_000)
    sample = SignedRank(values)
    low, high = sample.interval(0.05)
    reach = 1.96 * math.sqrt(math.pi / 3) * 0.02 / math.sqrt(100_000)
    assert sample.estimate == pytest.approx(float(np.mean(values)), abs=reach / 4)
    assert (low, high) == pytest.approx(
        (sample.estimate - reach, sample.estimate + reach), abs=reach / 50
    )


def test_logs_at_the_ends_of_floating_point_are_measured_exactly():
    """The ratio of the largest double to the smallest is 1454 log units."""
    sample = SignedRank([1454.0, -1454.0, 1454.0, 1454.0 - 1e-12])
    assert sample.values.tolist() == [-1454.0, 1454.0 - 1e-12, 1454.0, 1454.0]
    assert sample.estimate == pytest.approx(1454.0, abs=1e-12)


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf], [1e5]])
def test_a_sample_without_finite_values_is_refused(values):
    """An empty or broken sample never becomes a number."""
    with pytest.raises(ValueError, match="sample"):
        SignedRank(values)
