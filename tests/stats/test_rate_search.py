"""The search for the highest rate: exact without noise, and its error stated with it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.stats.rate_search import FLOOR, MOST, RESOLUTION, search
from assay.workloads.promise import Promise, parse_promise

CAPACITY = 100_000.0


def slowly(is_kept: Callable[[float], bool]) -> float:
    """The highest rate that is kept, rate by rate from the floor up."""
    rate = CAPACITY / FLOOR
    while is_kept(rate * 1.001):
        rate *= 1.001
    return rate


@pytest.mark.parametrize("limit", [2_000.0, 9_999.0, 33_333.0, 90_000.0])
def test_without_noise_the_limit_is_between_the_ends(limit: float) -> None:
    """And what is given is within its own error of what the slow way finds."""
    found = search(lambda rate: rate < limit, CAPACITY)
    assert found is not None
    assert found.low < limit <= found.high
    assert found.high / found.low <= 1 + RESOLUTION
    exact = slowly(lambda rate: rate < limit)
    assert abs(math.log(found.rate / exact)) <= math.log1p(found.error) + 0.002
    assert found.tries <= 12  # seven halvings, and two more of each end


def test_a_rate_that_is_kept_nowhere_is_none() -> None:
    """Nor is there any below a capacity of nothing."""
    assert search(lambda rate: False, CAPACITY) is None
    assert search(lambda rate: True, 0.0) is None


def test_a_server_that_keeps_all_of_its_capacity_is_tried_beyond_it() -> None:
    """A closed loop may have been slower than the server."""
    found = search(lambda rate: rate < 1.1 * CAPACITY, CAPACITY)
    assert found is not None
    assert found.low < 1.1 * CAPACITY <= found.high


def noisy(limit: float, spread: float, drawn: np.random.Generator) -> Callable[[float], bool]:
    """A promise on a quantile that grows with the rate squared, and has a spread of its own."""
    return lambda rate: (rate / limit) ** 2 * math.exp(drawn.normal(0, spread)) < 1


@pytest.mark.parametrize(
    ("spread", "covered", "deviation"), [(0.03, 0.95, 0.02), (0.1, 0.85, 0.04), (0.3, 0.8, 0.09)]
)
def test_the_limit_lies_between_the_ends_as_often_as_is_said(
    spread: float, covered: float, deviation: float
) -> None:
    """Where a try's quantile varies by 3 to 30 %; and no search is longer than it may be."""
    drawn, held, searches = np.random.default_rng(5), 0, 400
    errors = []
    for _ in range(searches):
        limit = CAPACITY * math.exp(drawn.uniform(math.log(0.05), math.log(0.9)))
        found = search(noisy(limit, spread, drawn), CAPACITY)
        assert found is not None
        assert found.tries <= MOST
        held += found.low <= limit <= found.high
        errors.append(math.log(found.rate / limit))
    assert held >= covered * searches
    assert float(np.std(errors)) < deviation
    assert abs(float(np.median(errors))) < 0.01


def test_more_noise_is_a_larger_error() -> None:
    """The search says so itself."""
    drawn = np.random.default_rng(6)
    medians = []
    for spread in (0.01, 0.3):
        found = [search(noisy(CAPACITY / 3, spread, drawn), CAPACITY) for _ in range(100)]
        medians.append(np.median([one.error for one in found if one is not None]))
    assert medians[0] < medians[1]


def test_a_promise_holds_where_it_was_fast_sent_and_nothing_failed() -> None:
    """Each of the three."""
    promise = parse_promise("p99 < 5ms")
    assert promise == Promise(0.99, 0.005)
    assert promise.holds(4e6, 1000.0, 995.0, 0)
    assert not promise.holds(6e6, 1000.0, 1000.0, 0)
    assert not promise.holds(4e6, 1000.0, 980.0, 0)
    assert not promise.holds(4e6, 1000.0, 1000.0, 1)
    assert not promise.holds(None, 1000.0, 1000.0, 0)
    assert promise.requests == 1000
    assert parse_promise("p99.9<1s").requests == 10_000


@pytest.mark.parametrize("wrong", ["99<5ms", "p99<5", "p42<5ms", "p99"])
def test_what_is_no_promise_is_refused(wrong: str) -> None:
    """With an example of one."""
    with pytest.raises(InputError):
        parse_promise(wrong)
