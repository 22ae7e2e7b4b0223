"""How many blocks: arithmetic by hand, monotony, and blindness to signs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.stats import Rule, judge, plan_blocks
from assay.stats.constants import VERSIONS
from assay.stats.sample_size import blocks_for_smallest, plan_looks, study_size

RULE = Rule(0.02, 0.02)
SIZES = (0.05, 0.15, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0)
"""Absolute values as noise has them, spread down to zero; the pilot has 2.7 % of it."""
PILOT = [0.027 * size * math.sqrt(8 / sum(s * s for s in SIZES)) for size in SIZES]


def test_the_plan_is_what_the_formulas_give_by_hand():
    """2.7 % noise: 1.25*((2.054+1.282)*.027/.0198)^2 + 4 = 29.9; 1.25*(3.396*.027/.0198)^2 + 8."""
    plan = plan_blocks({"a": PILOT}, RULE, None)
    assert plan.needed_for_smallest == 30
    assert plan.needed_for_margin == 40
    assert plan.blocks == 40
    assert not plan.capped
    assert plan.noise["a"] == pytest.approx(math.expm1(0.027))


def test_small_samples_get_their_extra_blocks():
    """2.8 % noise: 27.8 blocks by the normal formula, 32 with the extra four, hence 40 not 30."""
    assert blocks_for_smallest(0.028, RULE, 1) == 40


def test_a_capped_plan_says_what_it_can_see():
    """12 blocks at 2.7 % noise see 3.6 %; the sentence has all four numbers."""
    plan = plan_blocks({"a": PILOT}, RULE, 12)
    assert plan.capped
    assert plan.blocks == 12
    assert plan.visible == pytest.approx(math.expm1(3.3353 * 0.027 / math.sqrt(8 / 1.25)), 1e-3)
    assert plan.reason().text == (
        "two runs of the same arm differ by 2.74 % here (pair noise); a 2 % effect needs "
        "about 30 blocks (40 to show that there is no difference); your budget of 12 blocks can "
        "see 3.62 %"
    )


def test_the_sentence_has_the_time_when_a_block_has_one():
    """28.1 s a block: 843 s for 30 and 1124 s for 40, to two figures."""
    assert plan_blocks({"a": PILOT}, RULE, 12).reason(block_s=28.1).text == (
        "two runs of the same arm differ by 2.74 % here (pair noise); a 2 % effect needs "
        "about 30 blocks, 14 min (40, 18 min 20 s to show that there is no difference); your "
        "budget of 12 blocks can see 3.62 %"
    )
    roomy = plan_blocks({"a": PILOT}, Rule(0.05, 0.08), None).reason(block_s=3600).text
    assert roomy.endswith("a 5 % effect needs about 10 blocks, 10 h; 10 are planned")


def test_a_large_noise_is_told_as_a_factor_and_as_a_disturbed_machine():
    """371 % says nothing to a reader; that two equal runs differ by a factor of 4.7 does."""
    said = replace(plan_blocks({"a": PILOT}, Rule(0.05, 0.05), 8), worst=3.71).reason().text
    meaning = "two runs of the same arm differ by a factor of 4.7 here (pair noise)"
    assert said.startswith(f"{meaning}, so the machine is disturbed; a 5 % effect needs about ")


def test_one_wild_block_in_the_pilot_does_not_double_the_study():
    """Ten times the noise in one block of eight counts as 2.5 robust deviations of it."""
    wild = [*PILOT[:-1], 10 * 0.027]
    noise = plan_blocks({"a": wild}, RULE, None).worst
    assert noise < 1.1 * plan_blocks({"a": PILOT}, RULE, None).worst


def test_an_effect_is_not_taken_for_noise_where_it_lifts_all_blocks():
    """2 % of effect on 1 % of noise, 2 % sought: not their root mean square but the spread."""
    steps = (-1.5, -0.9, -0.5, -0.2, 0.2, 0.5, 0.9, 1.5)
    lifted = [0.02 + 0.01 * step for step in steps]
    spread = 0.01 * math.sqrt(sum(step**2 for step in steps) / 7) / 0.6028
    level = math.sqrt(sum(c**2 for c in lifted) / 8)
    assert spread < 0.75 * level
    assert plan_blocks({"a": lifted}, RULE, None).worst == pytest.approx(math.expm1(spread))
    hardly = Rule(0.002, 0.02)
    assert plan_blocks({"a": lifted}, hardly, None).worst == pytest.approx(math.expm1(level))


def test_the_plan_is_blind_to_signs():
    """Flipping any signs changes nothing, so planning cannot leak the answer."""
    rng = np.random.default_rng(1)
    values = rng.normal(0, 0.03, 8)
    plans = {
        plan_blocks({"a": values * rng.choice((-1, 1), 8)}, RULE, 100).blocks for _ in range(20)
    }
    assert len(plans) == 1


def test_the_noisiest_contrast_sets_the_size():
    """One study, one number of blocks: the largest need counts."""
    noisy = [4 * value for value in PILOT]
    alone = plan_blocks({"b": noisy}, RULE, None)
    both = plan_blocks({"a": PILOT, "b": noisy}, RULE, None)
    assert both.needed_for_margin == alone.needed_for_margin
    assert both.needed_for_smallest >= alone.needed_for_smallest


def test_more_arms_need_more_blocks():
    """Sharing alpha costs blocks for helps and hurts, not for no difference."""
    assert blocks_for_smallest(0.05, RULE, 8) > blocks_for_smallest(0.05, RULE, 1)
    one, eight = (plan_blocks({str(k): PILOT for k in range(m)}, RULE, None) for m in (1, 8))
    assert one.needed_for_margin == eight.needed_for_margin


def test_noiseless_pilots_need_the_least_study():
    """Eight identical blocks plan the smallest study, and divide by nothing."""
    plan = plan_blocks({"a": [0.0] * 8}, RULE, None)
    assert plan.blocks == 8
    assert plan.visible == 0


def test_a_budget_below_the_pilot_still_counts_the_pilot():
    """What has been run has been run."""
    assert plan_blocks({"a": PILOT}, RULE, 3).blocks == 8


def test_sizes_climb_a_coarse_ladder():
    """Each request is met, by at most a third more."""
    assert [study_size(n) for n in (1, 8, 9, 31, 81, 101, 131)] == [8, 8, 10, 40, 100, 130, 160]
    for n in range(8, 3000, 7):
        assert n <= study_size(n) <= 1.34 * n + 1


def test_a_plan_without_blocks_is_refused():
    """There is no noise to plan from."""
    with pytest.raises(ValueError, match="at least one block"):
        plan_blocks({"a": []}, RULE, None)


def test_a_clear_effect_is_not_taken_for_noise():
    """A gain of 30 % at 2 % noise beside a change that does nothing: the noise sets the size."""
    clear = [0.26 + 0.02 * step for step in (-1, 0.4, 1, -0.3, 0.7, -0.8, 0.1, 0.2)]
    alone = plan_blocks({"a": PILOT}, RULE, None)
    both = plan_blocks({"a": PILOT, "gain": clear}, RULE, None)
    assert both.noise["gain"] < 0.05
    assert both.worst == pytest.approx(alone.worst)
    assert both.needed_for_margin == alone.needed_for_margin


def test_no_sign_reaches_the_plan_even_of_a_clear_effect():
    """Turning every sign changes nothing: only absolute values are read."""
    clear = [0.26, 0.27, 0.25, 0.28, 0.24, 0.26, 0.27, 0.25]
    turned = [-c for c in clear]
    assert plan_blocks({"g": clear}, RULE, None) == plan_blocks({"g": turned}, RULE, None)


def test_a_study_is_never_planned_too_small_to_decide_anything():
    """Noiseless contrasts need no blocks, but an exact test of nine of them needs eleven."""
    quiet = {str(k): [1e-9 * (-1) ** b * (b + 1) for b in range(8)] for k in range(9)}
    blocks = plan_blocks(quiet, RULE, None).blocks
    steady = {name: [(b, 0.5 + 0.001 * b) for b in range(blocks)] for name in quiet}
    found = judge(steady, RULE, blocks, blocks)
    assert {j.word for j in found.values()} == {"helps"}


def noisy(blocks: int, seed: int = 3) -> list[tuple[int, float]]:
    """Contrasts that become noisier after the first blocks."""
    rng = np.random.default_rng(seed)
    scale = np.where(np.arange(blocks) < 8, 0.02, 0.06)
    return list(enumerate((scale * rng.standard_normal(blocks)).tolist()))


def test_a_study_that_proves_noisier_becomes_longer_as_its_blocks_double():
    rule, values = Rule(0.02, 0.02), {"a": noisy(100)}
    planned = [plan_looks(values, rule, 400, done)[1].planned for done in (8, 15, 16, 31, 32)]
    assert planned[0] == planned[1] < planned[2] == planned[3] <= planned[4]


def test_what_was_planned_of_blocks_that_are_done_stays():
    rule, values = Rule(0.02, 0.02), {"a": noisy(100)}
    levels: dict[int, float] = {}
    for done in range(8, 101):
        _, looks = plan_looks(values, rule, 400, done)
        reached = [n for n in looks.looks if n <= done]
        found = dict(zip(reached, looks.levels(0.04), strict=False))
        assert levels.items() <= found.items()
        levels = found
    assert len(levels) > 2


def test_later_plans_are_blind_to_signs_too():
    rule, values = Rule(0.02, 0.02), noisy(100)
    signs = np.random.default_rng(4).choice((-1.0, 1.0), size=100)
    turned = [(b, c * s) for (b, c), s in zip(values, signs, strict=True)]
    assert plan_looks({"a": values}, rule, 400, 100) == plan_looks({"a": turned}, rule, 400, 100)


def test_older_statistics_plan_once():
    rule = Rule(0.02, 0.02, constants=VERSIONS[3])
    values = {"a": noisy(100)}
    assert plan_looks(values, rule, 400, 8) == plan_looks(values, rule, 400, 100)


def test_nothing_is_planned_before_there_are_values():
    assert plan_looks({"a": noisy(100)}, Rule(0.02, 0.02), 400, 7) is None
    assert plan_looks({"a": []}, Rule(0.02, 0.02), 400, 20) is None
