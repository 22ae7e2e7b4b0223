"""Single mechanisms without an engine around them: lock and unlock, or CRC32C of a buffer."""

from __future__ import annotations

from typing import Any

from assay._parameters import Parameter, by_name
from assay.targets.base import Launch
from assay.targets.embedded import EmbeddedTarget
from assay.targets.parts import HARNESS_SETTINGS, LOCK_SETTINGS


def _workload(launch: Launch) -> dict[str, Any]:
    return {"kind": launch.workload, **launch.parameters}


MICRO = EmbeddedTarget(
    kind="micro",
    text="one mechanism alone: lock and unlock under T threads, or CRC32C over a buffer",
    settings=by_name(
        (
            *LOCK_SETTINGS,
            Parameter(
                "crc32c",
                "choice",
                "CRC32C implementation; auto is the best this CPU has",
                "auto",
                ("auto", "bytewise", "slicing8", "hardware"),
            ),
            *HARNESS_SETTINGS,
        )
    ),
    workloads=("lock", "crc32c"),
    lock_classes=("lock",),
    workload_request=_workload,
    load_s=lambda launch: 0.3,
)
