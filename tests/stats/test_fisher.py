"""Exact tests of counts: the same answers as scipy's, which starts too slowly for the source."""

import itertools

import numpy as np
import pytest
from scipy import stats

from assay.stats.fisher import fisher_two_sided, holm, one_against_rest


def test_every_small_table_agrees_with_scipy():
    """All tables of two arms with up to 5 runs each, and 60 of up to 400 runs."""
    small = [
        (a, n - a, c, m - c)
        for n, m in itertools.product(range(1, 6), repeat=2)
        for a in range(n + 1)
        for c in range(m + 1)
    ]
    rng = np.random.default_rng(1)
    large = [tuple(int(k) for k in rng.integers(0, rng.integers(2, 200), 4)) for _ in range(60)]
    for a, b, c, d in small + large:
        expected = stats.fisher_exact([[a, b], [c, d]]).pvalue
        assert fisher_two_sided(a, b, c, d) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_five_slow_runs_of_forty_may_be_chance_and_six_are_not():
    """The numbers that the documents quote."""
    assert fisher_two_sided(5, 35, 0, 40) == pytest.approx(0.0547, abs=5e-4)
    assert fisher_two_sided(6, 34, 0, 40) == pytest.approx(0.0255, abs=5e-4)


def test_a_table_without_anything_to_compare_has_p_one():
    """Empty margins, and no runs at all."""
    assert fisher_two_sided(0, 12, 0, 9) == 1
    assert fisher_two_sided(4, 0, 7, 0) == 1
    assert fisher_two_sided(0, 0, 3, 5) == 1
    assert fisher_two_sided(0, 0, 0, 0) == 1


def test_rows_and_columns_may_be_exchanged():
    """Symmetric in arms and in what is counted."""
    p = fisher_two_sided(7, 33, 1, 29)
    for table in ((1, 29, 7, 33), (33, 7, 29, 1), (7, 1, 33, 29)):
        assert fisher_two_sided(*table) == pytest.approx(p, abs=1e-12)


def test_negative_counts_are_refused():
    """More hits than runs, for example."""
    with pytest.raises(ValueError, match="negative"):
        fisher_two_sided(5, -1, 2, 3)


def test_one_arm_is_compared_with_all_the_others_together():
    """The table is that arm against the sum of the rest; arms without runs do not count."""
    found = one_against_rest({"b": 4}, {"a": 20, "b": 10, "c": 20, "d": 0})
    assert found["b"] == pytest.approx(fisher_two_sided(4, 6, 0, 40))
    assert found["a"] == pytest.approx(fisher_two_sided(0, 20, 4, 26))
    assert set(found) == {"a", "b", "c"}


def test_two_arms_ask_one_question_and_one_arm_none():
    """Both have the same p value."""
    found = one_against_rest({"a": 1, "b": 5}, {"a": 12, "b": 12})
    assert found["a"] == found["b"]
    assert one_against_rest({"a": 3}, {"a": 12}) == {}


def test_holm_rejects_what_the_step_down_rule_rejects():
    """The adjusted values against the rule as Holm wrote it."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        p = {str(k): float(v) for k, v in enumerate(rng.random(5) ** 3)}
        rejected, level = set(), 0.05
        for k, name in enumerate(sorted(p, key=p.get)):
            if p[name] > level / (len(p) - k):
                break
            rejected.add(name)
        assert {name for name, v in holm(p).items() if v <= level} == rejected
    assert holm({"a": 0.03, "b": 0.031}) == {"a": 0.06, "b": 0.06}
    assert holm({}) == {}
