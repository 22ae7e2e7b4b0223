"""The promise itself, in small: errors, power, coverage on simulated machines.

The studies are those of benchmarks/simulated, the same ones every time. Limits are binomial
percentiles, so a right implementation fails about once in a hundred seeds or less; the seeds are
fixed. The large counts belong to benchmarks/verdict.py.
"""

import io
import json
import math

import numpy as np
import pytest
from scipy.stats import binom, mannwhitneyu, ttest_1samp, ttest_ind
from simulated import alarms, replays
from simulated.alarms import false_alarms
from simulated.effects import MEAN_RUNS, POWER_NEEDED, point
from simulated.families import extensions, six_arms
from simulated.noise import HOSTILE, NOISES, Stream, streams
from simulated.procedure import whole
from simulated.progress import Progress
from simulated.rivals import (
    CONTROL,
    benchstat,
    beside,
    hyperfine,
    paired_t,
    paired_t_peeking,
    welch_of_three,
)
from simulated.rows import alarms_allowed, covered_needed
from simulated.scale import Scale

from assay.stats import Rule, Word, judge, judge_once, main_effect, series, simple_effect
from assay.stats.boundary import looks, schedule
from assay.stats.signed_rank import SignedRank

RULE = Rule(0.02, 0.02)
STUDIES, SEED = 200, 11
FALSE = ("helps", "hurts")
CONDITIONS = [*(f"{kind} noise, CV 2%" for kind in NOISES), *HOSTILE]


def at_most(rate, trials):
    """The 99.9th percentile of a binomial count."""
    return int(binom.ppf(0.999, trials, rate))


def walks(seed, studies, blocks, deviation, effect=0.0):
    """Studies of independent normal contrasts."""
    return np.random.default_rng(seed).normal(effect, deviation, (studies, blocks)).tolist()


def run(values, rule=RULE, planned=30):
    """One judgement of a finished study with one arm."""
    return judge({"arm": list(enumerate(values))}, rule, planned, len(values))["arm"]


def finish(steps):
    """The table a generator of steps ends with."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


# identical arms


def test_the_limits_are_those_of_the_acceptance_tests():
    """123 false alarms of 2,000, 1,072 of 20,000."""
    assert alarms_allowed(2000) == 123
    assert alarms_allowed(20_000) == 1072


@pytest.mark.parametrize("condition", CONDITIONS)
def test_identical_arms_are_rarely_told_apart(condition):
    """Calm, drifting and hostile machines, its own plan or a fixed one: no more than 5 % allow."""
    counts = false_alarms(condition, STUDIES, SEED)
    ours = {method: count for method, count in counts.items() if method.startswith("Assay")}
    assert len(ours) == 2
    assert alarms.accepted(ours, STUDIES), ours


def test_negative_control_fails_as_it_must():
    """One arm after the other and Mann-Whitney, put to the same limits, breaks them."""
    accepted = {
        method: alarms.accepted(
            {name: false_alarms(name, STUDIES, SEED)[method] for name in CONDITIONS}, STUDIES
        )
        for method in (alarms.OWN_PLAN, CONTROL)
    }
    assert accepted == {alarms.OWN_PLAN: True, CONTROL: False}


def test_each_bad_habit_ruins_the_method_it_should():
    """Strict turns with a slow slot, one arm after the other under drift, peeking: wrong."""
    turns, grouped = "Mann-Whitney, 10+10, ABAB", CONTROL
    assert false_alarms("second slot 3 % slower", STUDIES, SEED)[turns] > 0.9 * STUDIES
    assert false_alarms("drift .5 % per run", STUDIES, SEED)[grouped] > 0.9 * STUDIES
    peeking = false_alarms("calm noise, CV 2%", STUDIES, SEED)["paired t after every block, to 40"]
    assert peeking > at_most(0.05, STUDIES)


def test_false_alarms_are_not_far_too_rare_either():
    """The alpha that was promised is used: over 2 % of 600, and both directions occur."""
    found = [run(values).word for values in walks(13, 600, 30, 0.05)]
    count = sum(word in FALSE for word in found)
    assert binom.ppf(0.001, 600, 0.03) <= count <= at_most(0.04, 600)
    assert set(FALSE) <= set(found)


def test_looking_at_every_look_without_spending_would_be_wrong():
    """Negative control for the boundaries: the same looks at plain 4 % err far more often."""
    found = 0
    for values in walks(13, 300, 30, 0.05):
        found += any(SignedRank(values[:n]).p_value() <= 0.04 for n in looks(30, 0.04))
    assert found > at_most(0.04, 300)


def test_repeated_intervals_cover_at_every_look_together():
    """600 studies that never stop: some look's interval misses the truth in at most 4 %."""
    plan = schedule(30, 0.04)
    levels = plan.levels(0.04)
    missed = 0
    for values in walks(18, 600, 30, 0.03, 0.01):
        intervals = [
            SignedRank(values[:n]).interval(level)
            for n, level in zip(plan.looks, levels, strict=True)
        ]
        missed += any(not low <= 0.01 <= high for low, high in intervals)
    assert missed <= at_most(0.04, 600)


def test_six_identical_arms_share_one_error_rate():
    """Any false verdict among six: 4 % of studies, by Holm; and real effects keep their sign."""
    rows = {row.metric: row for row in finish(six_arms(Scale(studies=100, seed=SEED))).rows}
    assert rows["six equal arms, any told apart"].ours <= at_most(0.04, 100) / 100
    assert rows["six arms, power at +5%"].ours > 0.95
    assert rows["six arms, wrong sign"].met
    assert rows["six arms, mean runs"].ours < 0.8 * 210


def test_extensions_stay_within_alpha_and_a_fresh_boundary_does_not():
    """Two extensions of undecided studies: 5 % in all; a new boundary every time errs more."""
    rows = finish(extensions(Scale(studies=100, seed=SEED))).rows
    assert all(row.met for row in rows)
    fresh = [row for row in rows if row.rival == "fresh boundary"]
    assert sum(row.theirs for row in fresh) > sum(row.ours for row in fresh)


# arms that differ, and arms that do not


@pytest.mark.parametrize("where", POWER_NEEDED)
def test_a_planned_effect_is_found_at_the_price_that_was_said(where):
    """Power, sign, runs, coverage, and the word beside its interval, at four pairs of noise and
    effect."""
    deviation, effect = where
    found = point(deviation, effect, effect, STUDIES, SEED).ours
    assert found.count(Word.HELPS) >= binom.ppf(0.01, STUDIES, POWER_NEEDED[where])
    assert found.count(Word.HURTS) == 0
    assert found.count(Word.NO_DIFFERENCE) <= at_most(0.05, STUDIES)
    assert found.covered >= covered_needed(STUDIES)
    assert found.agreeing == STUDIES
    error = 2 * np.std(found.blocks) / math.sqrt(STUDIES)
    assert found.mean_runs - 2 * error <= 1.2 * MEAN_RUNS[where]


def test_no_difference_is_rarely_said_of_a_difference_as_large_as_the_margin():
    """Truth = margin: false equivalence in at most 5 %, whichever side it lies on."""
    for side in (1, -1):
        values = walks(16, 600, 40, 0.03, side * math.log1p(0.02))
        found = [run(v, planned=40).word for v in values]
        assert found.count("no difference") <= at_most(0.05, 600)


def test_equal_arms_are_usually_found_equal():
    """Truth zero at a noise the plan was made for: at least 85 %."""
    found = [run(values, planned=40).word for values in walks(17, 300, 40, 0.027)]
    assert found.count("no difference") >= 0.85 * 300


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


# the procedure as a function


def test_turning_every_effect_over_turns_the_verdict_over_and_nothing_else():
    """Plan included: same blocks, same look, mirrored interval, on machines of every kind."""
    mirrored = {"helps": "hurts", "hurts": "helps"}
    for name, make in HOSTILE.items():
        for stream in streams(make, 5, 60, 0.01, (SEED, name)):
            for values in stream.contrasts:
                one, other = whole(values, RULE, 60), whole(-values, RULE, 60)
                assert other.word == mirrored.get(one.word, one.word)
                assert (other.blocks, other.look) == (one.blocks, one.look)
                turned = None if one.low is None else 1 / (1 + one.low) - 1
                assert other.high == pytest.approx(turned, abs=1e-11)


def test_the_same_seed_gives_the_same_bytes(benchmark_verdict, capsys):
    """Two runs of one table differ in nothing, whatever was simulated before."""
    texts = []
    for only in (["extension"], ["arms", "extension"]):
        assert benchmark_verdict.main(["--quick", "--only", *only]) == 0
        texts.append(capsys.readouterr().out.split("extension: ")[1])
    assert texts[0] == texts[1]


# the benchmark


def test_the_benchmark_runs_and_speaks_the_agreed_json(benchmark_verdict, capsys):
    """--quick --json prints one object with the fields of every benchmark."""
    assert benchmark_verdict.main(["--quick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"name", "host", "rows"}
    fields = {
        "metric", "rival", "unit", "ours", "theirs", "ratio", "low", "high", "goal", "met",
    }  # fmt: skip
    assert all(set(row) == fields for row in found["rows"])


def test_the_benchmark_prints_three_nginx_runs_as_undecided(benchmark_verdict, capsys):
    """With and without the run that was called an outlier."""
    assert benchmark_verdict.main(["--only", "nginx"]) == 0
    said = capsys.readouterr().out
    assert "+2.70%, +5.00%, +10.75%: undecided" in said
    assert "+2.70%, +5.00%: undecided" in said
    assert "promises not kept: 0" in said


def test_the_benchmark_fails_when_a_promise_is_not_kept(benchmark_verdict, monkeypatch, capsys):
    """Eight runs that all gain 3 % are decided, which the table says must not be."""
    monkeypatch.setattr(replays, "UPLIFTS", (1.03,) * 8)
    assert benchmark_verdict.main(["--only", "nginx"]) == 1
    assert "MISSED: nginx" in capsys.readouterr().out


def test_the_benchmark_fails_when_the_negative_control_passes(
    benchmark_verdict, monkeypatch, capsys
):
    """Limits that nothing fails prove nothing, however small the numbers."""
    assert benchmark_verdict.main(["--quick", "--only", "control"]) == 0
    assert "negative control: fails as it must" in capsys.readouterr().out
    monkeypatch.setattr(alarms, "accepted", lambda counts, studies: True)
    assert benchmark_verdict.main(["--quick", "--only", "control"]) == 1
    assert "negative control: PASSES" in capsys.readouterr().out


def test_the_time_left_is_for_terminals_only():
    """A terminal gets one line that is overwritten; a file gets nothing."""
    terminal, file = io.StringIO(), io.StringIO()
    terminal.isatty = lambda: True
    for stream in (terminal, file):
        progress = Progress(stream, 10.0)
        progress.within("power", 4.0, 0.5)
        progress.finished(4.0)
    assert "power: 20% of all, about" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")
    assert file.getvalue() == ""


# the rivals, by hand


def test_rivals_do_what_they_are_called():
    """Twenty runs, the arm's ten clearly above: all see it; a paired t is scipy's."""
    rng = np.random.default_rng(5)
    runs, effect = rng.normal(0, 0.001, (3, 80)), 0.05
    stream = Stream(runs, rng.normal(effect, 0.001, (3, 40)), effect)
    for name, rival in beside(40).items():
        if "windows" not in name:
            assert list(rival(stream)) == [1, 1, 1], name
    flat = Stream(runs, rng.normal(0, 0.001, (3, 40)), 0.0)
    assert list(hyperfine(flat)) == [0, 0, 0]


def test_the_two_sample_tests_are_those_of_scipy():
    """Welch on three and three, Mann-Whitney on ten and ten, ties included."""
    runs = np.random.default_rng(7).normal(0, 1, (60, 20)).round(1)
    stream = Stream(runs, np.zeros((60, 10)), 0.8)
    welch, ranks = [], []
    for row in runs:
        p = ttest_ind(row[:3], row[3:6] + 0.8, equal_var=False).pvalue
        welch.append(np.sign(row[3:6].mean() + 0.8 - row[:3].mean()) * (p < 0.05))
        shifted = row[10:] + 0.8
        ranks.append(mannwhitneyu(row[:10], shifted, method="asymptotic").pvalue < 0.05)
    assert list(welch_of_three(stream)) == welch
    assert list(benchstat(stream) != 0) == ranks
    assert 0 < sum(ranks) < 60


def test_a_paired_t_peeks_from_the_third_block_on_and_once_only_at_the_end():
    """p values by scipy, block by block."""
    contrasts = np.random.default_rng(6).normal(0.3, 1.0, (40, 12))
    stream = Stream(np.zeros((40, 24)), contrasts, 0.0)
    peeked = [
        next((np.sign(c[:n].mean()) for n in range(3, 13) if ttest_1samp(c[:n], 0)[1] < 0.05), 0)
        for c in contrasts
    ]
    assert list(paired_t_peeking(12)(stream)) == peeked
    once = [np.sign(c.mean()) * (ttest_1samp(c, 0)[1] < 0.05) for c in contrasts]
    assert list(paired_t(12)(stream)) == once
    assert 0 < np.count_nonzero(once) < np.count_nonzero(peeked) < 40
