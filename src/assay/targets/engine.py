"""The embedded key-value engine: the target that needs no installation (docs/engine.md)."""

from __future__ import annotations

from assay._parameters import Parameter, by_name
from assay.targets.base import Launch
from assay.targets.embedded import EmbeddedTarget
from assay.targets.parts import HARNESS_SETTINGS, LOCK_SETTINGS

LOAD_S_PER_RECORD_BYTE = 1.2e-9
LOAD_S_PER_ROW = 5e-8
"""Guesses from the reference machine, used only to foresee a study's length."""


def _load_s(launch: Launch) -> float:
    parameters = launch.parameters
    if launch.workload == "aggregate":
        return 0.3 + parameters["rows"] * LOAD_S_PER_ROW
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
            Parameter(
                "plan",
                "choice",
                "how an analytical query is run: interpreted by row, by an instruction or by a "
                "batch, or compiled by Cranelift for one row or two at a time",
                "vectorised",
                ("row", "bytecode", "vectorised", "cranelift-scalar", "cranelift-simd"),
            ),
            Parameter(
                "rewrite",
                "choice",
                "turn SUM(e + k) into SUM(e) + k * COUNT before planning",
                "off",
                ("off", "on"),
            ),
            *HARNESS_SETTINGS,
        )
    ),
    workloads=("ycsb", "aggregate"),
    lock_classes=("data_cache", "index", "row"),
    load_s=_load_s,
)
