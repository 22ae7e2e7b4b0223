"""Whether voids prefer an arm: said where there is reason, rarely where there is none."""

import numpy as np
from scipy.stats import binom

from assay.reasons import Code
from assay.stats.voids import void_warning


def test_an_arm_that_is_void_more_often_is_named_with_both_counts():
    """A change that loads the machine voids its own runs."""
    warning = void_warning({"b": 8}, {"a": 30, "b": 30, "c": 30})
    assert warning.code == Code.VOIDS_DEPEND
    assert "8 of 30 runs of b were void, 0 of 60 of the other arms'" in warning.text


def test_of_two_arms_the_one_with_more_voids_is_named():
    """Both have the same p value."""
    assert "runs of b were void" in void_warning({"a": 0, "b": 9}, {"a": 30, "b": 30}).text
    assert "runs of a were void" in void_warning({"a": 9, "b": 0}, {"a": 30, "b": 30}).text


def test_the_arm_that_is_never_void_is_not_the_culprit():
    """Voids of one arm make the others look clean, not suspect."""
    assert "runs of c were void" in void_warning({"c": 12}, {"a": 20, "b": 20, "c": 20}).text


def test_few_voids_or_evenly_spread_ones_are_no_warning():
    """Two voids of one arm are chance, and so are thirty of each."""
    assert void_warning({"b": 2}, {"a": 20, "b": 20}) is None
    assert void_warning({"a": 30, "b": 30}, {"a": 90, "b": 88}) is None
    assert void_warning({}, {"a": 20, "b": 20}) is None
    assert void_warning({"a": 9}, {"a": 10}) is None
    assert void_warning({}, {}) is None


def test_blind_rules_are_doubted_less_than_once_in_a_hundred_studies():
    """600 studies of two, four and eight arms, one run of five void whatever the arm."""
    rng = np.random.default_rng(1)
    for arms in (2, 4, 8):
        warnings = 0
        for counts in rng.binomial(40, 0.2, (600, arms)):
            voids = {str(k): int(v) for k, v in enumerate(counts)}
            warnings += void_warning(voids, dict.fromkeys(voids, 40)) is not None
        assert warnings <= binom.ppf(0.999, 600, 0.01)


def test_a_rule_that_depends_on_the_arm_is_found():
    """Two runs of five void in one arm of four, one in twenty elsewhere: 90 % of studies."""
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(200):
        voids = {arm: int(rng.binomial(40, 0.4 if arm == "b" else 0.05)) for arm in "abcd"}
        warning = void_warning(voids, dict.fromkeys("abcd", 40))
        found += warning is not None and "runs of b" in warning.text
    assert found >= 180
