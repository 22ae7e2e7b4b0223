"""How the arms of a block are measured: one after the other, or in turns; and why so."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from assay.reasons import Reason

Measuring = Literal["runs", "slices"]
"""runs: one arm's server after the other's. slices: all of a block live, and take turns."""

LEAST_ROUNDS = 4


class MeasuredNoise(BaseModel):
    """What a pilot saw of one way to measure. `pair_noise`: the standard deviation of one block's
    contrast of two arms (log units); `block_s`: what a block of two arms took; `to_see_s`: what
    the study would take to see `PILOTED_EFFECT`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pair_noise: float
    block_s: float
    to_see_s: float


PILOTED_EFFECT = 0.05
"""The effect by which the ways to measure are compared (a fraction)."""


class PlannedMeasuring(BaseModel):
    """`measured_by` in `plan.json`: which way was chosen where the study left it to Assay.

    `noise` has an entry for each way that was tried, over `blocks` blocks of `case` that do not
    count; both are empty where the reason needed none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    chosen: Measuring
    reason: Reason
    case: str = ""
    blocks: int = 0
    took_s: float = 0.0
    noise: dict[Measuring, MeasuredNoise] = {}

    @property
    def sentence(self) -> str:
        """What was chosen and why, in one line."""
        return f"{self.chosen}: {self.reason.text}"
