"""The question: study files, cases, factors, arms, designs, and how a plan is made of them."""

from assay.study.designs import arms
from assay.study.model import Absent, Arm, Case, Factor, Network, Study
from assay.study.phases import least_runs
from assay.study.pilot import AUTO_TIMES
from assay.study.planner import make_plan, planned_builds, planned_variations
from assay.study.read import locate, read, shipped

__all__ = [
    "AUTO_TIMES",
    "Absent",
    "Arm",
    "Case",
    "Factor",
    "Network",
    "Study",
    "arms",
    "least_runs",
    "locate",
    "make_plan",
    "planned_builds",
    "planned_variations",
    "read",
    "shipped",
]
