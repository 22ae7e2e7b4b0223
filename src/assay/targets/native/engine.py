"""The embedded key-value engine: the target that needs no installation (docs/engine.md)."""

from __future__ import annotations

from assay.core.parameters import Parameter, by_name
from assay.targets.base import Launch
from assay.targets.native.embedded import EmbeddedTarget
from assay.targets.native.parts import HARNESS_SETTINGS, LOCK_SETTINGS

LOAD_S_PER_RECORD_BYTE = 1.2e-9
LOAD_S_PER_ROW = 5e-8
LOAD_S_PER_WAREHOUSE = 0.6
LOAD_S_PER_POSITION = 1e-6
"""Guesses from the reference machine, used only to foresee a study's length."""


DATA_CACHES = ("one-lock", "partitioned", "hyper-clock", "optimistic")


def _load_s(launch: Launch) -> float:
    parameters = launch.parameters
    if launch.workload == "aggregate":
        rows: int = parameters["rows"]
        return 0.3 + rows * LOAD_S_PER_ROW
    if launch.workload == "tpcc":
        warehouses: int = parameters["warehouses"]
        return 0.5 + warehouses * LOAD_S_PER_WAREHOUSE
    if launch.workload == "trade-desk":
        positions: int = parameters["accounts"] * parameters["instruments"]
        return 0.4 + positions * LOAD_S_PER_POSITION
    volume: int = parameters["records"] * parameters["fields"] * parameters["field_bytes"]
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
                DATA_CACHES,
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
                "system_cache",
                "choice",
                "how a page of the system tables is found in their own data cache",
                "one-lock",
                DATA_CACHES,
            ),
            Parameter(
                "index",
                "choice",
                "how a key is found; sharded is the key-value store's and goes with cc row-lock; "
                "with hash, tables that are scanned have an optimistic tree",
                "sharded",
                ("sharded", "latched", "optimistic", "hash"),
            ),
            Parameter(
                "cc",
                "choice",
                "concurrency control; row-lock is the key-value store's, without transactions",
                "row-lock",
                ("row-lock", "no-wait", "wait-die", "optimistic", "multi-version"),
            ),
            Parameter(
                "store",
                "choice",
                "where rows of data tables are: in pages behind the data cache, or in memory",
                "pages",
                ("pages", "memory"),
            ),
            Parameter(
                "hash_cache",
                "choice",
                "a hash table before each tree, filled by look-ups of single keys",
                "off",
                ("off", "on"),
            ),
            Parameter(
                "log",
                "choice",
                "how commits become durable",
                "none",
                ("none", "asynchronous", "private-group", "group", "per-commit"),
            ),
            Parameter(
                "plan",
                "choice",
                "how an analytical query is run: interpreted by row, by an instruction or by a "
                "batch, or compiled by Cranelift for a row or a vector at a time",
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
            Parameter(
                "cache_share",
                "count",
                "percent of the loaded records' pages that fit the data cache; below 100 the rest "
                "is in a file, which optimistic cannot",
                100,
                low=1,
                high=100,
            ),
            *HARNESS_SETTINGS,
        )
    ),
    workloads=("ycsb", "tpcc", "trade-desk", "aggregate"),
    lock_classes=("data_cache", "system_cache", "index", "row", "log"),
    load_s=_load_s,
)
