"""Types of machine by several instances of each, against scipy and a slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize
from scipy import stats as oracle

from assay.stats.instances import (
    deviations,
    instances_needed,
    p_value,
    power,
    type_contrast,
    welch,
)

Values = NDArray[np.float64]


def machines(
    rng: np.random.Generator,
    instances: tuple[int, int],
    blocks: int,
    effect: float = 0.0,
    between: float = 0.03,
    run: float = 0.01,
) -> tuple[Values, Values]:
    """Values of two types; blocks drift, and all machines drift with them."""
    drift = np.cumsum(rng.normal(0, 0.02, blocks))
    first, second = (
        drift + rng.normal(0, between, (k, 1)) + rng.normal(0, run, (k, blocks)) for k in instances
    )
    return first, second + effect


def by_likelihood(first: Values, second: Values) -> tuple[float, float, float, float]:
    """The slow twin: restricted likelihood over the whole covariance, by search.

    Fixed are the blocks of each type, random the instances. Estimate of the types' difference, its
    standard error, and the two deviations.
    """
    blocks = first.shape[1]
    values = np.concatenate([first.ravel(), second.ravel()])
    rows = [(t, i, b) for t, v in enumerate((first, second)) for i, b in np.ndindex(*v.shape)]
    fixed = np.array(
        [[float((t, b) == (u, c)) for u, c in np.ndindex(2, blocks)] for t, _, b in rows]
    )
    same = np.array([[float(r[:2] == s[:2]) for s in rows] for r in rows])

    def fitted(logs: Values) -> tuple[float, Values, Values]:
        between, run = np.exp(logs)
        covariance = between * same + run * np.eye(len(rows))
        inverse = np.linalg.inv(covariance)
        inner = fixed.T @ inverse @ fixed
        found = np.linalg.solve(inner, fixed.T @ inverse @ values)
        rest = values - fixed @ found
        terms = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(inner)[1]
        return float(terms + rest @ inverse @ rest), found, np.linalg.inv(inner)

    best = optimize.minimize(
        lambda logs: fitted(logs)[0],
        np.log([1e-3, 1e-4]),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000, "maxfev": 4000},
    )
    _, found, spread = fitted(best.x)
    weights = np.repeat([-1 / blocks, 1 / blocks], blocks)
    between, run = np.sqrt(np.exp(best.x))
    error = math.sqrt(weights @ spread @ weights)
    return float(weights @ found), error, float(between), float(run)


@pytest.mark.parametrize("instances", [(2, 2), (3, 5), (10, 4)])
def test_the_types_are_compared_by_welch_over_instances(instances: tuple[int, int]) -> None:
    """Estimate, p value and interval are those of scipy on the means of the instances."""
    first, second = machines(np.random.default_rng(instances), instances, 7, effect=0.04)
    found = type_contrast(first, second)
    expected = oracle.ttest_ind(second.mean(axis=1), first.mean(axis=1), equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.degrees == pytest.approx(expected.df)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.instances, found.blocks) == (instances, 7)
    assert (found.p < 0.05) == (not found.low <= 0 <= found.high)


@pytest.mark.parametrize("seed", range(4))
def test_estimate_error_and_deviations_are_those_of_the_likelihood(seed: int) -> None:
    """With as many instances of each type, where both vary alike: the slow twin agrees."""
    first, second = machines(np.random.default_rng(seed), (4, 4), 5, effect=0.03)
    estimate, error, between, run = by_likelihood(first, second)
    means = first.mean(axis=1), second.mean(axis=1)
    ours, our_error, _ = welch(*means)
    assert float(ours) == pytest.approx(estimate, abs=1e-9)
    assert float(our_error) == pytest.approx(error, rel=1e-4)
    assert deviations(first, second) == pytest.approx((between, run), rel=1e-3)


def test_blocks_that_meet_all_machines_change_nothing() -> None:
    """Nor does the unit of the metric; the other way round only the sign turns."""
    rng = np.random.default_rng(3)
    first, second = machines(rng, (3, 4), 6, effect=0.05)
    drift, unit = rng.normal(0, 1, 6), math.log(1000)
    plain, moved = (
        type_contrast(first, second),
        type_contrast(first + drift + unit, second + drift + unit),
    )
    assert moved.estimate == pytest.approx(plain.estimate)
    assert (moved.low, moved.high) == pytest.approx((plain.low, plain.high))
    assert (moved.between_sd, moved.run_sd) == pytest.approx((plain.between_sd, plain.run_sd))
    turned = type_contrast(second, first)
    assert (turned.low, turned.high) == pytest.approx((-plain.high, -plain.low))


def test_more_blocks_do_not_stand_in_for_instances() -> None:
    """The interval of the types stays as wide as the instances make it."""
    rng = np.random.default_rng(5)
    first, second = machines(rng, (3, 3), 400, effect=0.0)
    wide = type_contrast(first, second)
    assert wide.high - wide.low > 2 * 0.03
    few = type_contrast(first[:, :20], second[:, :20])
    assert wide.high - wide.low > 0.8 * (few.high - few.low)


def test_a_change_on_every_instance_is_compared_without_their_levels() -> None:
    """On minus off: instances that differ by 10 % show that a change does 2 % more."""
    rng = np.random.default_rng(7)
    level, run = 0.10, 0.01

    def change(gain: float) -> Values:
        base = rng.normal(0, level, (3, 1))
        off, on = (base + rng.normal(0, run, (3, 20)) for _ in range(2))
        return on + gain - off

    found = type_contrast(change(0.01), change(0.03))
    assert found.low > 0
    assert found.between_sd < 0.01


def test_without_any_spread_a_difference_is_sure_and_no_difference_is_none() -> None:
    """Metrics that are counts may be equal everywhere."""
    flat = np.ones((3, 4))
    found = type_contrast(flat, flat + 0.5)
    assert (found.estimate, found.low, found.high, found.p) == (0.5, 0.5, 0.5, 0.0)
    assert type_contrast(flat, flat).p == 1.0


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (np.ones((1, 5)), np.ones((3, 5)), "one instance says nothing"),
        (np.ones((3, 5)), np.ones((3, 4)), "the same blocks"),
        (np.ones((3, 1)), np.ones((3, 1)), "two at least"),
        (np.full((3, 5), np.nan), np.ones((3, 5)), "a finite value"),
        (np.ones(5), np.ones((3, 5)), "a finite value"),
    ],
)
def test_what_cannot_be_compared_is_refused(first: Values, second: Values, said: str) -> None:
    """With what is lacking."""
    with pytest.raises(ValueError, match=said):
        type_contrast(first, second)


def test_power_is_what_studies_find() -> None:
    """Four instances of each type, 20 blocks, a difference of 5 %."""
    rng = np.random.default_rng(11)
    studies, k, blocks = 4000, 4, 20
    means = rng.normal(0, math.hypot(0.03, 0.01 / math.sqrt(blocks)), (2, studies, k))
    found = welch(means[0], means[1] + 0.05)
    share = float(np.mean(p_value(*found) < 0.05))
    # Welch gives a little away against the pooled t of the formula.
    assert share == pytest.approx(power(0.05, k, blocks, 0.03, 0.01), abs=0.06)


def test_instances_needed_are_the_fewest_with_that_power() -> None:
    """One fewer would not do; none does for nothing."""
    needed = instances_needed(0.02, 20, 0.03, 0.01)
    assert needed is not None
    assert power(0.02, needed, 20, 0.03, 0.01) >= 0.8 > power(0.02, needed - 1, 20, 0.03, 0.01)
    assert instances_needed(0.5, 20, 0.03, 0.01) == 2
    assert instances_needed(1e-5, 20, 0.03, 0.01) is None
