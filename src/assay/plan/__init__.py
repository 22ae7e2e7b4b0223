"""The plan: frozen data that fix a study before its first run (`plan.json`)."""

from assay.plan.measuring import LEAST_ROUNDS, MeasuredNoise, Measuring, PlannedMeasuring
from assay.plan.names import BASELINE, CONTROL, CONTROLS
from assay.plan.phases import (
    PlannedAxis,
    PlannedAxisPoint,
    PlannedPoint,
    PlannedScaling,
    PlannedScreen,
)
from assay.plan.pilot import PilotedArm, PilotedCase, PlannedPilot
from assay.plan.plan import (
    Plan,
    PlannedBuild,
    PlannedProfile,
    PlannedServer,
    PlannedStatistics,
    Slot,
    block_order,
    rounds_of,
    turns,
    workload_seed,
)

__all__ = [
    "BASELINE",
    "CONTROL",
    "CONTROLS",
    "LEAST_ROUNDS",
    "MeasuredNoise",
    "Measuring",
    "PilotedArm",
    "PilotedCase",
    "Plan",
    "PlannedAxis",
    "PlannedAxisPoint",
    "PlannedBuild",
    "PlannedMeasuring",
    "PlannedPilot",
    "PlannedPoint",
    "PlannedProfile",
    "PlannedScaling",
    "PlannedScreen",
    "PlannedServer",
    "PlannedStatistics",
    "Slot",
    "block_order",
    "rounds_of",
    "turns",
    "workload_seed",
]
