"""Contrasts: weights that sum to zero, legal cells only, and effects planted and found."""

import itertools

import pytest

from assay.stats import Contrast, change, interaction, main_effect, series, simple_effect, step
from assay.stats.contrast import conditions, simple_effects

FACTORS = ("TSX", "SNAP", "LLDC")
# Log effects of an ASE-like server: SNAP alone helps a little, on top of TSX it hurts.
LEVELS = {
    (): 0.0,
    ("TSX",): 0.08,
    ("SNAP",): 0.01,
    ("LLDC",): 0.05,
    ("TSX", "SNAP"): 0.03,
    ("TSX", "LLDC"): 0.12,
    ("SNAP", "LLDC"): 0.08,
    ("TSX", "SNAP", "LLDC"): 0.16,
}


def cells(factors=FACTORS):
    """Every combination of the factors: arm name -> {factor: level}."""
    return {
        "+".join(f for f, level in zip(factors, levels, strict=True) if level) or "base": dict(
            zip(factors, levels, strict=True)
        )
        for levels in itertools.product((0, 1), repeat=len(factors))
    }


def truth():
    """One noiseless block of the 2^3."""
    return {"+".join(on) or "base": effect for on, effect in LEVELS.items()}


def value(contrast):
    """The contrast on the noiseless block."""
    return series(contrast, {0: truth()})[0][1]


def test_weights_must_sum_to_zero():
    """Otherwise drift would count as an effect."""
    with pytest.raises(ValueError, match="sum to zero"):
        Contrast("x", "change", {"a": 1.0, "b": -0.5})


@pytest.mark.parametrize(
    ("kind", "weights", "message"),
    [
        ("change", {"a": 0.0, "b": 0.0}, "arm with weight"),
        ("change", {}, "arm with weight"),
        ("change", {"a": float("nan"), "b": 1.0}, "finite"),
        ("guess", {"a": 1.0, "b": -1.0}, "none of"),
    ],
)
def test_contrasts_that_compare_nothing_are_refused(kind, weights, message):
    """No weight, no number, no such kind."""
    with pytest.raises(ValueError, match=message):
        Contrast("x", kind, weights)


def test_a_block_counts_only_with_every_weighted_arm():
    """Block 1 lacks an arm; an arm without weight may be missing."""
    contrast = Contrast("x", "change", {"a": 1.0, "b": -1.0, "c": 0.0})
    table = {0: {"a": 3.0, "b": 1.0, "c": 9.0}, 1: {"a": 3.0}, 2: {"a": 5.0, "b": 1.0}}
    assert series(contrast, table) == [(0, 2.0), (2, 4.0)]


def test_change_and_step_are_plain_differences():
    """One arm up, one arm down."""
    assert value(change("TSX", "base")) == pytest.approx(0.08)
    assert value(step("TSX+SNAP", "TSX")) == pytest.approx(-0.05)


def test_averaging_hides_what_simple_effects_show():
    """The main effect of SNAP is positive although SNAP on TSX costs 5 %."""
    assert value(main_effect("SNAP", cells())) == pytest.approx(0.0075)
    assert value(interaction("TSX", "SNAP", cells())) == pytest.approx(-0.0125)
    given = {"TSX": 1, "LLDC": 0}
    simple = simple_effect("SNAP", given, cells())
    assert value(simple) == pytest.approx(-0.05)
    assert (simple.of, simple.given, simple.against) == ("SNAP", "TSX", "TSX")


def test_main_effect_and_interaction_make_up_the_simple_effects():
    """In a 2^2: effect of F with G on = main + interaction, with G off = main - interaction."""
    two = {"base": 0.0, "F": 0.02, "G": 0.03, "F+G": 0.10}
    square = cells(("F", "G"))
    main = series(main_effect("F", square), {0: two})[0][1]
    both = series(interaction("F", "G", square), {0: two})[0][1]
    assert main + both == pytest.approx(two["F+G"] - two["G"])
    assert main - both == pytest.approx(two["F"] - two["base"])


def test_full_factorials_weigh_all_cells_alike():
    """2/2^k per cell, signs balanced."""
    for contrast in (main_effect("TSX", cells()), interaction("TSX", "LLDC", cells())):
        assert {abs(weight) for weight in contrast.weights.values()} == {0.25}
        assert sum(contrast.weights.values()) == 0


def test_illegal_cells_leave_only_matched_pairs():
    """SNAP requires TSX: its effect is averaged where TSX is on, and only there."""
    legal = {arm: cell for arm, cell in cells().items() if cell["TSX"] or not cell["SNAP"]}
    contrast = main_effect("SNAP", legal)
    assert set(contrast.weights) == {"TSX", "TSX+SNAP", "TSX+LLDC", "TSX+SNAP+LLDC"}
    assert value(contrast) == pytest.approx((-0.05 + 0.04) / 2)
    with pytest.raises(ValueError, match="TSX:SNAP: no four arms"):
        interaction("TSX", "SNAP", legal)


def test_a_factor_that_never_changes_alone_has_no_effect():
    """Two factors always switched together cannot be told apart."""
    together = {"off": {"F": 0, "G": 0}, "on": {"F": 1, "G": 1}}
    with pytest.raises(ValueError, match="F: no two arms"):
        main_effect("F", together)
    with pytest.raises(ValueError, match="no pair of arms"):
        simple_effect("F", {"G": 1}, together)
    with pytest.raises(ValueError, match="itself"):
        interaction("F", "F", together)


def test_two_arms_of_one_cell_are_refused():
    """Which of them would be meant?"""
    with pytest.raises(ValueError, match="same combination"):
        main_effect("F", {"a": {"F": 0}, "b": {"F": 0}, "c": {"F": 1}})


def requiring(dependent, required, legal):
    """The cells that are left when `dependent` may only be on where `required` is."""
    return {arm: cell for arm, cell in legal.items() if cell[required] or not cell[dependent]}


def test_an_effect_is_given_what_all_its_pairs_have_switched_on():
    """SNAP requires TSX, so what is known about it is known with TSX only."""
    legal = requiring("SNAP", "TSX", cells())
    assert main_effect("SNAP", legal).given == "TSX"
    assert interaction("SNAP", "LLDC", legal).given == "TSX"
    assert main_effect("LLDC", legal).given == ""
    assert [main_effect(factor, cells()).given for factor in FACTORS] == ["", "", ""]
    both = requiring("SNAP", "LLDC", legal)
    assert main_effect("SNAP", both).given == "LLDC+TSX"


def test_an_effect_whose_pairs_have_another_factor_off_says_so_when_asked():
    """TSX can only be switched where SNAP is off."""
    legal = requiring("SNAP", "TSX", cells())
    contrast = main_effect("TSX", legal)
    assert (contrast.given, conditions(contrast, legal)) == ("", "")
    assert conditions(contrast, legal, off=True) == "SNAP off"
    assert conditions(change("TSX+SNAP", "TSX"), legal, off=True) == "TSX, LLDC off"


def test_a_factor_that_never_varies_is_no_condition():
    """It is a fact of the study, not of the effect."""
    always = {arm: {**cell, "NUMA": 1} for arm, cell in cells().items()}
    assert conditions(main_effect("TSX", always), always, off=True) == ""


def test_simple_effects_are_all_of_one_factor():
    """SNAP on nothing, on LLDC, on TSX, on both; with a requirement only where it is met."""
    found = simple_effects("SNAP", cells())
    assert {(c.given, c.against): round(value(c), 9) for c in found} == {
        ("base", "base"): 0.01,
        ("LLDC", "LLDC"): 0.03,
        ("TSX", "TSX"): -0.05,
        ("LLDC+TSX", "TSX+LLDC"): 0.04,
    }
    legal = requiring("SNAP", "TSX", cells())
    assert [c.given for c in simple_effects("SNAP", legal)] == ["TSX", "LLDC+TSX"]
    assert simple_effects("HCB", cells()) == []


def three_levels():
    """TSX and SNAP crossed with pages of three sizes."""
    return {
        f"{arm}/{pages}": {**cell, "pages": level}
        for arm, cell in cells(("TSX", "SNAP")).items()
        for level, pages in enumerate(("4k", "2M", "1G"))
    }


def test_other_factors_may_have_more_levels():
    """Every setting of the others gives a pair, and every pair weighs the same."""
    contrast = main_effect("TSX", three_levels())
    assert {abs(weight) for weight in contrast.weights.values()} == {1 / 6}
    assert len(contrast.arms) == 12
    assert contrast.given == ""
    both = interaction("TSX", "SNAP", three_levels())
    assert {abs(weight) for weight in both.weights.values()} == {1 / 6}
    assert len(both.arms) == 12


def test_a_condition_on_several_levels_is_that_the_factor_is_on():
    """SNAP needs big pages of either size; HCB needs those of 1G."""
    legal = {arm: c for arm, c in three_levels().items() if c["pages"] or not c["SNAP"]}
    assert main_effect("SNAP", legal).given == "pages"
    one = {arm: c for arm, c in three_levels().items() if c["pages"] == 2 or not c["SNAP"]}
    assert main_effect("SNAP", one).given == "pages=2"


def test_simple_effects_at_several_levels_are_told_apart_by_the_arm():
    """Naming the factor would not say at which level."""
    found = simple_effects("TSX", three_levels())
    assert len({c.name for c in found}) == len(found) == 6
    pages = ("SNAP/2M", "SNAP/1G", "base/2M", "base/1G", "base/4k")
    assert {c.given for c in found} == {*pages, "SNAP"}
