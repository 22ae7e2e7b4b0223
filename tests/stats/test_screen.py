"""The screen: estimates against least squares, error rates under drift, and what it hands on."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from assay.stats import interaction, main_effect, series, simple_effect
from assay.stats.fractions import fraction
from assay.stats.screen import screen, shortlist

# Log effects of an ASE-like server: SNAP alone helps a little, on top of TSX it hurts.
SERVER = {
    "base": 0.0,
    "TSX": 0.08,
    "SNAP": 0.01,
    "LLDC": 0.05,
    "TSX+SNAP": 0.03,
    "TSX+LLDC": 0.12,
    "SNAP+LLDC": 0.08,
    "TSX+SNAP+LLDC": 0.14,
}
SERVER_ABC = {
    arm.replace("TSX", "A").replace("SNAP", "B").replace("LLDC", "C"): value
    for arm, value in SERVER.items()
}


def cells(factors, size=None):
    """The cells of a design: arm -> {factor: level}."""
    factors = list(factors)
    runs = fraction(factors, size).runs
    return {
        "+".join(itertools.compress(factors, run)) or "base": dict(zip(factors, run, strict=True))
        for run in runs
    }


def requiring(dependent, required, legal):
    """The cells that are left when `dependent` may only be on where `required` is."""
    return {arm: cell for arm, cell in legal.items() if cell[required] or not cell[dependent]}


def blocks(truth, count, deviation, seed):
    """Blocks of runs: the truth, a level that each block shares, and noise."""
    rng = np.random.default_rng(seed)
    return [
        {arm: value + level + rng.normal(0, deviation) for arm, value in truth.items()}
        for level in rng.normal(0, 0.2, count)
    ]


def additive(factors, sizes, legal):
    """A truth in which some factors add their log effect and nothing interacts."""
    return {
        arm: sum(sizes.get(factor, 0.0) * cell[factor] for factor in factors)
        for arm, cell in legal.items()
    }


def texts(reasons):
    """Each reason as a sentence."""
    return {name: reason.text for name, reason in reasons.items()}


def by_name(found):
    """The effects of a screen, by name."""
    return {effect.name: effect for effect in found.effects}


def least_squares(legal, table, names):
    """The same answer the long way: arms and blocks as dummies. (estimate, error, df, sd)."""
    arms = list(legal)
    rows = [(b, arm) for b, row in enumerate(table) for arm in row]
    design = np.zeros((len(rows), len(arms) + len(table)))
    for k, (b, arm) in enumerate(rows):
        design[k, arms.index(arm)] = design[k, len(arms) + b] = 1
    observed = np.array([table[b][arm] for b, arm in rows])
    solved, _, rank, _ = np.linalg.lstsq(design, observed)
    free = len(rows) - rank
    variance = float(np.sum((observed - design @ solved) ** 2)) / free
    spread = np.linalg.pinv(design.T @ design)
    found = {}
    for name in names:
        of = name.split(":")
        contrast = main_effect(name, legal) if len(of) == 1 else interaction(*of, legal)
        weights = np.array([contrast.weights.get(arm, 0.0) for arm in arms] + [0.0] * len(table))
        found[name] = (weights @ solved, math.sqrt(variance * weights @ spread @ weights))
    return found, free, math.sqrt(variance)


def agree(legal, table):
    """Every effect of the screen is what least squares gives, and so are its p and interval."""
    screened = screen(legal, table)
    effects = by_name(screened)
    found, free, deviation = least_squares(legal, table, effects)
    assert screened.free == free
    assert screened.noise == pytest.approx(math.expm1(deviation))
    for name, (size, error) in found.items():
        effect = effects[name]
        reach = stats.t.isf(effect.level / 2, free) * error
        assert math.log1p(effect.estimate) == pytest.approx(size, abs=1e-10)
        assert math.log1p(effect.low) == pytest.approx(size - reach, abs=1e-10)
        assert math.log1p(effect.high) == pytest.approx(size + reach, abs=1e-10)
        assert effect.p == pytest.approx(2 * stats.t.sf(abs(size) / error, free), abs=1e-10)


def test_a_balanced_screen_is_least_squares_with_blocks():
    """Arms and blocks as dummies give the same estimates, noise, p values and intervals."""
    agree(cells("ABC"), blocks(SERVER_ABC, 4, 0.02, 1))


def test_a_run_that_is_missing_costs_that_run_and_not_its_block():
    """Least squares over what is there; an arm that is no cell is passed over."""
    table = blocks(SERVER_ABC, 4, 0.02, 2)
    del table[0]["A+B"], table[2]["base"], table[2]["C"]
    agree(cells("ABC"), table)
    watched = [{**row, "aa-control": 9.0} for row in table]
    assert screen(cells("ABC"), watched) == screen(cells("ABC"), table)
    assert screen(cells("ABC"), table).sentence.endswith("3 of 32 runs are missing")


def test_a_screen_with_illegal_cells_is_least_squares_too():
    """The contrasts are over matched cells."""
    legal = requiring("B", "A", cells("ABC"))
    agree(legal, blocks({arm: SERVER_ABC[arm] for arm in legal}, 3, 0.02, 3))


def test_the_textbook_formulas_hold_in_the_full_factorial():
    """Error 4 s^2/(cells blocks), (cells-1)(blocks-1) degrees of freedom."""
    table = blocks(SERVER_ABC, 3, 0.02, 4)
    found = screen(cells("ABC"), table)
    grid = np.array([list(row.values()) for row in table])
    residual = grid - grid.mean(1, keepdims=True) - grid.mean(0) + grid.mean()
    error = math.sqrt(4 * (residual**2).sum() / 14 / 24)
    assert found.free == 14
    for effect in found.effects:
        size = math.log1p(effect.estimate)
        assert effect.p == pytest.approx(2 * stats.t.sf(abs(size) / error, 14), abs=1e-10)


def test_the_screen_estimates_what_a_study_confirms():
    """The mean over blocks of the very contrast."""
    legal = requiring("SNAP", "TSX", cells(("TSX", "SNAP", "LLDC")))
    table = blocks({arm: SERVER[arm] for arm in legal}, 4, 0.02, 5)
    found = by_name(screen(legal, table))
    numbered = dict(enumerate(table))
    for contrast in (main_effect("SNAP", legal), interaction("TSX", "LLDC", legal)):
        mean = np.mean([value for _, value in series(contrast, numbered)])
        assert math.log1p(found[contrast.name].estimate) == pytest.approx(mean, abs=1e-10)


def test_averaged_and_simple_effects_of_an_ase_like_server():
    """SNAP helps on average and hurts on top of TSX; all three together are the best."""
    legal = cells(("TSX", "SNAP", "LLDC"))
    found = screen(legal, blocks(SERVER, 4, 0.003, 6))
    effects = by_name(found)
    assert effects["TSX"].suggests
    assert effects["TSX:SNAP"].suggests
    assert effects["SNAP"].estimate > 0 > effects["TSX:SNAP"].estimate
    simple = simple_effect("SNAP", {"TSX": 1, "LLDC": 0}, legal)
    assert series(simple, {0: SERVER})[0][1] == pytest.approx(-0.05)
    assert found.predicted["TSX+SNAP"] < found.predicted["TSX"]
    assert found.predicted["TSX+SNAP+LLDC"] == pytest.approx(math.expm1(0.14), abs=0.02)
    handed_on = shortlist(found, legal)
    assert handed_on[0] == "TSX+SNAP+LLDC"
    assert {"TSX+LLDC", "SNAP+LLDC", "TSX+SNAP"} < set(handed_on)


@pytest.mark.parametrize("kind", ["calm", "strong"])
def test_effects_that_are_not_there_are_rarely_suggested(benchmark_verdict, kind):
    """Random order in blocks: 5 % per effect, and at most 6 % of studies suggest anything."""
    legal = cells("ABC")
    arms, count, studies = list(legal), 4, 500
    small, alarms = 0, 0
    for seed in range(studies):
        rng = np.random.default_rng((23, seed))
        runs = benchmark_verdict.machine(rng, benchmark_verdict.NOISES[kind], 0.02, 8 * count)
        table = [
            dict(zip(rng.permutation(arms).tolist(), runs[8 * b : 8 * b + 8], strict=True))
            for b in range(count)
        ]
        effects = screen(legal, table).effects
        small += sum(effect.p <= 0.05 for effect in effects)
        alarms += any(effect.suggests for effect in effects)
    assert 0.04 <= small / (6 * studies) <= 0.06
    assert alarms <= 0.06 * studies


def test_an_interval_excludes_zero_exactly_when_the_effect_suggests():
    """Holm's steps: the k-th smallest p at alpha over what is left, the rest where it stopped."""
    for seed in range(20):
        found = screen(cells("ABC"), blocks(SERVER_ABC, 3, 0.03, (7, seed)))
        ordered = sorted(found.effects, key=lambda effect: effect.p)
        rejected = [effect.suggests for effect in ordered]
        assert rejected == sorted(rejected, reverse=True)
        for left, effect in zip(range(6, 0, -1), ordered, strict=True):
            assert effect.suggests == (effect.low > 0 or effect.high < 0)
            stopped = 6 - sum(rejected)
            assert effect.level == pytest.approx(0.05 / (left if effect.suggests else stopped))


def test_an_effect_that_needs_another_factor_says_so():
    """HCB requires IMRS: the one is known with the other on, the other with the one off."""
    factors = ("IMRS", "HCB", "TSX")
    legal = requiring("HCB", "IMRS", cells(factors))
    truth = additive(factors, {"IMRS": 0.03, "HCB": 0.04}, legal)
    found = screen(legal, blocks(truth, 4, 0.002, 8))
    effects = by_name(found)
    assert effects["HCB"].given == "IMRS"
    assert effects["IMRS"].given == "HCB off"
    assert effects["TSX"].given == ""
    assert effects["HCB:TSX"].given == "IMRS"
    assert texts(found.unestimable) == {"IMRS:HCB": "no cell was run with HCB but without IMRS"}
    assert effects["HCB"].estimate == pytest.approx(math.expm1(0.04), abs=0.004)
    assert found.predicted["IMRS+HCB"] == pytest.approx(math.expm1(0.07), abs=0.006)
    assert "HCB +4" in found.sentence
    assert "given IMRS" in found.sentence


def test_an_arm_that_never_ran_is_as_if_it_were_illegal():
    """Its pairs are missing, and the effect says under which condition it is known."""
    legal = cells("AB")
    table = blocks({arm: 0.1 * cell["A"] for arm, cell in legal.items()}, 4, 0.01, 9)
    found = screen(legal, [{arm: row[arm] for arm in row if arm != "A+B"} for row in table])
    assert by_name(found)["A"].given == "B off"
    assert texts(found.unestimable) == {"A:B": "no cell was run with A and B"}
    assert set(found.predicted) == set(legal)


def test_a_fraction_is_read_through_its_columns():
    """Column / cells * 2, as good as if all cells had been run; and no other cell is unknown."""
    factors = "ABCDE"
    legal, run = cells(factors, 32), cells(factors, 16)
    truth = additive(factors, {"A": 0.05, "D": -0.03}, run)
    table = blocks(truth, 4, 0.004, 10)
    found = screen(run, table, legal=legal)
    means = {arm: np.mean([row[arm] for row in table]) for arm in run}
    for effect in found.effects:
        of = effect.name.split(":")
        signs = {arm: math.prod(2 * cell[f] - 1 for f in of) for arm, cell in run.items()}
        expected = sum(signs[arm] * means[arm] for arm in run) / 16 * 2
        assert math.log1p(effect.estimate) == pytest.approx(expected, abs=1e-10)
    assert [effect.name for effect in found.effects if effect.suggests] == ["A", "D"]
    assert (len(found.effects), found.unestimable) == (15, {})
    assert found.free == 45
    assert set(found.predicted) == set(legal)
    assert found.predicted["A+B"] == pytest.approx(math.expm1(0.05), abs=0.005)


def test_effects_of_one_column_are_one_row():
    """Six factors in sixteen cells: six main effects and seven chains of interactions."""
    found = screen(cells("ABCDEF", 16), blocks(dict.fromkeys(cells("ABCDEF", 16), 0.0), 3, 0.01, 1))
    assert [e.name for e in found.effects][:6] == list("ABCDEF")
    chains = [(e.name, *e.aliases) for e in found.effects if e.aliases]
    assert chains == list(fraction("ABCDEF", 16).aliases)
    assert len(found.effects) == 13


def test_a_fraction_with_illegal_cells_estimates_what_it_still_can():
    """32 cells of six factors, a quarter of them illegal: conditions come from what is legal."""
    legal = requiring("B", "A", cells("ABCDEF", 64))
    run = requiring("B", "A", cells("ABCDEF", 32))
    truth = additive("ABCDEF", {"A": 0.03, "B": 0.04, "C": 0.02}, run)
    found = screen(run, blocks(truth, 4, 0.001, 11), legal=legal)
    effects = by_name(found)
    assert (effects["A"].given, effects["B"].given, effects["C"].given) == ("B off", "A", "")
    assert texts(found.unestimable) == {"A:B": "no cell was run with B but without A"}
    assert [name for name, effect in effects.items() if effect.suggests] == ["A", "B", "C"]
    assert effects["B"].estimate == pytest.approx(math.expm1(0.04), abs=0.002)


def test_a_fraction_with_too_few_cells_left_says_what_it_cannot_know():
    """Sixteen of five factors leave nothing over: without a cell every effect is tied."""
    run = cells("ABCDE", 16)
    del run["A+B+C+D"]
    found = screen(run, blocks(dict.fromkeys(run, 0.0), 3, 0.01, 12))
    assert found.effects == ()
    (why,) = set(texts(found.unestimable).values())
    assert why == "the cells that were run tie it to other effects"
    assert found.sentence == "these cells can estimate no effect"


def test_an_interaction_brings_its_main_effects_into_the_prediction():
    """Heredity: A:B alone would predict that each factor alone costs what both bring."""
    legal = cells("AB")
    truth = {"base": 0.0, "A": 0.0, "B": 0.0, "A+B": 0.06}
    found = screen(legal, blocks(truth, 4, 0.0005, 13))
    assert found.predicted["A"] == pytest.approx(0, abs=0.002)
    assert found.predicted["A+B"] == pytest.approx(math.expm1(0.06), abs=0.002)


def test_without_any_suggestion_nothing_is_predicted_and_the_sentence_says_what_it_would_take():
    """The list of cells to confirm still follows what was measured."""
    legal = cells("AB")
    found = screen(legal, blocks(dict.fromkeys(legal, 0.0), 4, 0.02, 14))
    assert set(found.predicted.values()) == {0.0}
    assert found.sentence.startswith("no effect stands out from")
    assert all(found.promise[arm] > 0 for arm in shortlist(found, legal)[:1])


def test_the_shortlist_is_the_best_and_the_neighbours_of_the_first():
    """Four by promise; then the first with each of its factors taken out, everything off never."""
    legal = cells("ABCD")
    truth = additive("ABCD", {"A": 0.06, "B": 0.03, "C": 0.02, "D": -0.08}, legal)
    found = screen(legal, blocks(truth, 4, 0.001, 15))
    assert shortlist(found, legal) == ("A+B+C", "A+B", "A+C", "A", "B+C")
    assert shortlist(found, legal, limit=1) == ("A+B+C", "A+B", "A+C", "B+C")


def test_neighbours_must_be_legal():
    """Taking IMRS out of IMRS+HCB leaves a server that does not start."""
    legal = requiring("HCB", "IMRS", cells(("IMRS", "HCB")))
    truth = additive(("IMRS", "HCB"), {"IMRS": -0.01, "HCB": 0.05}, legal)
    found = screen(legal, blocks(truth, 4, 0.001, 16))
    assert shortlist(found, legal) == ("IMRS+HCB", "IMRS")


def test_nothing_is_handed_on_when_every_cell_loses():
    """And cells that promise nothing are not confirmed to fill the list."""
    legal = cells("AB")
    lost = screen(legal, blocks(additive("AB", {"A": -0.05, "B": -0.05}, legal), 4, 0.001, 17))
    assert shortlist(lost, legal) == ()
    half = screen(legal, blocks(additive("AB", {"A": 0.05, "B": -0.09}, legal), 4, 0.001, 18))
    assert shortlist(half, legal) == ("A",)


def test_ties_go_by_name_and_the_order_of_the_arms_does_not_matter():
    """Two factors of the very same effect, without noise."""
    legal = cells("AB")
    table = [additive("AB", {"A": 0.05, "B": 0.05}, legal)] * 3
    backwards = dict(reversed(legal.items()))
    assert shortlist(screen(legal, table), legal) == ("A+B", "A", "B")
    assert shortlist(screen(backwards, table), backwards) == ("A+B", "A", "B")
    noisy = blocks(SERVER_ABC, 3, 0.02, 19)
    other = dict(reversed(cells("ABC").items()))
    assert by_name(screen(other, noisy)) == by_name(screen(cells("ABC"), noisy))


def test_the_shortlist_of_a_short_screen_mostly_holds_the_best():
    """2^4 cells, 3 blocks, 2 % noise: small effects count although few of them suggest."""
    legal = cells("ABCD")
    held, suggested = 0, 0
    for seed in range(100):
        rng = np.random.default_rng((29, seed))
        truth = additive("ABCD", dict(zip("ABCD", rng.normal(0.005, 0.02, 4), strict=True)), legal)
        found = screen(legal, blocks(truth, 3, 0.02, (31, seed)))
        best = max(truth, key=truth.__getitem__)
        held += best in (*shortlist(found, legal)[:4], "base")
        first = sorted(legal, key=lambda arm: (-found.predicted[arm], arm))[:4]
        suggested += best in (*first, "base")
    assert held >= 75
    assert held > suggested


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda legal, table: (legal, table[:1]), "too few for a screen"),
        (lambda legal, table: (legal, []), "needs runs"),
        (lambda legal, table: (legal, [{**table[0], "A": math.nan}, table[1]]), "finite"),
        (lambda legal, table: ({**legal, "A": {"A": 2, "B": 0}}, table), "two levels"),
        (lambda legal, table: ({a: c for a, c in legal.items() if c["A"]}, table), "off"),
        (
            lambda legal, table: (
                legal,
                [
                    {a: row[a] for a in half}
                    for row in table
                    for half in (("base", "A"), ("B", "A+B"))
                ],
            ),
            "hold all cells",
        ),
    ],
)
def test_runs_that_no_screen_can_use_are_refused(change, message):
    """One block, no run, no number, three levels, no baseline, blocks that share no cell."""
    legal = cells("AB")
    with pytest.raises(ValueError, match=message):
        screen(*change(legal, blocks(dict.fromkeys(legal, 0.0), 2, 0.01, 20)))
