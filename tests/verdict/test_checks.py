"""Doubts: raised where there is reason, and rarely where there is none."""

import numpy as np
import pytest
from scipy import stats

from assay.verdict.checks import (
    Code,
    grouped_doubt,
    order_doubts,
    serial_doubt,
    slot_doubt,
    slot_p,
    ties_doubt,
)


def randomised(rng, blocks, arms, slot_effect=0.0):
    """Runs in random order, with an optional effect of the last slot."""
    table, orders = {}, {}
    for block in range(blocks):
        order = [arms[k] for k in rng.permutation(len(arms))]
        orders[block] = order
        table[block] = {arm: rng.normal(0, 0.01) for arm in order}
        table[block][order[-1]] += slot_effect
    return table, orders


def codes(doubts):
    """The codes alone."""
    return [doubt.code for doubt in doubts]


def test_one_order_for_all_blocks_is_doubted():
    """ABABAB: a slot effect would be an arm effect."""
    assert codes(order_doubts([["a", "b"]] * 10)) == [Code.ORDER_FIXED]
    assert codes(order_doubts([["a", "b", "c"]] * 4)) == [Code.ORDER_FIXED]


def test_a_mirrored_order_is_doubted():
    """ABBAABBA meets periodic noise."""
    assert codes(order_doubts([["a", "b"], ["b", "a"]] * 5)) == [Code.ORDER_MIRRORED]


def test_a_short_fixed_order_may_be_chance_and_the_doubt_says_so():
    """Three blocks of two arms repeat their order in one of four random studies."""
    (doubt,) = order_doubts([["a", "b"]] * 3)
    assert "by chance once in 4 studies" in doubt.text
    assert "by chance" not in order_doubts([["a", "b"]] * 10)[0].text


def test_random_orders_are_not_doubted():
    """Neither for two arms nor for four, and incomplete blocks do not hide a pattern."""
    assert order_doubts([["a", "b"], ["a", "b"], ["b", "a"], ["a", "b"]]) == []
    assert codes(order_doubts([["a", "b"], ["a"], ["a", "b"], ["a", "b"]])) == [Code.ORDER_FIXED]
    assert order_doubts([["a", "b"]] * 2) == []


def test_arms_one_after_the_other_are_doubted():
    """AAABBB, for any number of arms; one run each is no order."""
    assert grouped_doubt(list("aaabbb")).code == Code.ORDER_GROUPED
    assert grouped_doubt(list("aabbcc")).code == Code.ORDER_GROUPED
    assert grouped_doubt(list("ababab")) is None
    assert grouped_doubt(list("ab")) is None
    assert grouped_doubt([]) is None


def test_a_slow_slot_is_seen():
    """The last run of each block 5 % off at 1 % noise."""
    rng = np.random.default_rng(1)
    for arms in (["a", "b"], ["a", "b", "c", "d"]):
        doubt = slot_doubt(*randomised(rng, 12, arms, 0.05))
        assert doubt is not None
        assert doubt.code == Code.SLOT_EFFECT


def test_clean_runs_raise_statistical_doubts_about_once_in_a_hundred():
    """At most 2.4 % of 500 studies, for slots and for serial correlation."""
    rng = np.random.default_rng(2)
    for arms in (["a", "b"], ["a", "b", "c", "d"]):
        seen = sum(slot_doubt(*randomised(rng, 15, arms)) is not None for _ in range(500))
        assert seen <= 12  # 99.7th percentile of Binomial(500, .01)
    serial = sum(serial_doubt("x", rng.normal(size=20)) is not None for _ in range(500))
    assert serial <= 12


def test_the_slot_test_is_the_t_test_between_orders_for_two_arms():
    """Six blocks AB, six BA: the contrast of one group against that of the other."""
    difference = np.random.default_rng(3).normal(0.3, 1, 12)
    expected = stats.ttest_ind(difference[:6], difference[6:]).pvalue
    half = (difference - difference.mean()) / 2 * np.repeat([1, -1], 6)
    assert slot_p(np.column_stack([half, -half])) == pytest.approx(expected, abs=1e-12)


def test_neighbouring_blocks_that_resemble_each_other_are_seen():
    """A contrast that wanders."""
    wander = np.cumsum(np.random.default_rng(4).normal(size=40))
    assert serial_doubt("x", wander).code == Code.SERIAL_CORRELATION
    assert serial_doubt("x", [1.0] * 20) is None
    assert serial_doubt("x", []) is None


def test_a_coarse_metric_is_seen():
    """Half the blocks tie."""
    assert ties_doubt("x", [0.0, 0.0, 0.01, -0.01, 0.02, 0.03, 0.04, 0.05]).code == (
        Code.COARSE_METRIC
    )
    assert ties_doubt("x", np.random.default_rng(5).normal(size=20)) is None
