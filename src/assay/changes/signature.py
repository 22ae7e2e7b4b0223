"""Words for what a change should do to metrics, as measured: what rises, falls, and stays."""

from __future__ import annotations

from assay.changes.declaration import Prediction, Signature
from assay.core.metrics import COUNTED


def rises(*metrics: str) -> Signature:
    """Metrics that go up."""
    return tuple(Prediction(name, "up") for name in metrics)


def falls(*metrics: str) -> Signature:
    """Metrics that go down."""
    return tuple(Prediction(name, "down") for name in metrics)


def stays(*metrics: str) -> Signature:
    """Controls, which must not move."""
    return tuple(Prediction(name, "same") for name in metrics)


def counted(counter: str) -> str:
    """The metric of a counter that grows: its growth per operation."""
    return f"{COUNTED}.{counter}"
