"""Rare slow runs: counted where they are, not made up by drift or noise."""

import itertools
import math
import statistics

import numpy as np
import pytest
from scipy.stats import binom

from assay.stats.fisher import fisher_two_sided, holm
from assay.stats.rule import Word
from assay.stats.slow_runs import newcombe, slow_limit, stability, without_level

SLOW = math.log(0.7)


def runs_of(benchmark_verdict, seed, kind, deviation, blocks, arms, shares=()):
    """Blocks in random order on the simulated machine, its outliers turned into slow runs;
    `shares`: of runs that are 30 % slow, by arm."""
    rng = np.random.default_rng(seed)
    noise = benchmark_verdict.NOISES[kind]
    logs = -benchmark_verdict.machine(rng, noise, deviation, blocks * arms).reshape(blocks, arms)
    logs = np.take_along_axis(logs, np.argsort(rng.random(logs.shape), axis=1), axis=1)
    for arm, share in enumerate(shares):
        logs[:, arm] += np.where(rng.random(blocks) < share, SLOW, 0.0)
    return {b: {"abcdefgh"[k]: float(logs[b, k]) for k in range(arms)} for b in range(blocks)}


def quiet(blocks, arms="ab", slow=()):
    """Arms that differ by 20 % and never vary, but for 30 % slow runs at (block, arm)."""
    table = {b: {arm: 0.2 * k for k, arm in enumerate(arms)} for b in range(blocks)}
    for block, arm in slow:
        table[block][arm] += SLOW
    return table


def counts(line):
    """The numbers a line rests on."""
    return line.slow, line.runs, line.baseline_slow, line.baseline_runs


# counting


def test_slow_runs_are_counted_against_the_own_arms_median():
    """An arm that is 20 % faster has its slow runs counted from there."""
    (line,) = stability(quiet(40, slow=[(3, "b"), (17, "b"), (18, "b"), (5, "a")]), "a", ["b"])
    assert counts(line) == (3, 40, 1, 40)
    assert line.word == Word.UNDECIDED
    assert line.reason == (
        "3 of 40 runs were more than 10 % slower than the arm's median, 1 of 40 of the "
        "baseline's; Fisher p = 0.62"
    )


def test_eight_slow_runs_of_forty_hurt_and_curing_them_helps():
    """The word follows Fisher's p; up is better."""
    table = quiet(40, slow=[(5 * k, "b") for k in range(8)])
    (hurts,) = stability(table, "a", ["b"])
    (helps,) = stability(table, "b", ["a"])
    assert (hurts.word, helps.word) == (Word.HURTS, Word.HELPS)
    assert hurts.p == helps.p == pytest.approx(fisher_two_sided(8, 32, 0, 40))
    assert hurts.estimate == -helps.estimate == pytest.approx(-0.2)
    assert hurts.low == pytest.approx(-helps.high)
    assert hurts.low < -0.2 < hurts.high < 0


def test_fast_runs_are_not_disasters():
    """Only what lies below counts."""
    table = quiet(40)
    for block in range(0, 40, 4):
        table[block]["b"] += 0.5
    assert counts(stability(table, "a", ["b"])[0]) == (0, 40, 0, 40)


def test_drift_of_the_machine_is_no_disaster():
    """A slope and a step of a third, which every run of the time shares."""
    table = quiet(40, slow=[(30, "b")])
    for block, row in table.items():
        for arm in row:
            row[arm] += -0.01 * block + SLOW * (block >= 20)
    assert counts(stability(table, "a", ["b"])[0]) == (1, 40, 0, 40)


def test_a_bad_run_does_not_move_the_level_of_its_time():
    """With two arms as with six, also three in a row at the end: the others do not look fast."""
    for arms in ("ab", "abcdef"):
        table = quiet(20, arms, slow=[(b, "b") for b in (0, 9, 17, 18, 19)])
        rest = without_level(table)
        assert max(abs(v) for row in rest.values() for arm, v in row.items() if arm != "b") < 1e-12
        assert [b for b, row in rest.items() if row["b"] < -slow_limit({})] == [0, 9, 17, 18, 19]


def test_on_a_noisy_machine_ten_percent_is_not_a_disaster():
    """At 8 % noise the limit is five median deviations, and the reason says how much that is."""
    rng = np.random.default_rng(1)
    table = {b: {arm: float(v) for arm, v in zip("ab", rng.normal(0, 0.08, 2), strict=True)}
             for b in range(60)}  # fmt: skip
    rest = without_level(table)
    sizes = [abs(v) for row in rest.values() for v in row.values()]
    assert slow_limit(rest) == 5 * statistics.median(sizes) > 0.2
    (line,) = stability(table, "a", ["b"])
    assert line.slow + line.baseline_slow <= 1
    assert f"more than {100 * -math.expm1(-slow_limit(rest)):.3g} % slower" in line.reason


def test_an_arm_that_left_early_is_compared_over_its_own_blocks():
    """Slow runs of the baseline after that do not count for the arm, missing runs for nobody."""
    table = quiet(40, slow=[(b, "a") for b in range(20, 30)])
    for block in range(12, 40):
        del table[block]["b"]
    del table[3]["a"]
    (line,) = stability(table, "a", ["b"])
    assert counts(line) == (0, 11, 0, 11)


def test_arms_without_runs_are_left_out():
    """Nothing to count, nothing to say."""
    assert stability({}, "a", ["b"]) == []
    assert stability({0: {}, 1: {"b": 0.0}}, "a", ["b", "c"]) == []
    assert [line.arm for line in stability(quiet(6), "a", ["a", "b", "c"])] == ["b"]


def test_several_arms_share_the_error():
    """Holm, and the reason says so."""
    table = quiet(40, "abc", slow=[(5 * k, "b") for k in range(6)])
    b, c = stability(table, "a", ["b", "c"])
    expected = holm({"b": fisher_two_sided(6, 34, 0, 40), "c": 1.0})
    assert (b.p, c.p) == (expected["b"], 1.0)
    assert b.word == Word.UNDECIDED
    assert b.reason.endswith("Fisher p = 0.051 (Holm, 2 arms)")
    (alone,) = stability(table, "a", ["b"])
    assert alone.word == Word.HURTS


# the interval


def test_the_interval_has_newcombes_published_values():
    """Table II of the paper, method 10, four decimals."""
    published = {
        (56, 70, 48, 80): (0.0524, 0.3339),
        (9, 10, 3, 10): (0.1705, 0.8090),
        (6, 7, 2, 7): (0.0582, 0.8062),
        (5, 56, 0, 29): (-0.0381, 0.1926),
        (0, 10, 0, 20): (-0.1611, 0.2775),
        (0, 10, 0, 10): (-0.2775, 0.2775),
        (10, 10, 0, 20): (0.6791, 1.0),
        (10, 10, 0, 10): (0.6075, 1.0),
    }
    for table, expected in published.items():
        assert newcombe(*table) == pytest.approx(expected, abs=6e-5)


def test_the_interval_covers_in_nineteen_studies_of_twenty():
    """Exactly summed over all outcomes of 40 and 40 runs, at shares that occur."""
    for first, second in itertools.combinations_with_replacement((0.02, 0.05, 0.1, 0.25), 2):
        covered = 0.0
        for hits, others in itertools.product(range(26), repeat=2):
            low, high = newcombe(hits, 40, others, 40)
            chance = binom.pmf(hits, 40, first) * binom.pmf(others, 40, second)
            covered += chance * (low <= first - second <= high)
        assert covered > 0.93


# error rates


@pytest.mark.parametrize(("kind", "deviation"), [("calm", 0.01), ("strong", 0.05)])
def test_noise_and_drift_are_not_called_unstable(benchmark_verdict, kind, deviation):
    """60 studies of three equal arms: no word, under one run of a hundred slow, although two runs
    in a hundred are 9 % off."""
    lines = [
        line
        for seed in range(60)
        for line in stability(
            runs_of(benchmark_verdict, (1, seed), kind, deviation, 40, 3), "a", ["b", "c"]
        )
    ]
    assert all(line.word == Word.UNDECIDED for line in lines)
    assert sum(line.slow for line in lines) < 0.01 * sum(line.runs for line in lines)


def test_arms_with_equally_many_disasters_are_rarely_told_apart(benchmark_verdict):
    """15 % slow runs in both: at most what 5 % of 150 studies allows."""
    found = sum(
        stability(
            runs_of(benchmark_verdict, (2, seed), "realistic", 0.02, 40, 2, (0.15, 0.15)),
            "a",
            ["b"],
        )[0].word
        != Word.UNDECIDED
        for seed in range(150)
    )
    assert found <= binom.ppf(0.999, 150, 0.05)


@pytest.mark.parametrize(("kind", "deviation"), [("calm", 0.01), ("strong", 0.05)])
def test_a_share_of_a_quarter_is_found_in_forty_blocks(benchmark_verdict, kind, deviation):
    """70 % of 40 studies, in quiet and in a machine whose walk hides slow runs in raw values."""
    found = sum(
        stability(
            runs_of(benchmark_verdict, (3, seed), kind, deviation, 40, 2, (0, 0.25)), "a", ["b"]
        )[0].word
        == Word.HURTS
        for seed in range(40)
    )
    assert found >= 28


def test_a_share_of_one_in_twenty_takes_two_hundred_blocks(benchmark_verdict):
    """Never in 40 blocks, in most of 20 studies of 250: what the document promises, no more."""
    for blocks, least, most in ((40, 0, 2), (250, 14, 20)):
        found = sum(
            stability(
                runs_of(benchmark_verdict, (4, seed), "strong", 0.02, blocks, 2, (0, 0.05)),
                "a",
                ["b"],
            )[0].word
            == Word.HURTS
            for seed in range(20)
        )
        assert least <= found <= most
