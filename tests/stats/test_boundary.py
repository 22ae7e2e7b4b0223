"""The looks and their levels, against published constants and against simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from assay.stats.boundary import looks, once, schedule, z_boundaries
from assay.stats.constants import STANDARD

FIFTHS = (0.2, 0.4, 0.6, 0.8, 1.0)


def test_the_recursion_gives_the_published_obrien_fleming_constants():
    """Lan & DeMets, O'Brien-Fleming type spending, two-sided .05, five equal looks."""
    spent = tuple(float(4 * ndtr(ndtri(0.0125) / math.sqrt(t))) for t in FIFTHS)
    found = [round(z, 3) for z in z_boundaries(FIFTHS, spent)]
    assert found == [4.877, 3.357, 2.680, 2.290, 2.031]


def test_the_recursion_gives_the_published_linear_constants():
    """Lan & DeMets, spending linear in time, two-sided .05, five equal looks."""
    found = [round(z, 3) for z in z_boundaries(FIFTHS, tuple(0.05 * t for t in FIFTHS))]
    assert found == [2.576, 2.492, 2.411, 2.339, 2.276]


def test_a_gaussian_walk_crosses_as_often_as_was_spent():
    """40,000 random walks over the looks of a 30-block study: .04, within 4 deviations."""
    plan = schedule(30, 0.04)
    levels = np.array(plan.levels(0.04))
    steps = np.random.default_rng(1).normal(size=(40_000, 30)).cumsum(axis=1)
    at_looks = np.array(plan.looks)
    z = steps[:, at_looks - 1] / np.sqrt(at_looks)
    crossed = np.mean(np.any(np.abs(z) > -ndtri(levels / 2), axis=1))
    assert crossed == pytest.approx(0.04, abs=4 * math.sqrt(0.04 * 0.96 / 40_000))


@pytest.mark.parametrize("planned", [1, 5, 8, 9, 12, 30, 100, 1000])
def test_looks_ascend_to_the_planned_end(planned):
    """At most twelve, none before block 8, the last at the end."""
    found = looks(planned, 0.04)
    assert found[-1] == planned
    assert list(found) == sorted(set(found))
    assert len(found) <= STANDARD.looks_max
    assert found[0] >= min(8, planned)


@pytest.mark.parametrize("planned", [30, 100, 1000])
def test_the_first_look_is_the_first_that_could_reject(planned):
    """An exact test of n blocks has no p value below 2^(1-n)."""
    first = looks(planned, 0.04)[0]
    assert 2.0 ** (1 - first) <= 0.04 * first / planned
    assert first == 8 or 2.0 ** (2 - first) > 0.04 * (first - 1) / planned


@pytest.mark.parametrize("planned", [12, 30, 200])
def test_more_alpha_never_means_a_smaller_level(planned):
    """What Holm over looks rests on: levels grow with alpha at every look."""
    plan = schedule(planned, 0.04)
    by_alpha = [plan.levels(0.04 / left) for left in (6, 3, 2, 1)]
    for smaller, larger in itertools.pairwise(by_alpha):
        assert all(a < b for a, b in zip(smaller, larger, strict=True))


def test_one_look_spends_everything_at_once():
    """A study with a single look is an ordinary test."""
    assert once(30).levels(0.05) == pytest.approx((0.05,))


def test_a_study_without_blocks_is_refused():
    """Zero planned blocks is a mistake, not a plan."""
    with pytest.raises(ValueError, match="at least one"):
        looks(0, 0.04)


@pytest.mark.parametrize("end", [16, 30, 200])
def test_a_new_plan_keeps_the_levels_of_the_looks_before_it(end):
    """What was judged at a look stays judged so, however long the study becomes."""
    before = schedule(30, 0.04)
    after = before.replanned(16, end, 0.04, STANDARD)
    past = [n for n in before.looks if n < 16]
    assert after.looks[: len(past)] == tuple(past)
    assert after.levels(0.04)[: len(past)] == before.levels(0.04)[: len(past)]
    assert 16 in after.looks
    assert (after.planned, after.spent[-1]) == (end, 1.0)


@pytest.mark.parametrize("end", [40, 100])
def test_a_walk_crosses_a_new_plan_as_often_as_was_spent(end):
    """40,000 random walks, 30 blocks that became more: .04, within 4 deviations."""
    plan = schedule(30, 0.04).replanned(16, end, 0.04, STANDARD)
    steps = np.random.default_rng(2).normal(size=(40_000, end)).cumsum(axis=1)
    at_looks = np.array(plan.looks)
    z = steps[:, at_looks - 1] / np.sqrt(at_looks)
    crossed = np.mean(np.any(np.abs(z) > -ndtri(np.array(plan.levels(0.04)) / 2), axis=1))
    assert crossed == pytest.approx(0.04, abs=4 * math.sqrt(0.04 * 0.96 / 40_000))
