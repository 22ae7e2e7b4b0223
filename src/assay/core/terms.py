"""Terms that changes, plans and verdicts share: efforts, and directions of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Effort = Literal["A", "B", "C", "D", "E", "F"]


EFFORTS: dict[str, str] = {
    "A": "trivial: one switch, fits everywhere",
    "B": "simple: a setting, no change of schema or code",
    "C": "moderate: tuned for each environment",
    "D": "a project of its own",
    "E": "the application is rewritten",
    "F": "new hardware",
}


Direction = Literal["up", "down", "same"]


OPPOSITE: Mapping[str, Direction] = {"up": "down", "down": "up", "same": "same"}
