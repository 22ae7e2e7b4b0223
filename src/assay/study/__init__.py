"""The question: study files, cases, factors, arms, designs, and the plan made of them."""

from assay.study.designs import arms
from assay.study.model import BASELINE, SENTINEL, Absent, Arm, Case, Factor, Network, Study
from assay.study.phases import least_runs
from assay.study.pilot import AUTO_TIMES, PilotedArm, PilotedCase, PlannedPilot
from assay.study.plan import (
    Plan,
    PlannedBuild,
    PlannedProfile,
    PlannedServer,
    Slot,
    block_order,
    make_plan,
    planned_builds,
    workload_seed,
)
from assay.study.read import locate, read, shipped

__all__ = [
    "AUTO_TIMES",
    "BASELINE",
    "SENTINEL",
    "Absent",
    "Arm",
    "Case",
    "Factor",
    "Network",
    "PilotedArm",
    "PilotedCase",
    "Plan",
    "PlannedBuild",
    "PlannedPilot",
    "PlannedProfile",
    "PlannedServer",
    "Slot",
    "Study",
    "arms",
    "block_order",
    "least_runs",
    "locate",
    "make_plan",
    "planned_builds",
    "read",
    "shipped",
    "workload_seed",
]
