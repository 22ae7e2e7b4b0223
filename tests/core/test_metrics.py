"""The table of metrics."""

from __future__ import annotations

import pytest

from assay.core.metrics import METRICS, metric, names


def test_every_metric_is_found_by_its_name() -> None:
    """Plain metrics and families alike."""
    for name in names():
        assert metric(name).name == name
        assert metric(name).sign in (1, -1)


@pytest.mark.parametrize("name", ["throughputt", "contention", "contention.", "throughput.lock"])
def test_what_is_no_metric_is_refused(name: str) -> None:
    """A family needs a member, a plain metric has none."""
    with pytest.raises(ValueError, match="is not a metric"):
        metric(name)


def test_the_nearest_metric_is_named() -> None:
    """A typing mistake is answered with what was meant."""
    with pytest.raises(ValueError, match="did you mean 'throughput'"):
        metric("throughputt")


def test_latencies_improve_downwards() -> None:
    """The direction decides the sign of a contrast."""
    assert all(m.better == "lower" for n, m in METRICS.items() if n.startswith("latency"))


def test_every_metric_says_what_it_is_and_most_when_a_run_has_none() -> None:
    """As a clause, without capital and full stop, so that a sentence can be made of it."""
    for name, found in METRICS.items():
        assert found.text, name
        for text in (found.text, found.void):
            assert not text.endswith("."), name
            assert "|" not in text, name
        assert not found.void or found.void[0].islower() or found.void.startswith("Assay"), name


def test_metrics_of_the_field_are_there_with_unit_and_direction() -> None:
    """What loaders, TPC-C, storage and energy are reported by."""
    known = {name: (METRICS[name].unit, METRICS[name].better) for name in METRICS}
    assert known["max_rate"] == ("op/s", "higher")
    assert known["load_rows_per_s"] == ("rows/s", "higher")
    assert known["tpmc"] == ("/min", "higher")
    assert known["bytes_per_row"] == ("B", "lower")
    assert known["write_amplification"] == ("", "lower")
    assert known["joules_per_operation"] == ("J", "lower")
    assert {"max_rate", "load_seconds", "tpmc"} <= {n for n in METRICS if METRICS[n].whole_run}
