"""How the arms of a block are measured: one after the other, or in turns; and why so."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from assay.reasons import Reason

Measuring = Literal["runs", "calibrated", "slices"]
"""runs: one arm's server after the other's. calibrated: the same, each in slices with a calibration
between them. slices: all of a block live, and take turns."""

LEAST_ROUNDS = 4

LEAD_S = 0.005
"""So much of a slice does not count where no pilot saw how much should not."""

CALIBRATE_S = 0.010
"""How long the machine's speed is looked at between two slices of a calibrated run."""


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
    count; both are empty where the reason needed none. `no_turns`: what spoke against turns.
    `lead_s`: how much of a slice should not count, where turns were tried.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    chosen: Measuring
    reason: Reason
    case: str = ""
    blocks: int = 0
    took_s: float = 0.0
    noise: dict[Measuring, MeasuredNoise] = {}
    no_turns: Reason | None = None
    lead_s: float | None = None

    @property
    def sentence(self) -> str:
        """What was chosen and why, in one line."""
        turns = f" ({self.no_turns.text})" if self.no_turns else ""
        return f"{self.chosen}: {self.reason.text}{turns}"
