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
