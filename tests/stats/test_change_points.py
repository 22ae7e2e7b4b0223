"""Change points: found where there are some, seldom where there are none."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.change_points import change_points


def noise(seed: int, size: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.01, size)


def test_a_step_is_found_where_it_is() -> None:
    """Also next to an outlier."""
    values = noise(1, 20)
    values[12:] += 0.1
    values[3] = 50.0
    (found,) = change_points(values)
    assert found.index == 12
    assert found.after - found.before == pytest.approx(0.1, abs=0.02)


def test_two_steps_are_found() -> None:
    """Each in the part that the other leaves."""
    values = noise(2, 30)
    values[10:20] += 0.1
    assert [c.index for c in change_points(values)] == [10, 20]


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 40, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]])
def test_few_or_equal_values_have_none(values: list[float]) -> None:
    """Nothing can be said of them."""
    assert change_points(values) == []


def test_the_same_series_gives_the_same_answer() -> None:
    """The random orders are the same ones."""
    assert change_points(noise(3, 25)) == change_points(noise(3, 25))


def test_no_change_is_seldom_called_one() -> None:
    """Of 200 series of heavy-tailed noise at most the 99th percentile of Binomial(200, .05)."""
    draws = np.random.default_rng(4)
    found = sum(bool(change_points(draws.standard_t(2, 20), orders=199)) for _ in range(200))
    assert found <= 18


def test_values_that_are_not_finite_are_refused() -> None:
    """They have no place in an order."""
    with pytest.raises(ValueError, match="finite"):
        change_points([1.0] * 9 + [float("nan")])
