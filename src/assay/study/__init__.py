"""The question: study files, cases, factors, arms, designs, and the plan made of them."""

from assay.study.designs import arms
from assay.study.model import BASELINE, Absent, Arm, Case, Factor, Study
from assay.study.plan import Plan, Slot, block_order, make_plan, workload_seed
from assay.study.read import locate, read, shipped

__all__ = [
    "BASELINE",
    "Absent",
    "Arm",
    "Case",
    "Factor",
    "Plan",
    "Slot",
    "Study",
    "arms",
    "block_order",
    "locate",
    "make_plan",
    "read",
    "shipped",
    "workload_seed",
]
