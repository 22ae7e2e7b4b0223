"""The promise itself, in small: errors, power, coverage on simulated machines.

Limits are binomial percentiles, so a right implementation fails about once in a thousand seeds;
the seeds are fixed. The large counts belong to benchmarks/verdict.py.
"""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom

from assay.verdict import Rule, judge, judge_once, main_effect, series, simple_effect
from assay.verdict.boundary import looks, nominal_levels
from assay.verdict.signed_rank import SignedRank

RULE = Rule(0.02, 0.02)
STUDIES = 600
FALSE = ("helps", "hurts")


def at_most(rate, trials=STUDIES):
    """The 99.9th percentile of a binomial count."""
    return int(binom.ppf(0.999, trials, rate))


def walks(seed, studies, blocks, deviation, effect=0.0):
    """Studies of independent normal contrasts."""
    return np.random.default_rng(seed).normal(effect, deviation, (studies, blocks)).tolist()


def run(values, rule=RULE, planned=30):
    """One judgement of a finished study with one arm."""
    return judge({"arm": list(enumerate(values))}, rule, planned, len(values))["arm"]


@pytest.mark.parametrize("kind", ["calm", "realistic", "strong"])
def test_identical_arms_are_rarely_told_apart(benchmark_verdict, kind):
    """600 A/A studies, whole procedure: at most what 4 % allows."""
    found = 0
    for seed in range(STUDIES):
        rng = np.random.default_rng((11, seed))
        runs = benchmark_verdict.machine(rng, benchmark_verdict.NOISES[kind], 0.02, 80)
        values = benchmark_verdict.contrasts(rng, runs, 0.0)
        found += benchmark_verdict.study(values, RULE, 40)[0].word in FALSE
    assert found <= at_most(0.04)


def test_the_harness_can_tell_a_bad_method_from_a_good_one(benchmark_verdict):
    """Negative control: one arm after the other fails the very same count."""
    found = 0
    for seed in range(STUDIES):
        rng = np.random.default_rng((11, seed))
        runs = benchmark_verdict.machine(rng, benchmark_verdict.NOISES["strong"], 0.02, 20)
        found += benchmark_verdict.mann_whitney_of_ten(runs)
    assert found > at_most(0.05)


def _normal(rng, runs):
    return rng.normal(0, 0.02, runs)


HOSTILE = {
    "tails of Student's t with 2 degrees": lambda rng, n: 0.01 * rng.standard_t(2, n),
    "two modes": lambda rng, n: _normal(rng, n) / 4 + 0.06 * (rng.random(n) < 0.5),
    "slow second slot": lambda rng, n: _normal(rng, n) - 0.03 * (np.arange(n) % 2),
    "steady drift": lambda rng, n: _normal(rng, n) - 0.005 * np.arange(n),
    "period of four runs": lambda rng, n: (
        _normal(rng, n) + 0.05 * np.sin(np.pi * np.arange(n) / 2 + 6 * rng.random())
    ),
    "bursts": lambda rng, n: _normal(rng, n) * np.where(rng.random(n) < 0.1, 10, 1),
    "skew": lambda rng, n: _normal(rng, n) / 2 - 0.03 * rng.exponential(size=n),
    "rounded to 2 %": lambda rng, n: np.log(np.round(np.exp(_normal(rng, n)) / 0.02) * 0.02),
}


def _hostile_alarms(noise, signs):
    """False verdicts in 600 A/A studies of 30 blocks of a hostile machine."""
    found = 0
    for seed in range(STUDIES):
        rng = np.random.default_rng((12, seed))
        pairs = noise(rng, 60).reshape(-1, 2)
        values = signs(rng, 30) * (pairs[:, 1] - pairs[:, 0])
        found += run(values.tolist()).word in FALSE
    return found


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_machines_do_not_break_the_promise(kind):
    """Tails, modes, slots, drift, periods, bursts, skew, rounding: at most what 4 % allows."""
    found = _hostile_alarms(HOSTILE[kind], lambda rng, n: rng.choice((-1, 1), n))
    assert found <= at_most(0.04)


def test_without_a_random_order_a_slow_slot_breaks_everything():
    """Negative control: the same machine under strict alternation is wrong nearly always."""
    found = _hostile_alarms(HOSTILE["slow second slot"], lambda rng, n: np.ones(n))
    assert found > 0.9 * STUDIES


def test_false_alarms_are_not_far_too_rare_either():
    """The alpha that was promised is used: over 2 % of 600, and both directions occur."""
    found = [run(values).word for values in walks(13, STUDIES, 30, 0.05)]
    alarms = [word for word in found if word in FALSE]
    assert binom.ppf(0.001, STUDIES, 0.03) <= len(alarms) <= at_most(0.04)
    assert {"helps", "hurts"} <= set(alarms)


def test_six_identical_arms_share_one_error_rate():
    """Any false verdict among six: 4 % of studies, by Holm."""
    found = 0
    for seed in range(STUDIES // 2):
        rng = np.random.default_rng((14, seed))
        runs = rng.normal(0, 0.02, (7, 30))
        family = {f"arm {k}": list(enumerate(runs[k] - runs[0])) for k in range(1, 7)}
        judged = judge(family, RULE, 30, 30)
        found += any(judgement.word in FALSE for judgement in judged.values())
    assert found <= at_most(0.04, STUDIES // 2)


def test_a_planned_effect_is_found():
    """2 % at 2.8 % pair noise in 30 blocks: at least 85 % of 300, never the wrong sign."""
    found = [run(values).word for values in walks(15, 300, 30, 0.028, math.log1p(0.02))]
    assert found.count("helps") >= 0.85 * 300
    assert found.count("hurts") == 0


def test_no_difference_is_rarely_said_of_a_difference_as_large_as_the_margin():
    """Truth = margin: false equivalence in at most 5 %, whichever side it lies on."""
    for side in (1, -1):
        values = walks(16, STUDIES, 40, 0.03, side * math.log1p(0.02))
        found = [run(v, planned=40).word for v in values]
        assert found.count("no difference") <= at_most(0.05)


def test_equal_arms_are_usually_found_equal():
    """Truth zero at a noise the plan was made for: at least 85 %."""
    found = [run(values, planned=40).word for values in walks(17, 300, 40, 0.027)]
    assert found.count("no difference") >= 0.85 * 300


def test_repeated_intervals_cover_at_every_look_together():
    """600 studies that never stop: some look's interval misses the truth in at most 4 %."""
    schedule = looks(30, 0.04)
    levels = nominal_levels(schedule, 30, 0.04)
    missed = 0
    for values in walks(18, STUDIES, 30, 0.03, 0.01):
        intervals = [
            SignedRank(values[:n]).interval(level)
            for n, level in zip(schedule, levels, strict=True)
        ]
        missed += any(not low <= 0.01 <= high for low, high in intervals)
    assert missed <= at_most(0.04)


def test_looking_at_every_look_without_spending_would_be_wrong():
    """Negative control for the boundaries: the same looks at plain 4 % err far more often."""
    found = 0
    for values in walks(13, 300, 30, 0.05):
        found += any(SignedRank(values[:n]).p_value() <= 0.04 for n in looks(30, 0.04))
    assert found > at_most(0.04, 300)


def test_a_sign_flip_on_top_of_another_change_is_found():
    """An ASE-like 2^3 in 20 blocks: SNAP on TSX hurts, although SNAP helps on average."""
    factors = ("TSX", "SNAP", "LLDC")
    effects = {
        (0, 0, 0): 0.0, (1, 0, 0): 0.08, (0, 1, 0): 0.01, (0, 0, 1): 0.05,
        (1, 1, 0): 0.03, (1, 0, 1): 0.12, (0, 1, 1): 0.08, (1, 1, 1): 0.16,
    }  # fmt: skip
    cells = {str(cell): dict(zip(factors, cell, strict=True)) for cell in effects}
    contrast = simple_effect("SNAP", {"TSX": 1, "LLDC": 0}, cells)
    found = []
    for seed in range(20):
        rng = np.random.default_rng((19, seed))
        table = {
            block: {str(cell): y + rng.normal(0, 0.02) for cell, y in effects.items()}
            for block in range(20)
        }
        found.append(judge_once({"x": series(contrast, table)}, RULE, 20)["x"].word)
        average = judge_once({"x": series(main_effect("SNAP", cells), table)}, RULE, 20)["x"]
        assert average.word != "hurts"
    assert found.count("hurts") == 20


def test_the_benchmark_runs_and_speaks_the_agreed_json(benchmark_verdict, capsys):
    """--quick --json prints one object with the fields of every benchmark."""
    assert benchmark_verdict.main(["--quick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"name", "host", "rows"}
    fields = {
        "metric", "rival", "unit", "ours", "theirs", "ratio", "low", "high", "goal", "met",
    }  # fmt: skip
    assert all(set(row) == fields for row in found["rows"])
    assert benchmark_verdict.main(["--quick"]) == 0
    assert "A/A false verdicts, calm noise" in capsys.readouterr().out
