"""Warnings: raised where there is reason, and rarely where there is none."""

import itertools

import numpy as np
import pytest
from scipy import stats

from assay.reasons import Code
from assay.stats.warnings import (
    carry_warning,
    grouped_warning,
    order_warnings,
    rank_p,
    serial_warning,
    slot_p,
    slot_warning,
    ties_warning,
    turned_warning,
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


def codes(warnings):
    """The codes alone."""
    return [warning.code for warning in warnings]


def test_one_order_for_all_blocks_is_doubted():
    """ABABAB: a slot effect would be an arm effect."""
    assert codes(order_warnings([["a", "b"]] * 10)) == [Code.ORDER_FIXED]
    assert codes(order_warnings([["a", "b", "c"]] * 4)) == [Code.ORDER_FIXED]


def test_a_mirrored_order_is_doubted():
    """ABBAABBA meets periodic noise."""
    assert codes(order_warnings([["a", "b"], ["b", "a"]] * 5)) == [Code.ORDER_MIRRORED]


def test_a_short_fixed_order_may_be_chance_and_the_doubt_says_so():
    """Three blocks of two arms repeat their order in one of four random studies."""
    (warning,) = order_warnings([["a", "b"]] * 3)
    assert "by chance once in 4 studies" in warning.text
    assert "by chance" not in order_warnings([["a", "b"]] * 10)[0].text


def test_random_orders_are_not_doubted():
    """Neither for two arms nor for four, and incomplete blocks do not hide a pattern."""
    assert order_warnings([["a", "b"], ["a", "b"], ["b", "a"], ["a", "b"]]) == []
    assert codes(order_warnings([["a", "b"], ["a"], ["a", "b"], ["a", "b"]])) == [Code.ORDER_FIXED]
    assert order_warnings([["a", "b"]] * 2) == []


def test_arms_one_after_the_other_are_doubted():
    """AAABBB, for any number of arms; one run each is no order."""
    assert grouped_warning(list("aaabbb")).code == Code.ORDER_GROUPED
    assert grouped_warning(list("aabbcc")).code == Code.ORDER_GROUPED
    assert grouped_warning(list("ababab")) is None
    assert grouped_warning(list("ab")) is None
    assert grouped_warning([]) is None


def test_a_slow_slot_is_seen():
    """The last run of each block 5 % off at 1 % noise."""
    rng = np.random.default_rng(1)
    for arms in (["a", "b"], ["a", "b", "c", "d"]):
        warning = slot_warning(*randomised(rng, 12, arms, 0.05))
        assert warning is not None
        assert warning.code == Code.SLOT_EFFECT


def test_clean_runs_raise_statistical_doubts_about_once_in_a_hundred():
    """At most 2.4 % of 500 studies, for slots and for serial correlation."""
    rng = np.random.default_rng(2)
    for arms in (["a", "b"], ["a", "b", "c", "d"]):
        seen = sum(slot_warning(*randomised(rng, 15, arms)) is not None for _ in range(500))
        assert seen <= 12  # 99.7th percentile of Binomial(500, .01)
    serial = sum(serial_warning("x", rng.normal(size=20)) is not None for _ in range(500))
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
    assert serial_warning("x", wander).code == Code.SERIAL_CORRELATION
    assert serial_warning("x", [1.0] * 20) is None
    assert serial_warning("x", []) is None


def test_a_coarse_metric_is_seen():
    """Half the blocks tie."""
    assert ties_warning("x", [0.0, 0.0, 0.01, -0.01, 0.02, 0.03, 0.04, 0.05]).code == (
        Code.COARSE_METRIC
    )
    assert ties_warning("x", np.random.default_rng(5).normal(size=20)) is None


# carry-over


def carried(rng, blocks, arms, *, carry=0.0, slot=0.0, noise=0.01):
    """Runs in random order; whatever follows b inside its block changes by `carry`, and each
    place in the block by `slot` more."""
    table, orders = {}, {}
    for block in range(blocks):
        order = [arms[k] for k in rng.permutation(len(arms))]
        drift = rng.normal(0, 0.1)
        orders[block] = order
        table[block] = {
            arm: drift + rng.normal(0, noise) + slot * k + carry * (k > 0 and order[k - 1] == "b")
            for k, arm in enumerate(order)
        }
    return table, orders


def test_an_arm_that_slows_whatever_follows_it_is_named():
    """5 % at 1 % noise, among two, three and five arms; the text says what it does to b."""
    rng = np.random.default_rng(11)
    for arms in ("ab", "abc", "abcde"):
        warning = carry_warning(*carried(rng, 40, arms, carry=-0.05), "a")
        assert warning.code == Code.CARRY_OVER
        assert "slower right after b than" in warning.text
        assert f"b looks better by about 1/{len(arms)} of it" in warning.text
        assert "only a better reset between runs" in warning.text


def test_an_arm_that_speeds_up_its_successor_makes_itself_look_worse():
    """It warms what the next run uses."""
    warning = carry_warning(*carried(np.random.default_rng(12), 60, "abcd", carry=0.05), "a")
    assert "faster right after b than right after the other arms" in warning.text
    assert "b looks worse by about 1/4" in warning.text


def test_of_two_predecessors_only_the_difference_is_known_and_both_are_named():
    """Whether b speeds up or c slows down cannot be read off the baseline's runs."""
    warning = carry_warning(*carried(np.random.default_rng(12), 40, "abc", carry=0.05), "a")
    assert "slower right after c than right after b" in warning.text
    assert warning.text.endswith("It may be b that does the opposite.")


@pytest.mark.parametrize("arms", ["ab", "abc", "abcd"])
def test_carry_over_biases_by_its_share_of_all_orders(arms):
    """The number in the text, from every order there is: b's mean gain is carry / arms."""
    gains = []
    for order in itertools.permutations(arms):
        slowed = {arm: -1.0 * (k > 0 and order[k - 1] == "b") for k, arm in enumerate(order)}
        gains.append(slowed["b"] - slowed["a"])
    assert np.mean(gains) == pytest.approx(1 / len(arms))


def test_a_slot_effect_alone_is_no_carry_over_from_three_arms_on():
    """3 % per place, which the slot check sees each time: at most what 1 % of 300 allows."""
    rng = np.random.default_rng(13)
    studies = [carried(rng, 20, "abc", slot=0.03) for _ in range(300)]
    assert sum(carry_warning(*study, "a") is not None for study in studies) <= 9
    assert sum(slot_warning(*study) is not None for study in studies) == 300


def test_with_two_arms_slot_and_carry_over_are_one_and_the_text_says_so():
    """A run is second exactly when it follows the other arm."""
    warning = carry_warning(*carried(np.random.default_rng(14), 40, "ab", slot=-0.03), "a")
    assert "right after b than when it ran first" in warning.text
    assert warning.text.endswith("With two arms this may also be an effect of the slot.")


def test_clean_runs_raise_carry_over_about_once_in_a_hundred():
    """300 studies of each, under drift between blocks."""
    rng = np.random.default_rng(15)
    for arms, blocks in (("ab", 12), ("abc", 15), ("abcdef", 40)):
        seen = sum(carry_warning(*carried(rng, blocks, arms), "a") is not None for _ in range(300))
        assert seen <= 9  # 99.9th percentile of Binomial(300, .01)


def test_one_disaster_does_not_look_like_carry_over():
    """Ranks: a run 90 % off is one run."""
    table, orders = carried(np.random.default_rng(16), 20, "abc")
    table[7]["a"] -= 2.3
    assert carry_warning(table, orders, "a") is None


def test_a_single_run_after_an_arm_does_not_name_that_arm():
    """b ran before the baseline once, in a bad moment; c does so again and again."""
    rng = np.random.default_rng(22)
    orders = {block: ["b", *("cd" if block % 2 else "dc"), "a"] for block in range(40)}
    orders[0] = ["c", "d", "b", "a"]
    table = {block: {arm: rng.normal(0, 0.01) for arm in order} for block, order in orders.items()}
    for block, order in orders.items():
        table[block]["a"] -= {"b": 0.5, "c": 0.05, "d": 0.0}[order[2]]
    assert "slower right after c than right after d" in carry_warning(table, orders, "a").text


def test_arms_that_left_and_runs_that_failed_do_not_hide_carry_over():
    """Each remaining run is taken from its arm's own distance."""
    table, orders = carried(np.random.default_rng(17), 60, "abcd", carry=-0.06)
    for row in table.values():
        row["d"] += 1
    for block in range(30, 60):
        del table[block]["d"]
        orders[block] = [arm for arm in orders[block] if arm != "d"]
    del table[5]["a"], table[6]["b"]
    assert "right after b" in carry_warning(table, orders, "a").text


def test_with_several_cases_the_run_before_may_be_of_another_case():
    """Blocks that mix cases: the order holds (case, arm) pairs."""
    rng = np.random.default_rng(18)
    runs = list(itertools.product(("read", "write"), "ab"))
    orders, table = {}, {}
    for block in range(40):
        order = [runs[k] for k in rng.permutation(4)]
        orders[block] = order
        table[block] = {
            arm: rng.normal(0, 0.01) - 0.05 * (k > 0 and order[k - 1][1] == "b")
            for k, (case, arm) in enumerate(order)
            if case == "read"
        }
    warning = carry_warning(table, orders, "a", case="read")
    assert "a ran" in warning.text
    assert "right after b" in warning.text
    assert "1/4" in warning.text


def test_too_few_runs_raise_no_doubt_about_carry_over():
    """Neither none at all nor seven blocks."""
    assert carry_warning({}, {}, "a") is None
    study = carried(np.random.default_rng(19), 7, "ab", carry=-0.5)
    assert carry_warning(*study, "a") is None
    assert carry_warning({0: {"b": 1.0}}, {0: ["b"]}, "a") is None


def test_the_rank_test_is_kruskal_and_wallis_or_its_f():
    """Two groups: chi square of H; more: F of H (Conover & Iman), which is no less exact than
    chi square on shuffled data."""
    rng = np.random.default_rng(20)
    two = [rng.normal(size=6).tolist(), rng.normal(1, 1, 9).tolist()]
    assert rank_p(two) == pytest.approx(stats.kruskal(*two).pvalue, abs=1e-12)
    three = [np.round(rng.normal(size=n), 1).tolist() for n in (4, 6, 7)]
    ranks = stats.rankdata(np.concatenate(three))
    expected = stats.f_oneway(*np.split(ranks, [4, 10])).pvalue
    assert rank_p(three) == pytest.approx(expected, abs=1e-12)
    assert rank_p([[1.0] * 5, [1.0] * 5]) == 1
    assert rank_p([[1.0] * 9]) == 1


@pytest.mark.parametrize("sizes", [(4, 4), (3, 3, 3), (5, 4, 2)])
def test_the_rank_test_is_right_for_a_handful_of_runs(sizes):
    """2,000 ways to share out the ranks: at most 2 % of them at 1 %."""
    rng = np.random.default_rng(21)
    total = sum(sizes)
    cuts = np.cumsum(sizes)[:-1]
    hits = sum(
        rank_p([g.tolist() for g in np.split(rng.permutation(total).astype(float), cuts)]) < 0.01
        for _ in range(2000)
    )
    assert hits <= 40


# two arms: what one hands on over the border of blocks


def two_arms(
    rng: np.random.Generator, blocks: int, kappa: float
) -> tuple[dict[int, float], dict[int, bool]]:
    """Contrasts of equal arms, whose runs differ by `kappa` where each ran after the other."""
    first = rng.integers(0, 2, blocks)
    turned = {k: bool(first[k] == first[k - 1]) for k in range(1, blocks)}
    values = {k: rng.normal(0, 0.014) + kappa * turned.get(k, False) for k in range(blocks)}
    return values, turned


@pytest.mark.parametrize(("blocks", "least"), [(20, 0.35), (40, 0.85)])
def test_what_one_of_two_arms_hands_on_shows_between_blocks(blocks: int, least: float) -> None:
    """2 % at 1 % noise of a run; inside blocks every order carries it alike."""
    rng = np.random.default_rng(21)
    found = [turned_warning(*two_arms(rng, blocks, 0.02), "b", "a") for _ in range(200)]
    assert sum(warning is not None for warning in found) / 200 > least


def test_two_arms_that_hand_nothing_on_are_rarely_said_to() -> None:
    """One study in a hundred, as every warning."""
    rng = np.random.default_rng(22)
    found = [turned_warning(*two_arms(rng, 40, 0.0), "b", "a") for _ in range(500)]
    assert sum(warning is not None for warning in found) <= 13


def test_the_blocks_that_are_free_of_it_are_counted() -> None:
    values = {k: (0.1 if k % 2 else 0.0) + 0.001 * k for k in range(20)}
    warning = turned_warning(values, {k: bool(k % 2) for k in range(1, 20)}, "b", "a")
    assert warning is not None
    assert (warning.fields["free"], warning.fields["blocks"]) == (9, 19)
    assert "b looks 10.5 % better against a" in warning.text


def test_a_few_blocks_tell_nothing_of_it() -> None:
    assert turned_warning({}, {}, "b", "a") is None
    assert turned_warning({0: 0.1, 1: 0.0}, {1: True}, "b", "a") is None
