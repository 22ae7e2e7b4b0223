"""Secondary metrics: the false discovery rate, and words that only suggest."""

import numpy as np
import pytest

from assay.stats import Rule, suggest
from assay.stats.secondary import benjamini_hochberg


def series(effect, deviation, count, seed):
    """Normal contrasts with block numbers."""
    return list(enumerate(np.random.default_rng(seed).normal(effect, deviation, count)))


def test_benjamini_hochberg_rejects_up_to_the_last_that_passes():
    """The worked order: .03 fails its own step but .035 passes the next, so both count."""
    p_values = {"a": 0.001, "b": 0.049, "c": 0.05, "d": 0.9}
    assert benjamini_hochberg(p_values, 0.10) == {"a", "b", "c"}
    assert benjamini_hochberg({"a": 0.06, "b": 0.9}, 0.10) == set()
    assert benjamini_hochberg({}, 0.10) == set()


def test_a_clear_secondary_effect_suggests_and_never_confirms():
    """Strength says it is a lead."""
    found = suggest({"p99": series(0.1, 0.01, 12, 1), "rps": series(0.0, 0.05, 12, 2)})
    assert (found["p99"].word, found["p99"].strength) == ("helps", "suggests")
    assert found["p99"].low > 0
    assert found["rps"].word == "undecided"
    assert all(judgement.strength == "suggests" for judgement in found.values())


def test_no_difference_needs_a_margin():
    """Without a rule nothing counts as none."""
    calm = {"x": series(0.0, 0.001, 12, 3)}
    assert suggest(calm, Rule(0.02, 0.02))["x"].word == "no difference"
    assert suggest(calm)["x"].word in ("undecided", "helps", "hurts")


def test_few_of_many_null_metrics_are_suggested():
    """100 times 20 metrics without effect: some metric is suggested in about 10 % of studies."""
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(100):
        null = {f"m{k}": list(enumerate(rng.normal(0, 1, 15))) for k in range(20)}
        alarms += any(j.word in ("helps", "hurts") for j in suggest(null).values())
    assert alarms <= 18  # 99th percentile of Binomial(100, .10)


def test_a_metric_without_blocks_is_left_out():
    """There is nothing to suggest."""
    assert suggest({"x": []}) == {}


def test_the_interval_of_a_selected_metric_is_wider_than_the_plain_one():
    """One of ten selected is shown at 1 %, not at 10 %."""
    many = {f"m{k}": series(0.0, 0.05, 15, k) for k in range(20, 29)}
    alone = suggest({"x": series(0.1, 0.02, 15, 1)})["x"]
    among = suggest({"x": series(0.1, 0.02, 15, 1), **many})["x"]
    assert among.level == pytest.approx(0.01)
    assert among.low < alone.low
