"""Rules for latencies: enough operations behind a quantile, and no saturated server."""

import numpy as np
import pytest

from assay.core.metrics import METRICS
from assay.reasons import Code, Reason
from assay.stats.latency import Saturation, latency_count, requests_needed, saturated, too_few


def test_a_quantile_needs_a_hundred_latencies_beyond_it():
    """100 / (1 - q)."""
    assert requests_needed("latency_p50") == 200
    assert requests_needed("latency_p90") == 1_000
    assert requests_needed("latency_p99") == 10_000
    assert requests_needed("latency_p999") == 100_000


def test_every_quantile_that_is_a_metric_has_its_number_and_nothing_else_has():
    """A metric added later must say how much it needs."""
    quantiles = {name for name in METRICS if name.startswith("latency_p")}
    assert {name for name in METRICS if requests_needed(name)} == quantiles
    for name in quantiles:
        q = float("0." + name.removeprefix("latency_p"))
        assert requests_needed(name) == pytest.approx(100 / (1 - q))


def test_a_short_run_says_what_it_lacks_and_what_to_do():
    """The sentence for people."""
    short = too_few("hint", "latency_p99", 2_000)
    assert short is not None
    assert short.text == "hint: 2,000 operations; p99 needs 10,000: lengthen the window"
    batches = too_few("hint", "latency_p99", 9_999, "batches of 64")
    assert batches is not None
    assert batches.text.startswith("hint: 9,999 batches of 64; p99")


def test_a_run_that_is_long_enough_says_nothing():
    """At the number itself, and for metrics that have none."""
    assert too_few("hint", "latency_p99", 10_000) is None
    assert too_few("hint", "latency_mean", 3) is None
    assert too_few("hint", "latency_max", 3) is None
    assert too_few("hint", "throughput", 3) is None


def test_a_latency_of_a_batch_counts_once():
    """64 lock pairs are one latency; a batch that was not finished is none."""
    assert latency_count(6_400, "operations") == 6_400
    assert latency_count(6_400, "batches of 64") == 100
    assert latency_count(6_399, "batches of 64") == 99
    for unknown in ("batches", "batches of 0", "requests", ""):
        with pytest.raises(ValueError, match="latencies are of"):
            latency_count(100, unknown)


def test_with_that_many_a_quantile_is_known_to_a_tenth_of_its_own_tail():
    """The share beyond the estimated p99 of 10,000 exponential latencies: 1 % give or take .1 %."""
    rng = np.random.default_rng(1)
    runs = rng.exponential(size=(200, requests_needed("latency_p99")))
    beyond = np.exp(-np.quantile(runs, 0.99, axis=1))
    assert np.std(beyond) == pytest.approx(0.001, rel=0.2)


def test_a_server_that_cannot_keep_up_is_saturated():
    """Below 99 % of the offered rate the latency is that of the window."""
    assert saturated(asked=1000.0, achieved=900.0) == Saturation(1000, 900)
    said = Reason.of(Code.SATURATED, arm="hint", runs=1, of=4, asked=1000.0, achieved=900.0).text
    assert said == (
        "hint was saturated in 1 of 4 runs: 900 of 1,000 operations/s were answered (90 %), so "
        "latency grows with the window: offer less"
    )
    assert saturated(asked=1000.0, achieved=990.0) is None
