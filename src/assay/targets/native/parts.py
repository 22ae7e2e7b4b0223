"""The settings that the embedded targets share: parts made of primitives, and the harness."""

from __future__ import annotations

from assay.core.parameters import Parameter

LOCK_SETTINGS = (
    Parameter(
        "hint",
        "choice",
        "instruction between two polls of a held lock",
        "none",
        ("none", "nop", "pause", "double-pause", "yield", "isb", "sb", "wfe", "wfet"),
    ),
    Parameter(
        "hint_ns",
        "count",
        "nanoseconds that a waiter spends on hints at each look, calibrated at start; "
        "0 leaves it to hint_repeats",
        0,
        low=0,
        high=1_000_000,
    ),
    Parameter(
        "hint_repeats",
        "count",
        "hints executed at each look, whatever one costs",
        1,
        low=1,
        high=1 << 20,
    ),
    Parameter(
        "lock",
        "choice",
        "lock algorithm",
        "ttas",
        ("tas", "ttas", "backoff", "ticket", "mcs", "futex"),
    ),
    Parameter(
        "elision",
        "choice",
        "run what a ttas lock guards as a hardware transaction that only reads the lock",
        "off",
        ("off", "on"),
    ),
    Parameter(
        "elision_retries",
        "count",
        "transactions tried again after an abort that may pass, before the lock is taken",
        3,
        low=0,
        high=1000,
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
    Parameter(
        "pages",
        "choice",
        "memory pages of the data: base pages, transparent huge pages, base pages joined once "
        "touched, or pages of a pool",
        "4k",
        ("4k", "thp", "collapse", "hugetlb-2m", "hugetlb-1g"),
    ),
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
