"""The embedded key-value engine: the target that needs no installation (docs/engine.md)."""

from __future__ import annotations

from assay._parameters import Parameter, by_name
from assay.targets.base import Launch
from assay.targets.embedded import EmbeddedTarget
from assay.targets.parts import HARNESS_SETTINGS, LOCK_SETTINGS

LOAD_S_PER_RECORD_BYTE = 1.2e-9
"""A guess from the reference machine, used only to foresee a study's length."""


def _load_s(launch: Launch) -> float:
    parameters = launch.parameters
    volume = parameters["records"] * parameters["fields"] * parameters["field_bytes"]
    return 0.35 + volume * LOAD_S_PER_RECORD_BYTE


ENGINE = EmbeddedTarget(
    kind="engine",
    text="the embedded in-memory key-value engine; its parts are switched per run",
    settings=by_name(
        (
            *LOCK_SETTINGS,
            Parameter(
                "data_cache",
                "choice",
                "how a page is found in the data cache",
                "one-lock",
                ("one-lock", "partitioned", "lock-free"),
            ),
            Parameter(
                "cache_partitions",
                "count",
                "locks of the partitioned data cache",
                64,
                low=1,
                high=4096,
            ),
            *HARNESS_SETTINGS,
        )
    ),
    workloads=("ycsb",),
    lock_classes=("data_cache", "index", "row"),
    load_s=_load_s,
)
