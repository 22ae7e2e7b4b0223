"""The settings that the embedded targets share: parts made of primitives, and the harness."""

from __future__ import annotations

from assay._parameters import Parameter

LOCK_SETTINGS = (
    Parameter(
        "hint",
        "choice",
        "instruction between two looks at a held lock",
        "none",
        ("none", "nop", "pause", "yield", "isb"),
    ),
    Parameter(
        "lock",
        "choice",
        "lock algorithm",
        "ttas",
        ("tas", "ttas", "backoff", "ticket", "mcs", "futex"),
    ),
    Parameter(
        "spin_limit",
        "count",
        "hints before a waiter on a backoff or futex lock gives up its CPU",
        2048,
        low=0,
        high=1 << 24,
    ),
    Parameter(
        "padding", "count", "bytes between neighbouring locks; 0 is side by side", 64, (0, 64, 128)
    ),
    Parameter("pages", "choice", "memory pages of the data", "4k", ("4k", "thp", "hugetlb-2m")),
    Parameter(
        "repeat_every",
        "count",
        "after every n operations one more that is not counted; 0 is off",
        0,
        low=0,
        high=1 << 30,
    ),
)

HARNESS_SETTINGS = (
    Parameter("threads", "count", "worker threads", 2, low=1, high=1024),
    Parameter("pin", "flag", "pin worker i to the i-th allowed CPU", True),
)
