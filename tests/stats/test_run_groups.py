"""Two groups of runs in one arm: found where they are, named by a counter, not made of noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.stats.run_groups import Groups, inside, run_groups, separator


def by_block(values) -> dict[int, float]:
    return dict(enumerate(float(value) for value in values))


def two(runs: int, slow: int, gap: float, noise: float, seed: int = 1) -> dict[int, float]:
    """So many runs, every so many of them slow."""
    drawn = np.random.default_rng(seed)
    is_slow = drawn.permutation(np.arange(runs) < slow)
    return by_block(drawn.normal(0, noise, runs) + is_slow * math.log1p(-gap))


def test_two_speeds_are_found_with_their_distance() -> None:
    """12 of 40 runs at 70 % of the others' speed, with 2 % of noise."""
    found = run_groups(two(40, 12, gap=0.3, noise=0.02))
    assert found is not None
    assert found.slow_runs == 12
    assert found.gap == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize("runs", [12, 20, 40, 160])
@pytest.mark.parametrize(("kind", "most"), [("normal", 5), ("laplace", 10), ("uniform", 35)])
def test_one_group_is_not_taken_for_two(runs: int, kind: str, most: int) -> None:
    """But once in 200 studies of normal noise, and in 30 of noise without tails."""
    drawn = np.random.default_rng(7)
    shapes = {"normal": drawn.normal, "laplace": drawn.laplace, "uniform": drawn.uniform}
    many = (by_block(0.2 * shapes[kind](size=runs)) for _ in range(1000))
    assert sum(run_groups(values) is not None for values in many) <= most


@pytest.mark.parametrize(
    "values",
    [
        two(40, 3, gap=0.5, noise=0.01),
        two(11, 5, gap=0.5, noise=0.01),
        two(40, 20, gap=0.03, noise=0.001),
        by_block([0.0] * 40),
    ],
    ids=["rare slow runs", "few runs", "close", "equal"],
)
def test_what_is_no_group(values: dict[int, float]) -> None:
    """Rare slow runs are counted elsewhere; a small step is nothing to warn of."""
    assert run_groups(values) is None


def test_the_counter_that_parts_the_groups_is_named() -> None:
    """Out of others that do not, and of one that some run lacks."""
    values = two(30, 10, gap=0.3, noise=0.01)
    groups = run_groups(values)
    assert groups is not None
    drawn = np.random.default_rng(2)
    counters = {f"noise{k}": by_block(drawn.normal(size=30)) for k in range(10)}
    assert separator(groups, counters) is None
    spins = {block: 900.0 if slow else 20.0 for block, slow in groups.slow.items()}
    partial = {block: float(slow) for block, slow in groups.slow.items() if block}
    found = separator(groups, {**counters, "partial": partial, "spins": spins})
    assert found is not None
    assert (found.name, found.slow, found.fast) == ("spins", 900.0, 20.0)


def test_contrasts_inside_groups_are_of_blocks_where_both_runs_are_of_one() -> None:
    """A block that lacks a run of either arm has none."""
    first = Groups({0: True, 1: True, 2: False, 3: False}, 0.3)
    second = Groups({0: True, 1: False, 2: False}, 0.3)
    assert inside({0: 0.1, 1: 0.5, 2: 0.2, 3: 0.3, 4: 0.4}, first, second) == {0: 0.1, 2: 0.2}
