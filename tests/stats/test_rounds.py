"""Rounds of slices: what the machine does to a whole round is no effect of an arm."""

from __future__ import annotations

import random
from itertools import combinations_with_replacement
from statistics import fmean, median

import pytest

from assay.stats.rounds import levels_of


def slow_twin(rounds: list[list[float]]) -> list[float]:
    """The definition, pair by pair."""
    centred = [[value - fmean(row) for value in row] for row in rounds]
    return [
        median((a + b) / 2 for a, b in combinations_with_replacement(column, 2))
        for column in zip(*centred, strict=True)
    ]


def drawn(seed: int, arms: int, count: int = 10) -> list[list[float]]:
    chance = random.Random(seed)
    return [[chance.gauss(0, 0.1) for _ in range(arms)] for _ in range(count)]


@pytest.mark.parametrize("arms", [1, 2, 3, 6])
@pytest.mark.parametrize("count", [1, 2, 9, 16])
def test_levels_are_pseudo_medians_of_centred_rounds(arms: int, count: int) -> None:
    """Against the slow, obvious way."""
    rounds = drawn(arms * 100 + count, arms, count)
    assert levels_of(rounds) == pytest.approx(slow_twin(rounds))


def test_the_speed_of_the_machine_in_a_round_leaves_no_trace() -> None:
    """It is added to the logs of all arms."""
    rounds = drawn(1, 3)
    moved = [[value + shift for value in row] for shift, row in enumerate(rounds)]
    assert levels_of(moved) == pytest.approx(levels_of(rounds))


def test_arms_that_change_places_change_the_sign() -> None:
    """The assumption of the signed-rank test, kept inside the block."""
    rounds = drawn(2, 2)
    first, second = levels_of(rounds)
    swapped = levels_of([row[::-1] for row in rounds])
    assert swapped == pytest.approx([second, first])


def test_a_slice_that_was_disturbed_alone_hardly_moves_the_level() -> None:
    """One of ten is a tenth of its speed; the mean would move by 23 %."""
    rounds = [[0.05 + 0.001 * r, 0.0] for r in range(10)]
    rounds[3][0] -= 2.3
    first, second = levels_of(rounds)
    assert first - second == pytest.approx(0.054, abs=0.002)
