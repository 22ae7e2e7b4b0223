"""The set of arms that may be the best: who leaves, when, and what is promised to the best."""

import itertools
import json
import math

import numpy as np
import pytest
import race
from scipy.stats import binom, wilcoxon

from assay.stats.boundary import looks, once, schedule
from assay.stats.selection import best_set, pareto, settled, sweet_spot
from assay.stats.signed_rank import SignedRank

ALPHA = 0.05
ARMS = ("baseline", "a", "b", "c")


def table_of(arms, values):
    """Values, blocks by arms, as a table; NaN is a missing run."""
    return {
        block: {arm: float(y) for arm, y in zip(arms, row, strict=True) if not math.isnan(y)}
        for block, row in enumerate(values)
    }


def noisy(effects, blocks, seed, deviation=0.02):
    """A table of normal noise around an effect per arm."""
    shape = (blocks, len(effects))
    luck = np.random.default_rng(seed).normal(0, deviation, shape)
    return table_of(effects, luck + np.array(list(effects.values())))


def found(table, arms=ARMS, planned=30, done=None, alpha=ALPHA):
    """The set of a study of `planned` blocks, at its end unless `done` says otherwise."""
    done = planned if done is None else done
    return best_set(table, arms, schedule(planned, alpha), alpha, done)


def over(table, arms=ARMS, planned=30, done=None, margin=0.02):
    """Whether the race is over, and why."""
    done = planned if done is None else done
    ended, reason = settled(table, arms, schedule(planned, ALPHA), ALPHA, done, margin)
    return ended, reason.text


SPREAD = {"baseline": 0.0, "a": 0.10, "b": 0.05, "c": -0.05}


# who leaves


def test_an_arm_that_another_beats_is_out_and_says_by_whom():
    """The clear winner is alone, and each of the others has a positive bound against it."""
    best = found(noisy(SPREAD, 30, 1))
    assert best.inside == ("a",)
    assert {arm: beaten.by for arm, beaten in best.out.items()} == dict.fromkeys(
        SPREAD.keys() - {"a"}, "a"
    )
    assert 0 < best.out["b"].low < math.expm1(0.05)
    place = "(look 12 of 12, 30 blocks)"
    assert best.reason.text == f"a is the best of 4 arms, with 95 % confidence {place}"
    assert best.level == pytest.approx(ALPHA / 3)


def test_arms_that_are_equal_all_stay():
    """Nothing to choose: each of them may be the best."""
    best = found(noisy(dict.fromkeys(ARMS, 0.0), 30, 1))
    assert best.inside == tuple(sorted(ARMS))
    assert best.out == {}
    assert best.reason.text == "each of 4 arms may be the best (look 12 of 12, 30 blocks)"


def test_two_equal_bests_stay_together():
    """The others leave, and the sentence names both."""
    best = found(noisy({**SPREAD, "b": 0.10}, 30, 3))
    assert best.inside == ("a", "b")
    assert best.reason.text.startswith("one of a, b is the best of 4 arms, with 95 % confidence")


def test_before_the_first_look_nobody_leaves():
    """Seven overwhelming blocks are still seven blocks."""
    best = found(noisy(SPREAD, 30, 1, deviation=1e-4), done=7)
    assert (best.inside, best.looks) == (tuple(sorted(ARMS)), 0)
    assert best.reason.text == "no arm leaves before block 8"


def test_the_bound_is_the_one_sided_repeated_one():
    """low is the lower end at the look's nominal level for twice alpha over the rivals."""
    plan = schedule(30, ALPHA)
    table = noisy(SPREAD, 30, 1)
    beaten = found(table).out["c"]
    level = plan.levels(2 * ALPHA / 3)[plan.looks.index(beaten.blocks)]
    ahead = [table[block]["a"] - table[block]["c"] for block in range(beaten.blocks)]
    assert beaten.low == math.expm1(SignedRank(ahead).interval(level)[0])


def test_the_first_looks_are_too_small_for_many_arms_and_say_so():
    """With 32 arms eight blocks cannot rule anybody out, however far apart they are."""
    effects = {f"arm {k}": 0.1 * k for k in range(32)}
    table = noisy(effects, 12, 1)
    best = found(table, list(effects), planned=12, done=8)
    assert len(best.inside) == 32
    assert best.reason.text == "8 blocks cannot tell 32 arms apart, whatever they show"
    assert found(table, list(effects), planned=12).inside == ("arm 31",)


def test_long_lists_are_cut_short():
    """A sentence spells out eight arms and counts the rest."""
    effects = {f"arm {k:02d}": 0.0 for k in range(12)} | {"slow": -0.2}
    best = found(noisy(effects, 12, 2), list(effects), planned=12)
    assert "arm 07 and 4 more is the best of 13 arms" in best.reason.text


def test_out_is_out_for_good():
    """Whatever the blocks after its look say, an arm does not return and beats nobody."""
    table = noisy(SPREAD, 30, 1, deviation=0.005)
    early = found(table, done=10)
    assert "c" in early.out
    turned = {b: row if b < 10 else {**row, "c": 9.0} for b, row in table.items()}
    assert found(turned) == found(table)


def test_an_arm_that_is_beaten_still_beats_others_at_that_look():
    """b lacks every run that c has of a's: only b can beat c, at the look where a beats b."""
    values = [[0.2 + 0.001 * k, 0.1 - 0.001 * k, 0.0 + 0.002 * k] for k in range(8)]
    arms = ("a", "b", "c")
    table = table_of(arms, values)
    apart = {b: {"a": row["a"], "b": row["b"]} for b, row in table.items()}
    apart |= {b + 8: {"b": row["b"], "c": row["c"]} for b, row in table.items()}
    best = best_set(apart, arms, once(16), ALPHA, 16)
    assert best.inside == ("a",)
    assert (best.out["b"].by, best.out["c"].by) == ("a", "b")


def test_a_circle_of_arms_keeps_them_all():
    """Three arms that each beat the next on blocks of their own: nothing is concluded."""
    table = {}
    for k, (winner, loser) in enumerate((("a", "b"), ("b", "c"), ("c", "a"))):
        for block in range(10):
            table[10 * k + block] = {winner: 0.1 + 0.001 * block, loser: 0.0}
    best = best_set(table, ("a", "b", "c"), once(30), ALPHA, 30)
    assert best.inside == ("a", "b", "c")
    assert "a" in best_set(table, ("a", "b"), once(30), ALPHA, 30).inside


def test_missing_runs_are_missing_and_no_more():
    """A pair is judged on the blocks that have both; an arm without runs stays."""
    table = noisy(SPREAD, 30, 1)
    for block in (0, 3):
        del table[block]["c"]
    table = {b: {arm: y for arm, y in row.items() if arm != "b"} for b, row in table.items()}
    best = found(table)
    assert best.inside == ("a", "b")
    assert best.out["c"].blocks in {look - 2 for look in looks(30, ALPHA)}


def test_one_arm_is_the_best_of_itself():
    """No rival, nothing to compare."""
    best = found({0: {"a": 0.0}}, ("a",), done=1)
    assert (best.inside, best.reason.text) == (("a",), "a is the only arm")


@pytest.mark.parametrize("arms", [(), ("a", "a")])
def test_a_race_without_arms_or_with_twins_is_refused(arms):
    """Each arm once, at least one."""
    with pytest.raises(ValueError, match="at least one arm"):
        found({}, arms)


def test_values_and_alpha_without_sense_are_refused():
    """Infinity is no logarithm of a measurement."""
    with pytest.raises(ValueError, match="block 2: a value must be finite"):
        found({2: {"a": math.inf}}, ("a", "b"))
    with pytest.raises(ValueError, match="alpha must lie between"):
        best_set({}, ("a", "b"), once(8), 0.5, 8)


# the slow twin


def twin(table, arms, planned, alpha, beats):
    """The definition, word by word: every look, every ordered pair, one test each."""
    plan = schedule(planned, alpha)
    levels = plan.levels(2 * alpha / (len(arms) - 1))
    inside, history = set(arms), []
    for look, level in zip(plan.looks, levels, strict=True):
        beaten = set()
        for j, i in itertools.permutations(inside, 2):
            rows = [table[b] for b in range(look) if b in table]
            ahead = [row[j] - row[i] for row in rows if i in row and j in row]
            if ahead and beats(ahead, level):
                beaten.add(i)
        if beaten != inside:
            inside -= beaten
        history.append(tuple(sorted(inside)))
    return history


def scipy_beats(ahead, level):
    """One-sided exact signed-rank test; on untied data it agrees with the interval."""
    return wilcoxon(ahead, alternative="greater", method="exact").pvalue <= level / 2


def interval_beats(ahead, level):
    """The lower end of the interval is above zero."""
    return SignedRank(ahead).interval(level)[0] > 0


def random_study(seed, digits=None):
    """A table of 2 to 6 arms with missing runs; rounded coarsely where `digits` says so."""
    rng = np.random.default_rng((31, seed))
    arms = [f"arm {k}" for k in range(rng.integers(2, 7))]
    planned = int(rng.integers(8, 25))
    effects = rng.normal(0, 0.03, len(arms))
    values = effects + rng.normal(0, 0.02, (planned, len(arms)))
    values[rng.random(values.shape) < 0.08] = np.nan
    return table_of(arms, values if digits is None else np.round(values, digits)), arms, planned


@pytest.mark.parametrize(
    ("beats", "digits", "studies"), [(scipy_beats, None, 12), (interval_beats, 2, 60)]
)
def test_the_fast_way_agrees_with_the_slow_twin_at_every_look(beats, digits, studies):
    """Random studies with missing runs, untied against scipy and tied against the interval."""
    left = 0
    for seed in range(studies):
        table, arms, planned = random_study(seed, digits)
        slow = twin(table, arms, planned, ALPHA, beats)
        fast = [found(table, arms, planned, look).inside for look in looks(planned, ALPHA)]
        assert fast == slow, f"seed {seed}"
        left += len(arms) - len(slow[-1])
    assert left > studies / 2  # a twin that never lets go shows nothing


# properties


@pytest.mark.parametrize("seed", range(20))
def test_order_of_arms_and_unit_of_the_metric_are_of_no_account(seed):
    """Arms reversed, blocks reversed, metric times 1000, baseline twice as fast: same answer."""
    table, arms, planned = random_study(seed)
    best = found(table, arms, planned)
    assert found(table, arms[::-1], planned) == best
    backwards = {b: dict(reversed(row.items())) for b, row in reversed(table.items())}
    assert found(backwards, arms, planned) == best
    scaled = {b: {a: y + math.log(1000) for a, y in row.items()} for b, row in table.items()}
    other = found(scaled, arms, planned)
    assert (other.inside, other.reason.text) == (best.inside, best.reason.text)
    for arm, beaten in best.out.items():
        assert other.out[arm].by == beaten.by
        assert other.out[arm].low == pytest.approx(beaten.low, abs=1e-11)


@pytest.mark.parametrize("seed", range(20))
def test_asking_on_the_way_gives_what_asking_at_the_end_gives(seed):
    """The set only shrinks, between looks it stays, and what was said of an arm remains."""
    table, arms, planned = random_study(seed)
    end, before = found(table, arms, planned), set(arms)
    for done in range(1, planned + 1):
        so_far = {b: row for b, row in table.items() if b < done}
        best = found(so_far, arms, planned, done)
        assert set(best.inside) <= before
        assert best == found(table, arms, planned, done)
        assert all(end.out[arm] == beaten for arm, beaten in best.out.items())
        assert set(best.inside) | set(best.out) == set(arms)
        before = set(best.inside)


def test_it_does_not_matter_whether_arms_that_are_out_go_on_running():
    """A race, where they stop, and a full study come to the same set."""
    table = noisy(SPREAD, 30, 1)
    live, raced = frozenset(ARMS), {}
    for block in range(30):
        raced[block] = {arm: y for arm, y in table[block].items() if arm in live}
        live = {*found(raced, done=block + 1).inside, "baseline"}
    assert found(raced) == found(table)
    assert live == {"a", "baseline"}
    assert "baseline" in raced[29]
    assert "c" not in raced[29]


# when a race is over


def test_a_race_is_over_when_one_arm_is_left():
    """At the look where the second last goes, and for good."""
    table = noisy(SPREAD, 30, 1)
    first = next(done for done in range(1, 31) if over(table, done=done)[0])
    assert first < 30
    assert len(found(table, done=first).inside) == 1
    assert over(table, done=first) == over(table)
    assert over(table)[1].startswith("only a is left (look ")


def test_a_race_is_over_when_the_rest_cannot_be_told_apart():
    """Two arms within the margin of each other, the others gone."""
    table = noisy({**SPREAD, "b": 0.10}, 30, 3, deviation=0.01)
    over_at = next(done for done in range(1, 31) if over(table, done=done)[0])
    assert over_at < 30
    assert "a, b: every two lie within 2 % of each other (look " in over(table, done=over_at)[1]
    assert not over(table, done=over_at, margin=0.0001)[0]


def test_equal_is_shown_at_5_percent_per_side():
    """With two arms: the first look whose repeated interval at 10 % lies within the margin."""
    plan = schedule(30, ALPHA)
    levels = plan.levels(0.10)
    early = 0
    for seed in range(20):
        table = noisy({"a": 0.0, "b": 0.0}, 30, seed)
        ahead = [row["b"] - row["a"] for row in table.values()]
        inside = (
            look
            for look, level in zip(plan.looks, levels, strict=True)
            if max(map(abs, SignedRank(ahead[:look]).interval(level))) < math.log1p(0.02)
        )
        if len(found(table, ("a", "b")).inside) == 2:
            over_at = next(n for n in range(1, 31) if over(table, ("a", "b"), done=n)[0])
            assert over_at == next(inside, 30)
            early += over_at < 30
    assert early > 5


def test_arms_that_are_only_not_told_apart_go_on_to_the_planned_end():
    """Wide noise is no equality; at the end the race says what is open."""
    table = noisy(dict.fromkeys(ARMS, 0.0), 30, 1, deviation=0.10)
    assert over(table, done=29) == (False, "4 of 4 arms may be the best")
    assert over(table) == (True, "the planned 30 blocks are done; 4 of 4 arms may be the best")


def test_arms_that_never_met_are_not_equal():
    """Without a common block nothing is shown."""
    table = {block: {"ab"[block % 2]: 0.0} for block in range(30)}
    assert over(table, ("a", "b"), done=29) == (False, "2 of 2 arms may be the best")


# effort

EFFORTS = {"baseline": None, "flag": "A", "hint": "A", "pages": "B", "rewrite": "E"}


def test_the_sweet_spot_is_the_cheapest_arm_of_the_set():
    """Effort first, then the larger lower bound, an unbounded one last, then the name."""
    lows = {"baseline": 0.0, "flag": 0.02, "hint": 0.03, "pages": 0.05, "rewrite": 0.09}
    assert sweet_spot(("rewrite", "pages"), EFFORTS, lows) == "pages"
    assert sweet_spot(("flag", "hint", "rewrite"), EFFORTS, lows) == "hint"
    assert sweet_spot(("flag", "hint"), EFFORTS, {**lows, "hint": None}) == "flag"
    assert sweet_spot(("hint", "flag"), EFFORTS, {"flag": 0.02, "hint": 0.02}) == "flag"
    assert sweet_spot(("flag", "hint"), EFFORTS, {}) == "flag"


def test_doing_nothing_is_the_sweet_spot_while_it_may_be_the_best():
    """The baseline costs less than effort A."""
    assert sweet_spot(("flag", "baseline"), EFFORTS, {"flag": 0.02}) == "baseline"
    assert sweet_spot((), EFFORTS, {}) is None


def test_the_pareto_front_starts_at_nothing_and_climbs():
    """Each further effort on it buys a larger lower bound."""
    lows = {"flag": 0.02, "hint": 0.03, "pages": 0.01, "rewrite": 0.09}
    assert pareto(EFFORTS, lows) == ("baseline", "hint", "rewrite")


def test_nothing_unproven_is_on_the_front():
    """No bound, zero, or below: not an option, whatever it costs."""
    lows = {"flag": None, "hint": 0.0, "pages": -0.01}
    assert pareto(EFFORTS, lows) == ("baseline",)
    assert pareto({"flag": "A"}, {"flag": None}) == ()


def test_equals_share_the_front():
    """Neither dominates the other."""
    assert pareto(EFFORTS, {"hint": 0.02, "flag": 0.02}) == ("baseline", "flag", "hint")


# the promise


def test_a_given_best_is_lost_in_at_most_5_percent():
    """600 races of two equal arms, one rival having all of alpha; and 300 of six."""
    for count, studies in ((2, 600), (6, 300)):
        arms = [f"arm {k}" for k in range(count)]
        lost = 0
        for seed in range(studies):
            best = found(noisy(dict.fromkeys(arms, 0.0), 30, (32, seed)), arms)
            lost += "arm 0" in best.out
        assert 0 < lost <= int(binom.ppf(0.999, studies, ALPHA))


# the benchmark


def test_the_benchmark_runs_and_speaks_the_agreed_json(capsys):
    """--quick --json prints one object with the fields of every benchmark."""
    assert race.main(["--quick", "--json"]) == 0
    found_json = json.loads(capsys.readouterr().out)
    assert (set(found_json), found_json["name"]) == ({"name", "host", "rows"}, "race")
    fields = {
        "metric", "rival", "unit", "ours", "theirs", "ratio", "low", "high", "goal", "met",
    }  # fmt: skip
    assert all(set(row) == fields for row in found_json["rows"])
    assert "one given best lost, 2 equal arms" in race.table_text(
        [race.Row(**found_json["rows"][0])]
    )
