"""Scaling with threads: exact on clean curves, honest on noisy ones, silent where it cannot know.

Limits on simulated counts are binomial percentiles or the ranges of the method note; the seeds
are fixed.
"""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import curve_fit, nnls
from scipy.stats import binom

from assay.stats import Word, usl
from assay.stats.signed_rank import DECIMALS, SignedRank
from assay.stats.usl import fit, scaling
from assay.stats.usl_comparison import PARAMETERS, compare, holm

LEVELS = (1, 2, 4, 8, 16, 24, 32, 48, 64)
EIGHT = tuple(range(1, 9))
DOUBLING = (1, 2, 4, 8, 16, 32, 64, 128)
STUDIES = 400
CURVES = {
    "contended": (0.08, 2e-4),
    "limited by coherency": (0.01, 2e-3),
    "without coherency": (0.05, 0.0),
}


def curve(levels, contention, coherency, one=1e5):
    """The law itself."""
    n = np.asarray(levels, dtype=float)
    return one * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def noisy(rng, levels, throughput, blocks=8, deviation=0.02):
    """Blocks around a curve: each shares a factor, each run has its own."""
    shared = rng.normal(0, 0.05, (blocks, 1))
    own = rng.normal(0, deviation, (blocks, len(levels)))
    table = np.asarray(throughput) * np.exp(shared + own)
    return [dict(zip(levels, row, strict=True)) for row in table.tolist()]


def studies(seed, parameters, count=STUDIES, levels=LEVELS, **how):
    """So many simulated studies of one curve."""
    rng = np.random.default_rng(seed)
    truth = curve(levels, *parameters)
    for _ in range(count):
        yield noisy(rng, levels, truth, **how)


def judged(levels, throughput, cpus, seed=1):
    """One noisy study of the given throughputs."""
    return scaling("s", noisy(np.random.default_rng(seed), levels, throughput), cpus)


def covers(estimate, truth):
    return estimate.low <= truth <= estimate.high


# one curve


@pytest.mark.parametrize("parameters", [*CURVES.values(), (0.0, 0.0), (1.3, 0.02), (-0.02, 1e-4)])
def test_a_clean_curve_gives_back_its_parameters(parameters):
    """Also a straight line, one that only falls, and one that gains from company."""
    found = fit(LEVELS, curve(LEVELS, *parameters))
    assert found.throughput_of_one == pytest.approx(1e5)
    assert (found.contention, found.coherency) == pytest.approx(parameters, abs=1e-9)
    assert found.at(11) == pytest.approx(curve([11], *parameters)[0])


def test_a_curve_needs_no_level_of_one_thread():
    """The throughput of one is then extrapolated."""
    found = fit((4, 8, 16), curve((4, 8, 16), 0.05, 1e-3))
    assert (found.contention, found.coherency) == pytest.approx((0.05, 1e-3))


def test_the_fit_is_that_of_a_general_least_squares_in_the_law_itself():
    """A slow twin with starting values, on throughputs 0.1 % off a curve, agrees to 1 %."""
    rng = np.random.default_rng(3)
    seen = curve(LEVELS, 0.05, 1e-3, one=1.0) * np.exp(rng.normal(0, 1e-3, len(LEVELS)))

    def law(n, one, contention, coherency):
        return curve(n, contention, coherency, one)

    slow, _ = curve_fit(law, LEVELS, seen, (1, 0.1, 1e-4), sigma=seen)
    found = fit(LEVELS, seen)
    mine = (found.throughput_of_one, found.contention, found.coherency)
    assert mine == pytest.approx(tuple(slow), rel=0.01)


def test_weights_are_weights():
    """A weight of four counts a level as often as listing it four times."""
    seen = curve(LEVELS, 0.05, 1e-3) * np.linspace(0.97, 1.03, len(LEVELS))
    often = fit((*LEVELS, 8, 8, 8), (*seen, *[seen[3]] * 3), np.ones(len(LEVELS) + 3))
    weighted = fit(LEVELS, seen, [4.0 if n == 8 else 1.0 for n in LEVELS])
    assert weighted.contention == pytest.approx(often.contention)
    assert weighted.coherency == pytest.approx(often.coherency)


@pytest.mark.parametrize(
    ("levels", "throughput", "weights", "text"),
    [
        ((1, 2), (1, 2), None, "2 levels; a curve with three parameters needs 3"),
        ((1, 2, 2), (1, 2, 2), None, "2 levels"),
        ((1, 2, 4), (1, 2), None, "one throughput"),
        ((1, 2, 4), (1, 0, 2), None, "positive"),
        ((1, 2, 4), (1, math.nan, 2), None, "positive"),
        ((0, 2, 4), (1, 2, 2), None, "at least 1"),
        ((1, 2, 4), (1, 2, 2), (1, 1, 0), "weights"),
        ((8, 16, 32), (8, 1.6, 1.1), None, "falls so steeply"),
    ],
)
def test_what_cannot_be_fitted_is_named(levels, throughput, weights, text):
    """Never a curve from too little or from nonsense."""
    with pytest.raises(ValueError, match=text):
        fit(levels, throughput, weights)


# intervals over blocks


@pytest.mark.parametrize("name", CURVES)
def test_intervals_cover_the_truth(name):
    """92 to 98 % of 400 studies of 8 blocks with 2 % noise, for each parameter and the peak."""
    contention, coherency = CURVES[name]
    found = [scaling("s", blocks, cpus=64) for blocks in studies(5, CURVES[name])]
    shares = {
        "one": np.mean([covers(s.throughput_of_one, 1e5) for s in found]),
        "contention": np.mean([covers(s.contention, contention) for s in found]),
        "coherency": np.mean([covers(s.coherency, coherency) for s in found]),
    }
    if name == "limited by coherency":
        assert all(s.peak_seen for s in found)
        peak = math.sqrt((1 - contention) / coherency)
        shares["peak"] = np.mean([covers(s.peak, peak) for s in found])
    assert all(0.92 <= share <= 0.98 for share in shares.values()), shares


def test_the_peak_behind_one_lock_is_found_and_covered():
    """1 - sigma = 0.03 within its noise: per-block ratios lose most of these peaks."""
    found = [scaling("s", blocks, cpus=64) for blocks in studies(6, (0.97, 1e-3))]
    peak = math.sqrt(0.03 / 1e-3)
    assert np.mean([s.peak_seen for s in found]) > 0.9
    assert 0.92 <= np.mean([covers(s.peak, peak) for s in found if s.peak_seen]) <= 0.98


@pytest.mark.parametrize(
    ("parameters", "rate"), [((0.05, 0.0), 0.0), ((0.98, 0.0), 0.025), ((0.08, 2e-4), 0.025)]
)
def test_no_peak_is_claimed_where_the_curve_still_rises(parameters, rate):
    """2.5 %: a peak needs a slope at the last level that a 5 % t test finds negative.

    That is the limit for a slope of zero there; one that is clearly positive gets no peak at all.
    """
    found = [scaling("s", blocks, cpus=64) for blocks in studies(7, parameters)]
    claims = sum(s.peak_seen for s in found)
    assert claims <= binom.ppf(0.999, STUDIES, rate)
    assert sum("no peak proved up to 64 threads" in s.sentence for s in found) == STUDIES - claims


def test_throughput_in_other_units_changes_the_throughput_of_one_alone():
    """Times a thousand, per block too: contention, coherency, peak stay to rounding."""
    blocks = noisy(np.random.default_rng(8), LEVELS, curve(LEVELS, 0.02, 2e-3))
    other = [{n: 1000 * x for n, x in block.items()} for block in blocks]
    plain, scaled = scaling("s", blocks, 64), scaling("s", other, 64)
    for name in ("contention", "coherency", "peak"):
        mine, theirs = getattr(plain, name), getattr(scaled, name)
        assert (mine.value, mine.low, mine.high) == pytest.approx(
            (theirs.value, theirs.low, theirs.high), rel=1e-9
        )
    assert scaled.throughput_of_one.value == pytest.approx(1000 * plain.throughput_of_one.value)
    assert scaled.sentence == plain.sentence


def test_blocks_that_are_faster_as_a_whole_move_the_throughput_of_one_alone():
    """A warm afternoon is not contention."""
    blocks = [
        {n: factor * x for n, x in zip(LEVELS, curve(LEVELS, 0.05, 1e-3), strict=True)}
        for factor in (0.5, 1.0, 2.0)
    ]
    found = scaling("s", blocks, 64)
    assert found.contention.high - found.contention.low < 1e-9
    assert found.throughput_of_one.high > 2 * found.throughput_of_one.low


def test_the_sentence_says_what_is_known_with_digits_that_the_interval_deserves():
    """Read by people: percent, plain fractions, threads."""
    found = judged(LEVELS, curve(LEVELS, 0.05, 2e-3), 64)
    assert found.sentence == (
        "contention 4.9 % [4.6 %, 5.2 %], coherency 0.00202 [0.00195, 0.00208], "
        "peak near 21.7 threads [21.4, 22.1]"
    )
    falling = judged(LEVELS, curve(LEVELS, 1.3, 0.02), 64)
    assert falling.peak.high == 1
    assert falling.sentence.endswith("throughput falls from 1 thread on")


def test_the_drawn_curve_is_non_negative_least_squares():
    """scipy's nnls on the means, in three noisy cases of which two would go negative."""
    for seed, parameters in enumerate([(0.05, 1e-3), (0.05, 0.0), (0.0, 1e-3)]):
        rng = np.random.default_rng(seed)
        blocks = noisy(rng, LEVELS, curve(LEVELS, *parameters), deviation=0.1)
        found = scaling("s", blocks, 64)
        means = np.array(found.measured)
        n = np.array(LEVELS, dtype=float)
        rows = np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1) * (means / n)[:, np.newaxis]
        a, b, c = nnls(rows, np.ones(len(n)))[0]
        assert found.curve == pytest.approx(tuple(n / (a + b * (n - 1) + c * n * (n - 1))))


def test_means_over_blocks_are_geometric():
    """A block twice as fast and one half as fast cancel."""
    blocks = [{n: factor * n for n in EIGHT} for factor in (0.5, 1.0, 2.0)]
    assert scaling("s", blocks, 8).measured == pytest.approx(EIGHT)


def test_a_curve_that_misses_what_was_measured_says_so():
    """No knee of this shape is a Universal Scalability Law."""
    found = judged(DOUBLING, np.minimum(DOUBLING, 16), 128)
    assert re.search(r"but the curve misses \d+ threads by [12]\d", found.sentence)
    assert "misses" not in judged(LEVELS, curve(LEVELS, 0.05, 2e-3), 64).sentence


# what is refused, and what is not


def test_too_few_levels_or_blocks_are_refused_with_the_number_that_would_do():
    """Estimates are None then, and what was measured is still there to be drawn."""
    few = judged((1, 2, 4, 8), curve((1, 2, 4, 8), 0.05, 1e-3), 8)
    assert few.refused.text == "4 levels; a curve with three parameters needs at least 6"
    assert few.sentence == f"refused: {few.refused.text}"
    assert few.contention is few.coherency is few.throughput_of_one is few.peak is None
    assert few.curve == ()
    assert len(few.measured) == 4
    clean = dict(zip(LEVELS, curve(LEVELS, 0.05, 1e-3), strict=True))
    assert scaling("s", [clean] * 2, 64).refused.text == "2 blocks; an interval needs at least 3"
    assert scaling("s", [], 64).refused.text == "no complete block"
    assert scaling("s", [clean] * 3, 64).refused is None


def test_a_fall_that_leaves_no_throughput_of_one_is_refused():
    """Steeper than any curve of this shape, extrapolated to one thread."""
    levels = (8, 16, 32, 48, 64, 80)
    throughput = [8, 1.6, 1.1, 1, 1, 1]
    found = judged(levels, throughput, 128)
    assert "falls so steeply" in found.refused.text
    blocks = noisy(np.random.default_rng(1), levels, throughput)
    for compared in compare("a", "b", blocks, blocks, 128):
        assert "falls so steeply" in compared.reason


AT_THE_CPUS = {
    "2 CPUs, straight up and flat": (EIGHT, np.minimum(EIGHT, 2), 2),
    "2 CPUs, falling after": (EIGHT, [1, 1.9, 1.8, 1.7, 1.6, 1.5, 1.45, 1.4], 2),
    "2 CPUs, a little more from batching": (EIGHT, [1, 2, 2.05, 2.1, 2.15, 2.2, 2.25, 2.3], 2),
    "2 CPUs, a third more from batching": (EIGHT, [1, 1.9, 2.1, 2.25, 2.35, 2.45, 2.5, 2.5], 2),
    "1 CPU": (EIGHT, [1, 1, 1, 1, 0.98, 0.97, 0.96, 0.95], 1),
    "4 CPUs, contended below": ((1, 2, 3, 4, 6, 8), [1, 1.8, 2.4, 2.9, 2.9, 2.9], 4),
    "4 CPUs, no level of 4": ((1, 2, 3, 5, 6, 8), [1, 2, 3, 4, 4, 4], 4),
    "4 CPUs, all levels above": ((8, 12, 16, 24, 32, 64), [4, 4, 4, 4, 4, 4], 4),
    "8 CPUs, past its peak and flat": (
        DOUBLING[:6],
        curve(np.minimum(DOUBLING[:6], 8), 0.1, 0.1),
        8,
    ),
}


@pytest.mark.parametrize("name", AT_THE_CPUS)
def test_a_curve_that_bends_where_the_cpus_end_is_refused(name):
    """It would describe the machine. Twenty noisy studies each, not one slips through."""
    levels, throughput, cpus = AT_THE_CPUS[name]
    for seed in range(20):
        found = judged(levels, throughput, cpus, seed)
        assert f"where threads begin to share the {cpus} CPUs" in found.refused.text


ELSEWHERE = {
    "2 CPUs, a server that waits": (DOUBLING, curve(DOUBLING, 0.03, 1e-4), 2),
    "2 CPUs, waiting, full at 8 threads": (DOUBLING[:6], np.minimum(DOUBLING[:6], 8), 2),
    "1 CPU, waiting": (EIGHT, curve(EIGHT, 0.05, 0), 1),
    "8 CPUs, threads that sleep for a lock": (DOUBLING[:6], curve(DOUBLING[:6], 0.5, 0), 8),
    "8 CPUs, one lock around it all": (DOUBLING[:6], np.ones(6), 8),
    "8 CPUs, peak at 3, falling on": (DOUBLING[:6], curve(DOUBLING[:6], 0.1, 0.1), 8),
    "64 CPUs, peak at 20, falling on": (DOUBLING, curve(DOUBLING, 0.05, 2e-3), 64),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_curve_that_bends_elsewhere_is_fitted_whole(name):
    """Threads that wait take no CPU, so levels above the CPUs are as good as any."""
    levels, throughput, cpus = ELSEWHERE[name]
    for seed in range(20):
        found = judged(levels, throughput, cpus, seed)
        assert found.refused is None
        assert "fitted up to" not in found.sentence


@pytest.mark.parametrize("parameters", [(0.0, 0.0), (0.05, 0.0), (0.05, 2e-3)])
def test_with_six_levels_inside_the_cpus_the_others_are_left_out(parameters):
    """64 CPUs that add nothing beyond: the parameters are those of the server."""
    throughput = curve(np.minimum(DOUBLING, 64), *parameters)
    found = judged(DOUBLING, throughput, 64)
    assert found.refused is None
    assert found.sentence.endswith("fitted up to 64 threads, as more share the 64 CPUs")
    assert found.levels == DOUBLING
    assert len(found.curve) == len(found.measured) == len(DOUBLING)
    assert found.contention.value == pytest.approx(parameters[0], abs=0.01)
    assert found.coherency.value == pytest.approx(parameters[1], abs=2e-4)


def test_contention_inside_the_cpus_of_a_large_machine_is_not_refused():
    """64 CPUs, no level above them: nothing is shared, whatever the shape."""
    for parameters in [*CURVES.values(), (0.9, 0.01)]:
        assert judged(LEVELS, curve(LEVELS, *parameters), 64).refused is None


@pytest.mark.parametrize(
    ("blocks", "cpus", "text"),
    [
        ([{1: 1.0, 2: 2.0}, {1: 1.0, 4: 2.0}], 4, "block 1 has levels"),
        ([{1: 1.0, 2: -2.0}], 4, "positive"),
        ([{0: 1.0, 2: 2.0}], 4, "at least 1"),
        ([{1: 1.0, 2: 2.0}], 0, "at least one CPU"),
    ],
)
def test_broken_blocks_are_an_error_not_a_refusal(blocks, cpus, text):
    """Incomplete blocks are left out before they get here."""
    with pytest.raises(ValueError, match=text):
        scaling("s", blocks, cpus)


# two configurations


def both(seed, mine, theirs, blocks=8, levels=LEVELS, deviation=0.02):
    """Two configurations in the same blocks, compared."""
    rng = np.random.default_rng(seed)
    first, second = (
        noisy(rng, levels, curve(levels, *p), blocks, deviation) for p in (mine, theirs)
    )
    return compare("new", "old", first, second, cpus=64)


def test_less_contention_helps_and_more_hurts():
    """5 % against 7 %: the difference is found, up is better, coherency stays undecided."""
    less, same = both(11, (0.05, 2e-4), (0.07, 2e-4))
    assert (less.parameter, same.parameter) == PARAMETERS
    assert (less.word, same.word) == (Word.HELPS, Word.UNDECIDED)
    assert less.low < 0.02 < less.high
    assert less.low > 0
    assert "less contention than old" in less.reason
    assert (less.level, same.level) == (0.025, 0.05)
    more, _ = both(11, (0.07, 2e-4), (0.05, 2e-4))
    assert more.word is Word.HURTS
    assert more.estimate < 0


def test_less_coherency_cost_helps():
    """Also at a size of ten-thousandths."""
    contention, coherency = both(12, (0.05, 2e-4), (0.05, 5e-4))
    assert contention.word is Word.UNDECIDED
    assert coherency.word is Word.HELPS
    assert coherency.low < 3e-4 < coherency.high


def test_differences_are_seen_as_often_as_they_should_be():
    """One point of contention at 2 % noise and 8 blocks: in nine studies of ten at least."""
    found = [both((13, k), (0.05, 2e-4), (0.06, 2e-4))[0].word for k in range(60)]
    assert found.count(Word.HELPS) >= 54
    assert Word.HURTS not in found


@pytest.mark.parametrize(
    ("levels", "parameters", "cpus"),
    [(LEVELS, (0.05, 2e-4), 64), ((*EIGHT, 10, 12), (0.2, 0.01), 8)],
    ids=["inside the CPUs", "where now these and now those levels are left out"],
)
def test_equal_configurations_are_rarely_told_apart(levels, parameters, cpus):
    """Either parameter, 400 studies: at most what 5 % allows, also with drift inside blocks."""
    found = 0
    for seed in range(STUDIES):
        rng = np.random.default_rng((14, seed))
        blocks = ([], [])
        for _ in range(8):
            walk = np.cumsum(rng.normal(0, 0.01, 2 * len(levels)))
            runs = rng.permutation(walk) + rng.normal(0, 0.02, len(walk))
            for config, noise in zip(blocks, np.split(runs, 2), strict=True):
                values = curve(levels, *parameters) * np.exp(noise)
                config.append(dict(zip(levels, values.tolist(), strict=True)))
        words = [c.word for c in compare("a", "b", *blocks, cpus)]
        found += any(word is not Word.UNDECIDED for word in words)
    assert found <= binom.ppf(0.999, STUDIES, 0.05)


def test_exchanging_the_names_in_a_block_turns_its_differences_around(monkeypatch):
    """The symmetry the test rests on: exact, block by block, whatever the noise."""
    seen = []

    class Kept(SignedRank):
        def __init__(self, values):
            super().__init__(values := list(values))
            seen.append(values)

    monkeypatch.setattr("assay.stats.usl_comparison.SignedRank", Kept)
    rng = np.random.default_rng(15)
    mine, theirs = (noisy(rng, LEVELS, curve(LEVELS, s, 1e-3)) for s in (0.05, 0.3))
    compare("a", "b", mine, theirs, 64)
    mine[2], theirs[2] = theirs[2], mine[2]
    compare("a", "b", mine, theirs, 64)
    for before, after in zip(seen[:2], seen[2:], strict=True):
        assert after[2] == pytest.approx(-before[2], rel=1e-9)
        assert after[:2] + after[3:] == pytest.approx(before[:2] + before[3:], rel=1e-9)


def test_a_configuration_against_itself_is_exactly_zero():
    """The same runs under two names."""
    blocks = noisy(np.random.default_rng(16), LEVELS, curve(LEVELS, 0.05, 1e-3))
    for compared in compare("a", "b", blocks, blocks, 64):
        assert (compared.estimate, compared.low, compared.high) == (0.0, 0.0, 0.0)
        assert compared.word is Word.UNDECIDED


def test_rounding_leaves_coherency_alone_up_to_a_thousand_threads():
    """1e-12 is less than a thousandth of the noise of kappa at 1024 threads and 1 %."""
    levels = tuple(2**k for k in range(11))
    rng = np.random.default_rng(17)
    truth = curve(levels, 0.01, 1e-7)
    found = [
        fit(levels, list(block.values())).coherency for block in noisy(rng, levels, truth, 50, 0.01)
    ]
    assert 1e-3 * np.std(found) > 10.0**-DECIMALS


def test_six_blocks_cannot_decide_two_questions():
    """Half of 5 % each needs seven; the reason says so and the ends are open."""
    for compared in both(18, (0.05, 2e-4), (0.3, 2e-2), blocks=6):
        assert compared.word is Word.UNDECIDED
        assert compared.low is compared.high is None
        assert "6 blocks cannot decide, whatever they show: 7 is the least" in compared.reason
    assert all(c.word is Word.HELPS for c in both(18, (0.05, 2e-4), (0.3, 2e-2), blocks=7))


def test_a_refused_configuration_leaves_both_parameters_undecided():
    """Whichever of the two it is, with its reason."""
    rng = np.random.default_rng(19)
    waits = noisy(rng, EIGHT, curve(EIGHT, 0.05, 0))
    full = noisy(rng, EIGHT, np.minimum(EIGHT, 2))
    for mine, theirs, name in ((waits, full, "b"), (full, waits, "a")):
        found = compare("a", "b", mine, theirs, cpus=2)
        assert [c.parameter for c in found] == list(PARAMETERS)
        for compared in found:
            assert compared.word is Word.UNDECIDED
            assert compared.estimate is compared.low is compared.high is None
            assert compared.reason.startswith(f"{name} refused: the curve bends where threads")


def test_both_configurations_are_fitted_on_the_same_levels():
    """One of them leaves out what lies above the CPUs, so the other does too."""
    rng = np.random.default_rng(20)
    falling = noisy(rng, DOUBLING, curve(DOUBLING, 0.05, 2e-3))
    flat = noisy(rng, DOUBLING, curve(np.minimum(DOUBLING, 64), 0.05, 0))
    for compared in compare("a", "b", falling, flat, cpus=64):
        assert "8 blocks up to 64 threads" in compared.reason
    for compared in compare("a", "b", falling, falling, cpus=64):
        assert "8 blocks up to 128 threads" in compared.reason


def test_blocks_that_do_not_pair_are_an_error():
    """Another number of blocks, other levels."""
    blocks = noisy(np.random.default_rng(21), LEVELS, curve(LEVELS, 0.05, 1e-3))
    with pytest.raises(ValueError, match="a has 8 blocks, b has 7"):
        compare("a", "b", blocks, blocks[1:], 64)
    shorter = [{n: x for n, x in block.items() if n < 64} for block in blocks]
    with pytest.raises(ValueError, match="different levels"):
        compare("a", "b", blocks, shorter, 64)


def test_holm_tests_the_second_question_at_the_whole_error_only_after_the_first():
    """Seven blocks reject at 1.6 %: within a half of 5 %. Noise of mixed sign never does."""
    clear, mixed = SignedRank(range(1, 8)), SignedRank([-1, 2, -3, 4, -5, 6, -7])
    assert holm({"x": clear, "y": mixed}, 0.05) == {"x": 0.025, "y": 0.05}
    assert holm({"x": mixed, "y": mixed}, 0.05) == {"x": 0.025, "y": 0.025}
    assert holm({"x": clear, "y": clear}, 0.05) == {"x": 0.025, "y": 0.025}


def test_nothing_here_needs_the_slow_parts_of_scipy():
    """`scipy.stats` and `scipy.optimize` would be felt in every command."""
    assert not {"stats", "optimize"} & set(vars(usl))
    code = Path(usl.__file__).read_text()
    assert "scipy.stats" not in code
    assert "scipy.optimize" not in code
