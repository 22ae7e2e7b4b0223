"""Fractions: resolutions and aliases of the published tables, recomputed from the cells."""

import itertools
import math

import pytest

from assay.stats.fractions import columns, fraction

LETTERS = "ABCDEFGH"

# factors, cells, resolution, and two-way interactions that are clear of main effects and of each
# other: Montgomery, Design and Analysis of Experiments, chapter 8; Wu & Hamada, Experiments
PUBLISHED = [
    (3, 4, 3, 0),
    (4, 8, 4, 0),
    (5, 8, 3, 0),
    (5, 16, 5, 10),
    (6, 8, 3, 0),
    (6, 16, 4, 0),
    (6, 32, 6, 15),
    (7, 8, 3, 0),
    (7, 16, 4, 0),
    (7, 32, 4, 15),
    (7, 64, 7, 21),
    (8, 16, 4, 0),
    (8, 32, 4, 13),
    (8, 64, 5, 28),
    (8, 128, 8, 28),
]


def signs(design):
    """The +-1 column of every factor."""
    return [[2 * level - 1 for level in levels] for levels in zip(*design.runs, strict=True)]


def constant(chosen):
    """Whether the product of these columns is the same in every cell."""
    return len({math.prod(row) for row in zip(*chosen, strict=True)}) == 1


@pytest.mark.parametrize(("count", "size", "resolution", "clear"), PUBLISHED)
def test_fractions_are_the_best_of_the_published_tables(count, size, resolution, clear):
    """Resolution, and how many interactions stand alone."""
    names = LETTERS[:count]
    design = fraction(names, size)
    aliased = {name for group in design.aliases for name in group}
    pairs = {f"{f}:{g}" for f, g in itertools.combinations(names, 2)}
    assert len(set(design.runs)) == size
    assert design.resolution == resolution
    assert len(pairs - aliased) == clear
    assert aliased.isdisjoint(names) == (resolution > 3)


@pytest.mark.parametrize(("count", "size"), [row[:2] for row in PUBLISHED])
def test_the_resolution_is_the_shortest_product_that_never_changes(count, size):
    """From the cells themselves, over all sets of factors."""
    design = fraction(LETTERS[:count], size)
    found = [
        length
        for length in range(1, count + 1)
        if any(constant(chosen) for chosen in itertools.combinations(signs(design), length))
    ]
    assert found[0] == design.resolution


@pytest.mark.parametrize(("count", "size"), [row[:2] for row in PUBLISHED])
def test_everything_off_is_run_first_and_every_factor_is_on_half_of_the_time(count, size):
    """The baseline belongs to every fraction."""
    design = fraction(LETTERS[:count], size)
    assert design.runs[0] == (0,) * count
    assert all(sum(column) == 0 for column in signs(design))


@pytest.mark.parametrize(("count", "size"), [row[:2] for row in PUBLISHED])
def test_generators_hold_in_every_cell(count, size):
    """What is printed is what was done."""
    names = LETTERS[:count]
    design = fraction(names, size)
    by_name = dict(zip(names, signs(design), strict=True))
    assert len(design.generators) == count - size.bit_length() + 1
    for text in design.generators:
        added, rule = text.split(" = ")
        sign = -1 if rule.startswith("-") else 1
        chosen = zip(*(by_name[name] for name in rule.removeprefix("-").split(" x ")), strict=True)
        assert by_name[added] == [sign * math.prod(row) for row in chosen]


def test_the_alias_table_of_three_factors_in_four_cells():
    """Each main effect is one with the interaction of the other two; main effects come first."""
    design = fraction(["TSX", "SNAP", "HCB"], 4)
    assert design.generators == ("HCB = -TSX x SNAP",)
    assert design.aliases == (("TSX", "SNAP:HCB"), ("SNAP", "TSX:HCB"), ("HCB", "TSX:SNAP"))
    assert set(design.runs) == {(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)}


def test_the_alias_table_of_six_factors_in_sixteen_cells():
    """Seven chains of interactions hold all fifteen."""
    groups = fraction(LETTERS[:6], 16).aliases
    assert sorted(map(len, groups)) == [2, 2, 2, 2, 2, 2, 3]
    assert len({name for group in groups for name in group}) == 15


@pytest.mark.parametrize(
    ("count", "size", "resolution"),
    [(1, 2, None), (2, 4, None), (4, 16, None), (5, 16, 5), (6, 32, 6), (7, 32, 4), (8, 32, 4)],
)
def test_without_a_size_at_most_32_cells_are_run(count, size, resolution):
    """All of them up to four factors, then resolution V, or the best there is."""
    design = fraction(LETTERS[:count])
    assert (len(design.runs), design.resolution) == (size, resolution)


def test_a_full_factorial_has_no_aliases():
    """Also when it is asked for by size."""
    design = fraction(LETTERS[:5], 32)
    assert (design.resolution, design.generators, design.aliases) == (None, (), ())
    assert set(design.runs) == set(itertools.product((0, 1), repeat=5))


def test_columns_are_named_as_contrasts_are():
    """Main effects, then pairs in the order of the factors."""
    found = columns(["A", "B"], [(0, 0), (1, 0), (0, 1), (1, 1)])
    assert found == {"A": (-1, 1, -1, 1), "B": (-1, -1, 1, 1), "A:B": (1, -1, -1, 1)}


@pytest.mark.parametrize(
    ("names", "size", "message"),
    [
        ("ABCDEFGHI", None, "leave out those least likely"),
        ("AAB", None, "different names"),
        ("", None, "different names"),
        ("ABC", 5, "take one of 4, 8"),
        ("ABC", 16, "take one of 4, 8"),
        ("ABC", 2, "too few for 3 factors; take 4"),
        ("ABCDEFGH", 8, "too few for 8 factors; take 16"),
    ],
)
def test_what_cannot_be_designed_is_refused_with_a_way_out(names, size, message):
    """The message says which size would do."""
    with pytest.raises(ValueError, match=message):
        fraction(names, size)
