"""Crossings: found where the band shows them, and never narrower than it; the next point halves."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from assay.stats.crossing import AxisEffect, Crossing, crossings, halving


def points(*effects: tuple[float, int, float]) -> list[AxisEffect]:
    return [AxisEffect(at, sign, estimate) for at, sign, estimate in effects]


def test_a_change_of_sign_is_between_the_nearest_known_points() -> None:
    """What is undecided between them belongs to the interval."""
    found = crossings(points((1, -1, -0.1), (2, -1, -0.05), (4, 0, 0.0), (8, 1, 0.05)), False)
    assert [(c.low, c.high, c.rising) for c in found] == [(2, 8, True)]
    assert found[0].at == pytest.approx(4)


def test_without_two_signs_there_is_no_crossing() -> None:
    """However the estimates run."""
    assert crossings(points((1, 0, -0.1), (2, 1, 0.05), (4, 1, 0.1)), False) == []
    assert crossings([], True) == []


def test_all_changes_of_sign_are_told() -> None:
    """Up, and down again."""
    found = crossings(points((1, -1, -0.1), (2, 1, 0.1), (4, 0, 0.02), (8, -1, -0.1)), True)
    assert [(c.low, c.high, c.rising) for c in found] == [(1, 2, True), (2, 8, False)]


def test_the_estimate_is_straight_between_points_on_the_axis_as_it_is_drawn() -> None:
    """Half way in the logarithm on a logarithmic axis."""
    ends = points((1, -1, -0.1), (16, 1, 0.1))
    assert crossings(ends, True)[0].at == pytest.approx(4)
    assert crossings(ends, False)[0].at == pytest.approx(8.5)


def test_estimates_that_are_not_monotone_are_made_so() -> None:
    """Two that stand the wrong way round count as their mean."""
    found = crossings(points((1, -1, -0.2), (2, 0, 0.05), (3, 0, -0.05), (4, 1, 0.2)), False)
    assert found[0].at == pytest.approx(2.5)


def slow_crossings(given: list[AxisEffect]) -> list[tuple[float, float, bool]]:
    """The obvious way: every pair of known points with opposite signs and no known one between."""
    found = []
    for one, other in itertools.combinations(sorted(given, key=lambda p: p.at), 2):
        between = [p for p in given if one.at < p.at < other.at and p.sign]
        if one.sign * other.sign == -1 and not between:
            found.append((one.at, other.at, one.sign < 0))
    return found


def slow_zero(given: list[AxisEffect], found: Crossing) -> tuple[float, float]:
    """The places between which a monotone fit by brute force crosses zero: blocks of neighbours
    that stand the wrong way round are averaged until none does."""
    inside = [p for p in sorted(given, key=lambda p: p.at) if found.low <= p.at <= found.high]
    sign = 1 if found.rising else -1
    groups = [[(p.at, sign * p.estimate, p.weight)] for p in inside]

    def mean(group: list[tuple[float, float, float]]) -> float:
        return sum(e * w for _, e, w in group) / sum(w for _, _, w in group)

    while True:
        wrong = [k for k in range(len(groups) - 1) if mean(groups[k]) > mean(groups[k + 1])]
        if not wrong:
            break
        groups[wrong[0] : wrong[0] + 2] = [groups[wrong[0]] + groups[wrong[0] + 1]]
    flat = [(at, mean(group)) for group in groups for at, _, _ in group]
    below = max(at for at, effect in flat if effect < 0)
    above = min(at for at, effect in flat if effect > 0)
    return below, above


@pytest.mark.parametrize("seed", range(200))
def test_a_slow_obvious_search_finds_the_same(seed: int) -> None:
    """Intervals exactly; the estimate where the monotone fit changes its sign."""
    draw = random.Random(seed)
    given = []
    for at in draw.sample(range(1, 60), draw.randint(1, 9)):
        sign = draw.choice((-1, 0, 1))
        size = draw.uniform(0.01, 0.2)
        estimate = sign * size if sign else draw.uniform(-0.1, 0.1)
        given.append(AxisEffect(at, sign, estimate, draw.choice((8, 10, 12))))
    found = crossings(given, draw.random() < 0.5)
    assert [(c.low, c.high, c.rising) for c in found] == slow_crossings(given)
    for one in found:
        low, high = slow_zero(given, one)
        assert one.low <= low <= one.at <= high <= one.high


class TestHalving:
    """Which point is measured next."""

    def test_the_gap_at_an_end_of_the_interval_is_halved(self) -> None:
        """A point in the middle of what is undecided would narrow nothing."""
        given = points((1, -1, -0.1), (2, 0, 0.0), (16, 0, 0.01), (64, 1, 0.1))
        assert halving(given, [1.4, 4, 8, 23, 32, 45], True) == 32

    def test_the_middle_is_that_of_the_axis(self) -> None:
        """In the logarithm, or not."""
        given = points((1, -1, -0.1), (100, 1, 0.1))
        assert halving(given, [10, 50], True) == 10
        assert halving(given, [10, 50], False) == 50

    def test_without_a_crossing_or_a_candidate_nothing_is_added(self) -> None:
        """More points would not make a sign known."""
        assert halving(points((1, 0, -0.1), (4, 1, 0.1)), [2], True) is None
        assert halving(points((1, -1, -0.1), (4, 1, 0.1)), [8], True) is None

    @pytest.mark.parametrize("truth", [1.3, 2.5, 7.0, 30.0, 55.0])
    def test_a_few_points_find_a_crossing_among_many(self, truth: float) -> None:
        """With effects that are known everywhere, as bisection does."""
        grid = [64 ** (k / 16) for k in range(17)]
        measured = grid[::4]
        steps = 0
        while True:
            given = [
                AxisEffect(x, 1 if x > truth else -1, math.log(x / truth)) for x in sorted(measured)
            ]
            (found,) = crossings(given, True)
            assert found.low <= truth <= found.high
            left = [x for x in grid if x not in measured]
            chosen = halving(given, left, True)
            if chosen is None:
                break
            measured.append(chosen)
            steps += 1
        assert steps == 2
        assert found.high / found.low == pytest.approx(64 ** (1 / 16))
