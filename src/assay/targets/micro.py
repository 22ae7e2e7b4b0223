"""Single mechanisms without an engine around them: lock and unlock, or CRC32C of a buffer."""

from __future__ import annotations

from assay._parameters import Parameter, by_name
from assay.targets.embedded import EmbeddedTarget
from assay.targets.parts import HARNESS_SETTINGS, LOCK_SETTINGS

CRC32C_LEVELS = (
    "misdispatched",
    "bytewise",
    "slicing8",
    "hardware",
    "hardware-3way",
    "pclmul",
    "pmull",
    "vpclmul",
    "fusion",
)
"""From the slowest to the fastest, about. `misdispatched` chooses, and ends at bytewise code."""

MICRO = EmbeddedTarget(
    kind="micro",
    text="one mechanism alone: lock and unlock under T threads, or CRC32C over a buffer",
    settings=by_name(
        (
            *LOCK_SETTINGS,
            Parameter(
                "crc32c",
                "choice",
                "CRC32C implementation; auto is the best this CPU has for the buffer's size, "
                "misdispatched what a wrong dispatch takes",
                "auto",
                ("auto", *CRC32C_LEVELS),
            ),
            *HARNESS_SETTINGS,
        )
    ),
    workloads=("lock", "crc32c"),
    lock_classes=("lock",),
    load_s=lambda launch: 0.3,
)
