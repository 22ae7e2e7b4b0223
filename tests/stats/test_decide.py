"""`decide`: anybody's rows in, a clear answer or a clear error out."""

import math

import numpy as np
import pytest

from assay.core.errors import DataError
from assay.reasons import Code
from assay.stats import Rule, change, decide, judge_once, series
from assay.stats.run_file import read_files
from assay.stats.run_table import natural


def study(effects, blocks=20, deviation=0.01, seed=1):
    """Rows with a running order: arms in random order inside every block, one drifting machine."""
    rng = np.random.default_rng(seed)
    rows, arms = [], list(effects)
    for block in range(blocks):
        level = 1000 * math.exp(rng.normal(0, 0.1))
        for k in rng.permutation(len(arms)):
            value = level * math.exp(effects[arms[k]] + rng.normal(0, deviation))
            rows.append((block, arms[k], value, len(rows)))
    return rows


THREE = {"old": 0.0, "fast": 0.05, "slow": -0.05, "same": 0.0}


def words(decision):
    """Arm -> word."""
    return {arm: str(verdict.word) for arm, verdict in decision.verdicts.items()}


def codes(decision):
    """The codes of the warnings."""
    return [str(warning.code) for warning in decision.warning_reasons]


def test_planted_effects_are_found():
    """Up, down and nothing, over a machine that drifts by 10 %."""
    decision = decide(study(THREE, deviation=0.005), baseline="old")
    assert words(decision) == {"fast": "helps", "slow": "hurts", "same": "no difference"}
    fast = decision.verdicts["fast"]
    assert fast.low < math.expm1(0.05) < fast.high
    assert (fast.blocks, fast.strength) == (20, "confirmed")
    assert decision.baseline == "old"
    assert decision.planned is None


def test_the_same_rows_give_the_same_decision():
    """Byte for byte."""
    rows = study(THREE)
    assert repr(decide(rows, baseline="old")) == repr(decide(rows, baseline="old"))


@pytest.mark.parametrize("planned", [None, 20, 40])
def test_the_order_of_rows_and_the_names_of_arms_do_not_matter(planned):
    """Shuffled rows, and rows sorted by value, decide alike."""
    rows = study(THREE, deviation=0.03)
    shuffled = [rows[k] for k in np.random.default_rng(2).permutation(len(rows))]
    for other in (shuffled, sorted(rows, key=lambda row: row[2])):
        assert decide(other, baseline="old", planned=planned) == decide(
            rows, baseline="old", planned=planned
        )


def test_blocks_without_order_follow_each_other_by_number():
    """Text or number, 10 comes after 9."""
    rows = [(b, arm, value) for b, arm, value, _ in study(THREE, deviation=0.03)]
    named = [(f"block {b}", arm, value) for b, arm, value in rows]
    by_number = decide(rows, baseline="old", planned=20)
    assert decide(named[::-1], baseline="old", planned=20) == by_number
    assert codes(by_number) == ["order-unknown"]


@pytest.mark.parametrize("factor", [1 / 3, 1000 / 7, 1e-9])
def test_the_unit_of_the_metric_does_not_matter(factor):
    """Multiplying all values changes no word, no block count, no interval beyond rounding."""
    rows = [(b, a, round(v), o) for b, a, v, o in study(THREE, deviation=0.02)]
    scaled = [(b, a, v * factor, o) for b, a, v, o in rows]
    one, other = (decide(r, baseline="old", planned=30) for r in (rows, scaled))
    assert words(one) == words(other)
    for arm, verdict in one.verdicts.items():
        twin = other.verdicts[arm]
        assert (twin.blocks, twin.look) == (verdict.blocks, verdict.look)
        assert (twin.low, twin.high) == pytest.approx((verdict.low, verdict.high), abs=1e-11)


def test_lower_is_better_turns_the_effect_over():
    """Seconds instead of rates: 1/value with better="lower" decides exactly alike."""
    rows = study(THREE)
    seconds = [(b, a, 1 / v, o) for b, a, v, o in rows]
    one, other = decide(rows, baseline="old"), decide(seconds, baseline="old", better="lower")
    assert words(one) == words(other)
    assert other.verdicts["fast"].estimate == pytest.approx(one.verdicts["fast"].estimate)
    worse = decide(rows, baseline="old", better="lower")
    assert words(worse) == {"fast": "hurts", "slow": "helps", "same": "no difference"}


@pytest.mark.parametrize("uplift", [(1.027, 1.05, 1.1075), (1.027, 1.05), (1.1075, 1.05)])
def test_three_nginx_runs_prove_nothing_with_or_without_the_outlier(uplift):
    """Pause in nginx on 4 CPUs: 2.7 to 10.75 % in three runs. Undecided, and no interval."""
    rows = [(b, "plain", 100.0) for b in range(len(uplift))]
    rows += [(b, "isb", 100.0 * factor) for b, factor in enumerate(uplift)]
    verdict = decide(rows, baseline="plain").verdicts["isb"]
    assert verdict.word == "undecided"
    assert verdict.low is None
    assert verdict.estimate > 0.02
    assert "6 is the least" in verdict.reason


def test_without_a_plan_the_reader_is_told_not_to_peek():
    """A fixed sample spends all of alpha at once."""
    decision = decide(study(THREE), baseline="old")
    assert "fixed-sample" in codes(decision)
    assert any("testing again until" in text for text in decision.warnings)
    assert "fixed-sample" not in codes(decide(study(THREE), baseline="old", planned=20))


def test_with_a_plan_the_looks_are_replayed():
    """A large effect would have stopped the study at block 8: later blocks do not count."""
    verdict = decide(study({"old": 0, "fast": 0.2}, 30), baseline="old", planned=30)
    assert verdict.verdicts["fast"].blocks == 8
    assert verdict.verdicts["fast"].look == 0


def test_a_planned_study_in_progress_is_not_final():
    """10 of 100 blocks of noise: still open, and said so."""
    decision = decide(study({"old": 0, "new": 0}, 11, 0.1), baseline="old", planned=100)
    assert not decision.verdicts["new"].final
    assert "unfinished" in codes(decision)


def test_blocks_beyond_the_plan_are_not_used():
    """They might have been added because of what the plan had found."""
    decision = decide(study({"old": 0, "new": 0}, 20, 0.1), baseline="old", planned=12)
    assert decision.verdicts["new"].blocks <= 12
    assert "beyond-plan" in codes(decision)


def test_incomplete_blocks_are_dropped_counted_and_said():
    """Block 3 lacks one arm: the other arm keeps it."""
    rows = [row for row in study(THREE) if row[:2] != (3, "fast")]
    decision = decide(rows, baseline="old")
    assert decision.verdicts["fast"].blocks == 19
    assert decision.verdicts["slow"].blocks == 20
    (text,) = [w.text for w in decision.warning_reasons if w.code == Code.BLOCKS_DROPPED]
    assert text == "fast: 1 of 20 blocks lack it or old and do not count (3)"


def ordered(pattern, value=lambda arm, k: 100.0 + k % 3):
    """Rows whose runs happened in the order of `pattern`; the n-th run of an arm is block n."""
    seen: dict[str, int] = {}
    rows = []
    for order, arm in enumerate(pattern):
        seen[arm] = seen.get(arm, -1) + 1
        rows.append((seen[arm], arm, value(arm, order), order))
    return rows


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("AAABBB", "order-grouped"),
        ("BBBBBBBBAAAAAAAA", "order-grouped"),
        ("ABABAB", "order-fixed"),
        ("AB" * 10, "order-fixed"),
        ("ABBA" * 5, "order-mirrored"),
    ],
)
def test_orders_that_cannot_be_repaired_are_called_out(pattern, code):
    """One arm after the other, strict alternation, mirrored."""
    decision = decide(ordered(pattern), baseline="A")
    assert code in codes(decision)
    assert any("cannot be repaired" in text for text in decision.warnings)


def test_slots_inside_blocks_are_an_order_too():
    """Slot numbers that repeat from block to block show strict alternation as well."""
    rows = [(b, arm, 100.0 + b % 5, slot) for b in range(10) for slot, arm in enumerate("AB")]
    assert "order-fixed" in codes(decide(rows, baseline="A"))


def test_randomised_orders_are_not_called_out():
    """The order of a proper study raises no doubt."""
    assert not [c for c in codes(decide(study(THREE), baseline="old")) if c.startswith("order")]


@pytest.mark.parametrize("size", ["2%", " 2 % ", "2.0%", 0.02, np.float64(0.02)])
def test_sizes_may_be_texts_or_fractions(size):
    """2 % however it is written."""
    assert decide(study(THREE), baseline="old", smallest=size).rule.smallest == 0.02


GOOD = [(b, arm, 1.0 + b) for b in range(8) for arm in ("a", "b")]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], {}, "no runs"),
        (GOOD, {"baseline": "c"}, "no arm called 'c'"),
        ([(0, "a", 1.0), (1, "a", 2.0)], {}, "a is the only arm"),
        ([(0, "a", 1.0), (1, "b", 2.0)], {}, "no block has both b and a"),
        ([*GOOD, (8, "a", math.nan)], {}, "run 17 .block 8, arm a.: the value is nan"),
        ([*GOOD, (8, "a", math.inf)], {}, "the value is inf"),
        ([*GOOD, (8, "a", 10**400)], {}, "the value is inf"),
        ([*GOOD, (8, "a", 0)], {}, "the value is 0; ratios need values above zero"),
        ([*GOOD, (8, "a", -3.5)], {}, "the value is -3.5"),
        ([*GOOD, (8, "a", "fast")], {}, "the value is 'fast', which is no number"),
        ([*GOOD, (8, "a", None)], {}, "the value is None"),
        ([*GOOD, (8, "a", True)], {}, "the value is True"),
        ([*GOOD, (0, "a", 1.0)], {}, "run 17: block 0 has arm a twice, first in run 1"),
        ([*GOOD, (8, "a", 1.0, math.inf)], {}, "run 17: the order is inf"),
        ([*GOOD, (8, "a")], {}, "run 17 is"),
        ([*GOOD, "8,a,1"], {}, "run 17 is"),
        ([*GOOD, (8, 3, 1.0)], {}, "the arm is 3"),
        ([*GOOD, (8, "", 1.0)], {}, "the arm is ''"),
        ([*GOOD, (None, "a", 1.0)], {}, "the block is None"),
        ([*GOOD, ([8], "a", 1.0)], {}, "the block is .8."),
        ([*GOOD, (math.nan, "a", 1.0)], {}, "the block is nan"),
        ([*GOOD, (8, "a", 1.0, 0)], {}, "16 of 17 runs have no order"),
        ([(*row, "first") for row in GOOD], {}, "order is 'first'"),
        ([(*row, 0) for row in GOOD], {}, "run 2: block 0 has two runs with the same order, .* 1"),
        (GOOD, {"smallest": "2"}, "smallest is '2'"),
        (GOOD, {"smallest": "two percent"}, "smallest is 'two percent'"),
        (GOOD, {"smallest": 2}, "smallest is 2"),
        (GOOD, {"smallest": "0%"}, "smallest is '0%'"),
        (GOOD, {"margin": "-1%"}, "margin is '-1%'"),
        (GOOD, {"margin": "100%"}, "margin is '100%'"),
        (GOOD, {"margin": None}, "margin is None"),
        (GOOD, {"margin": math.nan}, "margin is nan"),
        (GOOD, {"alpha": 0}, "alpha is 0"),
        (GOOD, {"alpha": "5%"}, "alpha is '5%'"),
        (GOOD, {"alpha": 1e-300}, "alpha is 1e-300"),
        (GOOD, {"better": "up"}, "better is 'up'"),
        (GOOD, {"planned": 0}, "planned is 0"),
        (GOOD, {"planned": 7.5}, "planned is 7.5"),
        (GOOD, {"planned": True}, "planned is True"),
        (GOOD, {"planned": 10**23}, "planned is 1000"),
        ([*GOOD, (8, "a", 1e-200), (8, "b", 1e200)], {}, "b and a differ by a factor of 10.400"),
    ],
)
def test_what_cannot_be_decided_is_refused_with_a_next_step(rows, options, message):
    """Every mistake names the row or option, and says what to do."""
    with pytest.raises(DataError, match=message) as caught:
        decide(rows, **{"baseline": "a", **options})
    assert caught.value.next_step


def test_orders_are_compared_exactly():
    """Time stamps in nanoseconds, a few apart, as numbers of any size and kind."""
    start = 1_700_000_000_123_456_789
    rows = study(THREE)
    stamped = [(b, a, v, start + 3 * o) for b, a, v, o in rows]
    assert decide(stamped, baseline="old") == decide(rows, baseline="old")
    vast = [(b, a, v, 10**30 + 10**20 * o) for b, a, v, o in rows]
    assert decide(vast, baseline="old") == decide(rows, baseline="old")


def test_blocks_are_sorted_as_people_count():
    """Numbers before texts, and numbers inside texts by size, however long."""
    longest = "9" * 5000
    expected = [True, 2, 2.5, 10**400, "01", "1", "2", "10", longest, "b2", "b10", "b10a", "c"]
    assert sorted(expected[::-1], key=natural) == expected


def test_the_median_of_every_arm_is_told_as_measured():
    """Over all its runs, in the unit given, the baseline too."""
    rows = [(b, arm, value) for arm in "ab" for b, value in enumerate([3.0, 9.0, 4.0])]
    decision = decide([*rows, (3, "b", 5.0)], baseline="a", better="lower")
    assert decision.medians == {"a": 4.0, "b": 4.5}
    assert decide([(0, a, 1.7e308) for a in "ab"], baseline="a").medians["a"] == 1.7e308


@pytest.mark.parametrize(("pattern", "code"), [("AB", "order-fixed"), ("ABBA", "order-mirrored")])
def test_an_order_that_repeats_for_ever_is_called_out_too(pattern, code):
    """Ten thousand blocks: the odds of it have thousands of digits, and are not worth saying."""
    pattern *= 20_000 // len(pattern)
    assert code in codes(decide(ordered(pattern), baseline="A"))
    broken = pattern[:-2] + pattern[-2:][::-1]
    assert code not in codes(decide(ordered(broken), baseline="A"))


@pytest.fixture(scope="module")
def fifty_thousand():
    """Rows of 20 arms in 2,500 blocks, some missing, in random order."""
    rng = np.random.default_rng(17)
    effects = {f"arm {k}": rng.normal(0, 0.003) for k in range(20)}
    rows = study(effects, blocks=2500, deviation=0.02, seed=18)
    return [row for row in rows if rng.random() > 0.01]


def test_fifty_thousand_rows_decide_as_one_by_one(fifty_thousand, tmp_path):
    """From a file, by columns; from tuples; and by the definitions, with dictionaries."""
    path = tmp_path / "runs.csv"
    lines = [f"{b},{arm},{value!r},{order}" for b, arm, value, order in fifty_thousand]
    path.write_text("\n".join(["block,arm,value,order", *lines]))
    found = decide(read_files([path])["value"], baseline="arm 0")
    assert found == decide(fifty_thousand, baseline="arm 0")
    table: dict[int, dict[str, float]] = {b: {} for b in range(2500)}
    for block, arm, value, _ in fifty_thousand:
        table[block][arm] = math.log(value)
    contrasts = {arm: series(change(arm, "arm 0"), table) for arm in found.verdicts}
    for arm, slow in judge_once(contrasts, Rule(0.02, 0.02), 2500).items():
        fast = found.verdicts[arm]
        assert (fast.word, fast.estimate, fast.low, fast.high, fast.blocks, fast.reason) == (
            slow.word, slow.estimate, slow.low, slow.high, slow.blocks, slow.reason
        )  # fmt: skip


def test_the_estimate_of_many_blocks_is_the_median_of_all_averages(fifty_thousand):
    """Three million Walsh averages formed and sorted, for one arm."""
    verdict = decide(fifty_thousand, baseline="arm 0").verdicts["arm 1"]
    logs: dict[str, dict[int, float]] = {"arm 0": {}, "arm 1": {}}
    for block, arm, value, _ in fifty_thousand:
        if arm in logs:
            logs[arm][block] = math.log(value)
    both = sorted(set(logs["arm 0"]) & set(logs["arm 1"]))
    values = np.array([logs["arm 1"][b] - logs["arm 0"][b] for b in both])
    rows, columns = np.triu_indices(len(values))
    averages = (values[rows] + values[columns]) / 2
    assert verdict.blocks == len(values)
    assert verdict.estimate == pytest.approx(math.expm1(float(np.median(averages))), abs=1e-12)


def test_one_block_is_an_answer_of_its_own():
    """Undecided, with the estimate and without an interval."""
    verdict = decide([(0, "a", 100.0), (0, "b", 110.0)], baseline="a").verdicts["b"]
    assert (verdict.word, verdict.low, verdict.blocks) == ("undecided", None, 1)
    assert verdict.estimate == pytest.approx(0.10)


def test_constant_runs_are_no_difference():
    """No noise at all: the interval is a point, and nothing divides by zero."""
    rows = [(b, arm, 100.0) for b in range(12) for arm in ("a", "b")]
    decision = decide(rows, baseline="a")
    assert words(decision) == {"b": "no difference"}
    assert "coarse-metric" in codes(decision)


def test_of_thousands_of_arms_a_message_names_ten():
    """The value stood in the wrong column."""
    rows = [(0, f"{k}", 1.0) for k in range(5000)]
    with pytest.raises(DataError) as caught:
        decide(rows, baseline="old")
    assert len(caught.value.next_step) < 100
