"""The load of a `job`: it is run to its end, and that is all."""

from __future__ import annotations

from assay.workloads.base import Workload

TO_EXIT = Workload(
    kind="to-exit",
    text="the command is run to its end, again until the window is over; one operation is one "
    "execution",
    parameters={},
)
