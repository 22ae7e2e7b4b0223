"""A server whose runs are slow or fast, with a counter that tells the two apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from assay.targets import Measured


class TwoSpeeds:
    """Every run is slow with a chance that may depend on its arm; then its threads spin."""

    def __init__(self, gain: float, plain: float, hinted: float) -> None:
        self.gain, self.chances = gain, {"none": plain, "pause": hinted}
        self.drawn, self.is_slow = np.random.default_rng(3), False

    def speed(self, settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
        """Of one run."""
        self.is_slow = bool(self.drawn.random() < self.chances[settings["hint"]])
        speed = 1 + self.gain if settings["hint"] == "pause" else 1.0
        return speed * (0.6 if self.is_slow else 1.0)

    def counted(self, number: int, measured: Measured) -> Measured:
        """What its counters show."""
        spins = 400.0 + number if self.is_slow else 10.0 + number / 1000
        metrics = {**measured.metrics, "spins_per_operation.lock": spins}
        return replace(measured, metrics=metrics)
