"""The engine that a running study asks: looks, Holm, stopping, replay."""

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.reasons import Code, Reason
from assay.stats import Rule, Word, judge, judge_once
from assay.stats.boundary import looks, schedule
from assay.stats.sequence import extended
from assay.stats.signed_rank import SignedRank

RULE = Rule(0.02, 0.02)


def blocks(values):
    """Values as (block index, contrast)."""
    return list(enumerate(float(value) for value in values))


def noisy(effect, deviation, count, seed):
    """Normal contrasts around a log effect."""
    return blocks(np.random.default_rng(seed).normal(effect, deviation, count))


def test_a_clear_gain_is_found_at_the_first_look():
    """Eight blocks that all gain: helps, final, at look 0, with the interval above zero."""
    found = judge({"a": noisy(0.10, 0.01, 8, 1)}, RULE, 30, 8)["a"]
    assert (found.word, found.final, found.look, found.blocks) == ("helps", True, 0, 8)
    assert 0 < found.low < found.estimate < found.high
    assert found.level == pytest.approx(0.04)


def test_before_the_first_look_nothing_is_said():
    """Seven overwhelming blocks are still seven blocks."""
    found = judge({"a": noisy(0.10, 0.001, 7, 1)}, RULE, 30, 7)["a"]
    assert (found.word, found.final, found.look) == ("undecided", False, None)
    assert found.low is None
    assert found.high is None
    assert found.estimate == pytest.approx(math.expm1(0.10), abs=0.01)


def test_equal_arms_end_as_no_difference():
    """Small noise around zero: the equivalence interval lies inside the margin."""
    found = judge({"a": noisy(0.0, 0.005, 12, 2)}, RULE, 12, 12)["a"]
    assert found.word == "no difference"
    assert -0.02 < found.low < found.high < 0.02
    assert found.level == pytest.approx(0.08)


def test_not_significant_is_not_no_difference():
    """Wide noise around zero proves nothing: undecided, and the price of an answer."""
    found = judge({"a": noisy(0.0, 0.10, 12, 3)}, RULE, 12, 12)["a"]
    assert (found.word, found.final) == ("undecided", True)
    assert "blocks are needed to see 2 %" in found.reason


def test_a_gain_within_the_margin_says_so():
    """A tiny but certain gain helps, by less than the margin."""
    found = judge({"a": noisy(0.005, 0.0005, 12, 4)}, RULE, 12, 12)["a"]
    assert found.word == "helps"
    assert "but by less than 2 %" in found.reason


def test_a_verdict_once_given_stays():
    """Whatever comes after the look that decided, the judgement is the same to the last bit."""
    early = noisy(0.10, 0.01, 8, 5)
    later = [(8 + k, -0.5) for k in range(22)]
    first = judge({"a": early}, RULE, 30, 8)["a"]
    assert first.final
    assert judge({"a": early + later}, RULE, 30, 30)["a"] == first


def test_asking_after_every_block_gives_what_asking_at_the_end_gives():
    """Replay: the judgement when it became final equals that of the full record."""
    for seed in range(30):
        values = noisy(0.01, 0.03, 30, seed)
        final = judge({"a": values}, RULE, 30, 30)["a"]
        for done in range(1, 31):
            found = judge({"a": values[:done]}, RULE, 30, done)["a"]
            if found.final:
                break
        assert found == final


def test_between_looks_nothing_changes():
    """Blocks after a look are not read before the next one."""
    schedule = looks(30, RULE.alpha_main)
    look, upcoming = schedule[-2], schedule[-1]
    assert upcoming > look + 1
    calm = noisy(0.0, 0.1, look, 6)
    wild = [*calm, *((b, 9.0) for b in range(look, upcoming - 1))]
    first = judge({"a": calm}, RULE, 30, look)["a"]
    assert judge({"a": wild}, RULE, 30, upcoming - 1)["a"] == first


def test_everything_is_final_at_the_planned_end_and_later_blocks_are_ignored():
    """Block 13 of 12 does not exist for the verdict."""
    values = noisy(0.0, 0.10, 20, 7)
    found = judge({"a": values}, RULE, 12, 20)["a"]
    assert found.final
    assert found == judge({"a": values[:12]}, RULE, 12, 12)["a"]


def test_the_word_is_always_the_one_the_interval_shows():
    """300 studies: helps iff above zero, hurts iff below, no difference iff inside the margin."""
    for seed in range(300):
        effect = (0.0, 0.01, -0.03)[seed % 3]
        found = judge({"a": noisy(effect, 0.03, 30, seed)}, RULE, 30, 30)["a"]
        if found.word == "helps":
            assert found.low > 0
        elif found.word == "hurts":
            assert found.high < 0
        elif found.word == "no difference":
            assert -0.02 / 1.02 < found.low <= found.high < 0.02
        else:
            assert found.low is None or found.low <= 0 <= found.high


def test_signs_are_treated_alike():
    """Turning every contrast over turns the verdict over, and nothing else."""
    mirror = {"helps": "hurts", "hurts": "helps"}
    for seed in range(60):
        values = noisy(0.015, 0.03, 30, seed)
        turned = [(block, -value) for block, value in values]
        one, other = (judge({"a": v}, RULE, 30, 30)["a"] for v in (values, turned))
        assert other.word == mirror.get(one.word, one.word)
        assert (other.blocks, other.look) == (one.blocks, one.look)
        if one.low is not None:
            assert math.log1p(other.high) == pytest.approx(-math.log1p(one.low))


def test_holm_gives_the_first_rejection_to_the_whole_family():
    """An interval that clears zero only at alpha, not at alpha/2, is decided once the other is."""
    weak, strong = _between_levels(20), noisy(0.2, 0.01, 20, 1)
    alone = judge_once({"weak": weak, "none": noisy(0, 0.05, 20, 9)}, RULE, 20)["weak"]
    helped = judge_once({"weak": weak, "strong": strong}, RULE, 20)["weak"]
    assert alone.word == "undecided"
    assert helped.word == "helps"
    assert helped.level == pytest.approx(0.05)


def _between_levels(count):
    """A sample whose p value lies between .025 and .05."""
    for seed in range(10_000):
        values = noisy(0.02, 0.05, count, seed)
        sample = SignedRank(value for _, value in values)
        if 0.03 < sample.p_value() < 0.045 and sample.estimate > 0:
            return values
    raise AssertionError("no such sample")


def test_the_family_counts_members_that_have_no_data_yet():
    """Four announced contrasts share alpha even if one has data."""
    found = judge({"a": noisy(0.1, 0.01, 8, 1)}, RULE, 12, 8, family={"a", "b", "c", "d"})
    assert found["a"].level == pytest.approx(0.01)
    assert (found["b"].word, found["b"].estimate, found["b"].blocks) == ("undecided", None, 0)
    assert not found["b"].final


def test_a_contrast_outside_the_family_is_refused():
    """It would take a share of alpha nobody planned for."""
    with pytest.raises(ValueError, match="not in the family: x"):
        judge({"x": blocks([0.1])}, RULE, 12, 1, family={"a"})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([(1, 0.1), (0, 0.1)], "ascend"),
        ([(0, 0.1), (0, 0.1)], "ascend"),
        ([(1, 0.1), (8, 0.1)], r"0\.\.7"),
        ([(-1, 0.1)], r"0\.\.7"),
    ],
)
def test_blocks_out_of_order_or_range_are_refused(values, message):
    """Counting blocks from one shows at once."""
    with pytest.raises(ValueError, match=message):
        judge({"a": values}, RULE, 12, 8)


def test_missing_blocks_are_missing_and_no_more():
    """A contrast without blocks 2 and 5 is judged on the six others, at the same look."""
    values = [pair for pair in noisy(0.1, 0.01, 8, 1) if pair[0] not in (2, 5)]
    found = judge({"a": values}, RULE, 8, 8)["a"]
    assert found.blocks == 6
    assert found.word == "helps"


def test_a_hopeless_study_stops_and_says_so():
    """Ten times the noise the plan can bear: stop before the end."""
    found = judge({"a": noisy(0.0, 0.2, 60, 4)}, RULE, 60, 60)["a"]
    assert (found.word, found.final) == ("undecided", True)
    assert found.blocks < 60
    assert "60 blocks would hardly change that" in found.reason


@pytest.mark.parametrize(
    ("effect", "deviation", "planned"), [(0.02, 0.05, 40), (0.0, 0.028, 12), (0.0, 0.045, 40)]
)
def test_stopping_the_hopeless_costs_little_power(monkeypatch, effect, deviation, planned):
    """With and without futility stops, at most 1 % of 300 studies of an effect differ in word."""
    values = [noisy(math.log1p(effect), deviation, planned, seed) for seed in range(300)]
    with_stops = [judge({"a": v}, RULE, planned, planned)["a"].word for v in values]
    monkeypatch.setattr("assay.stats.sequence._is_futile", lambda *_: False)
    without = [judge({"a": v}, RULE, planned, planned)["a"].word for v in values]
    assert sum(a != b for a, b in zip(with_stops, without, strict=True)) <= 3


def test_one_wild_block_makes_a_verdict_not_robust():
    """The ranks shrug, the mean does not, and the reader is told."""
    values = [*noisy(0.03, 0.005, 11, 1), (11, -2.0)]
    found = judge_once({"a": values}, RULE, 12)["a"]
    assert found.word == "helps"
    assert "not robust: the mean-based interval says undecided" in found.reason
    tame = judge_once({"a": noisy(0.03, 0.005, 12, 1)}, RULE, 12)["a"]
    assert "not robust" not in tame.reason


def test_the_shown_interval_is_the_repeated_one():
    """The interval of a helped arm is the signed-rank interval at the look's nominal level."""
    values = noisy(0.10, 0.01, 8, 1)
    level = schedule(30, 0.04).levels(0.04)[0]
    low, high = SignedRank(v for _, v in values).interval(level)
    found = judge({"a": values}, RULE, 30, 8)["a"]
    assert (found.low, found.high) == (math.expm1(low), math.expm1(high))


def test_a_reserve_is_kept_from_the_planned_looks():
    """alpha .05 = .04 for the looks + .01 for extensions; without a reserve all of it."""
    assert RULE.alpha_main == pytest.approx(0.04)
    whole = replace(RULE, reserve=0.0)
    assert judge({"a": noisy(0.1, 0.01, 8, 1)}, whole, 30, 8)["a"].level == pytest.approx(0.05)


def test_words_are_plain_texts():
    """They compare, print and serialise as the words of the glossary."""
    assert f"{Word.NO_DIFFERENCE}" == "no difference"
    assert judge({"a": noisy(0.1, 0.01, 8, 1)}, RULE, 30, 8)["a"].word == "helps"


@pytest.mark.parametrize(
    "arguments",
    [(0, 0.02), (0.02, 1), (0.02, 0.02, 0), (0.02, 0.02, 0.5), (0.02, 0.02, 0.05, 1)],
)
def test_a_rule_without_sense_is_refused(arguments):
    """Sizes and error rates have their ranges."""
    with pytest.raises(ValueError, match="between"):
        Rule(*arguments)


def test_a_look_too_small_to_reject_anything_gives_nothing_up():
    """Three contrasts spread evenly about zero: 9 blocks cannot reject, so none is hopeless yet."""
    even = list(enumerate((0.5, -0.5, 0.4, -0.4, 0.3, -0.3, 0.2, -0.2, 0.01)))
    found = judge({name: even for name in "abc"}, Rule(0.05, 0.05), 20, 9)
    assert all(j.look is not None and j.low is None for j in found.values())
    assert not any(j.final for j in found.values())


def undecided():
    """Contrasts of a study that ends undecided."""
    return noisy(0.012, 0.05, 90, 5)


def test_an_extension_adds_half_as_many_blocks_again():
    """Each time, counted from what there is by then."""
    assert [extended(40, k) for k in range(4)] == [40, 60, 90, 135]
    assert extended(9, 1) == 14


def test_an_extension_reopens_what_was_undecided_until_its_end():
    """On the way nothing is decided; at the end everything is."""
    values = undecided()
    ended = judge({"a": values[:20]}, RULE, 20, 20)["a"]
    assert (ended.word, ended.final) == ("undecided", True)
    going = judge({"a": values[:25]}, RULE, 20, 25, extensions=1)["a"]
    assert (going.word, going.final) == ("undecided", False)
    assert "extension 1 is judged at block 30" in going.reason
    done = judge({"a": values[:30]}, RULE, 20, 30, extensions=1)["a"]
    assert (done.final, done.blocks) == (True, 30)
    assert "extension 1, 30 blocks" in done.reason


def test_an_extension_is_judged_once_at_half_of_what_was_kept_back():
    """The interval is the plain one at .05 * .2 / 2."""
    values = undecided()[:30]
    found = judge({"a": values}, RULE, 20, 30, extensions=1)["a"]
    low, high = SignedRank(v for _, v in values).interval(0.005)
    assert found.low == pytest.approx(math.expm1(low))
    assert found.high == pytest.approx(math.expm1(high))
    assert found.level == pytest.approx(0.005)


def test_an_extension_leaves_what_was_decided_as_it_was():
    """A verdict, once final, is never revised."""
    series = {"a": noisy(0.10, 0.01, 20, 1), "b": undecided()[:30]}
    before = judge({k: v[:20] for k, v in series.items()}, RULE, 20, 20)
    after = judge(series, RULE, 20, 30, extensions=1)
    assert before["a"].word == "helps"
    assert after["a"] == before["a"]


def test_an_extension_takes_up_again_what_was_given_up_as_hopeless():
    """Given up early, it is judged on all blocks there are at the extension's end."""
    values = noisy(0.0, 0.30, 90, 3)
    early = judge({"a": values[:60]}, RULE, 60, 60)["a"]
    assert early.final
    assert early.blocks < 60
    late = judge({"a": values}, RULE, 60, 90, extensions=1)["a"]
    assert (late.final, late.blocks) == (True, 90)


def test_all_extensions_together_spend_no_more_than_was_promised():
    """Both kinds of error add up to what the rule says."""
    rules = [RULE.extension(k) for k in range(1, 40)]
    assert RULE.alpha_main + sum(r.alpha_main for r in rules) == pytest.approx(0.05)
    spent = RULE.alpha_equivalence + sum(r.alpha_equivalence for r in rules)
    assert spent == pytest.approx(0.10)


# "no difference" that is withheld


def test_a_withheld_no_difference_stays_open_until_the_planned_end():
    """It is said at the first look at which nothing speaks against it, and never before."""
    reason = Reason.of(Code.COARSE_STEPS, metric="throughput", step=0.1)
    values = noisy(0.0, 0.005, 30, 4)
    asked = []

    def until(block):
        def withhold(name, count, level):
            asked.append((name, count, level))
            return reason if count < block else None

        return withhold

    schedule = looks(30, RULE.alpha_main)
    plain = judge({"a": values}, RULE, 30, 30)["a"]
    assert (plain.word, plain.until) == ("no difference", schedule[0])
    later = judge({"a": values}, RULE, 30, 30, withhold=until(schedule[1]))["a"]
    assert (later.word, later.final, later.until) == ("no difference", True, schedule[1])
    first = {"a": values[: schedule[0]]}
    open_ = judge(first, RULE, 30, schedule[0], withhold=until(99))["a"]
    assert (open_.word, open_.final, open_.reasons[0]) == ("undecided", False, reason)
    ended = judge({"a": values}, RULE, 30, 30, withhold=until(99))["a"]
    assert (ended.word, ended.final, ended.until) == ("undecided", True, 30)
    assert {(name, count) for name, count, _ in asked} == {("a", look) for look in schedule}
    assert all(0 < level < RULE.alpha for _, _, level in asked)


def test_what_was_withheld_can_be_extended():
    """An extension takes up whatever ended undecided."""
    values = noisy(0.0, 0.005, 45, 4)
    reason = Reason.of(Code.COARSE_STEPS, metric="throughput", step=0.1)

    def withhold(name, count, level):
        return reason if count <= 30 else None

    found = judge({"a": values}, RULE, 30, 45, extensions=1, withhold=withhold)["a"]
    assert (found.word, found.until) == ("no difference", 45)


def test_helps_is_never_withheld():
    """The hook is asked about "no difference" alone."""
    found = judge({"a": noisy(0.10, 0.01, 8, 1)}, RULE, 30, 8, withhold=lambda *_: 1 / 0)["a"]
    assert found.word == "helps"


def test_parts_of_alpha_are_not_given_on():
    """Along an axis: every point has its own to the end, whatever the others showed."""
    clear = [(b, 0.2 + 0.001 * b) for b in range(20)]
    faint = [(b, 0.01 * (1 if b % 5 else -1) * (1 + 0.1 * b)) for b in range(20)]
    alone = judge({"faint": faint}, RULE, 20, 20, share=4)["faint"]
    beside = judge({"faint": faint, "clear": clear}, RULE, 20, 20, share=4)
    assert beside["faint"] == alone
    assert beside["clear"].word is Word.HELPS
    assert {j.level for j in beside.values() if j.word is not Word.NO_DIFFERENCE} <= {
        RULE.alpha_main / 4
    }


def test_a_share_is_that_of_a_family_of_so_many():
    """Bonferroni: the same levels as the first rejection in a family of that size."""
    values = [(b, 0.03 + 0.001 * (-1) ** b * b) for b in range(12)]
    shared = judge({"a": values}, RULE, 12, 12, share=8)["a"]
    family = [f"other {k}" for k in range(7)]
    holm = judge({"a": values}, RULE, 12, 12, family=["a", *family])["a"]
    assert (shared.word, shared.low, shared.high) == (holm.word, holm.low, holm.high)
