"""The search for the highest rate, over a server that is a formula."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.core.errors import InputError, VoidError
from assay.load import Load, Promise, ServerAddress, Summary, find_limit, parse_promise
from load_samples import NOTHING

CAPACITY = 10_000.0
LOAD = Load(ServerAddress("redis", "127.0.0.1", 6379), "redis-get", connections=10)


def queue(load: Load) -> Summary:
    """One queue with 1 ms of service: its p99 is ln(100) times the mean, 1 ms / (1 - load)."""
    rate = CAPACITY if load.rate is None else load.rate
    used = min(rate / CAPACITY, 0.999)
    p99 = 4.605 * 0.1e6 / (1 - used)
    return replace(
        NOTHING, achieved_per_s=rate, asked_per_s=load.rate, latency_ns={"0.99": p99, "max": p99}
    )


def test_the_limit_of_a_queue_is_where_the_formula_has_it():
    """p99 < 4.605 ms: the queue may be used to 90 %."""
    found = find_limit(LOAD, parse_promise("p99<4.605ms"), run=queue)
    assert found.rate == pytest.approx(9000, rel=0.02)
    assert found.rate <= 9000
    # Seven that halve the span, and three alike at each of its two ends.
    assert len(found.runs) <= 7 + 2 * 3


def test_errors_and_rates_that_were_not_achieved_break_the_promise():
    """However fast the answers were."""

    def failing(load: Load) -> Summary:
        return replace(queue(load), errors=int((load.rate or 0) > 4000))

    def short(load: Load) -> Summary:
        rate = load.rate or CAPACITY
        return replace(queue(load), achieved_per_s=rate * (0.98 if rate > 6000 else 1))

    promise = parse_promise("p99 < 1s")
    assert find_limit(LOAD, promise, run=failing).rate == pytest.approx(4000, rel=0.03)
    assert find_limit(LOAD, promise, run=short).rate == pytest.approx(6000, rel=0.03)


def test_a_run_in_which_the_client_was_the_limit_ends_the_search():
    """It says nothing about the server."""

    def limited(load: Load) -> Summary:
        return replace(queue(load), void="the client was the limit" if load.rate else "")

    with pytest.raises(VoidError, match="the client was the limit"):
        find_limit(LOAD, parse_promise("p99<1s"), run=limited)


def test_promises_are_read_and_wrong_ones_refused():
    """A quantile that is printed, and a time with its unit."""
    assert parse_promise("p99.9 < 20ms") == Promise(0.999, 0.02)
    for wrong in ("99<5ms", "p99<5", "p42<5ms", "p99"):
        with pytest.raises(InputError):
            parse_promise(wrong)
