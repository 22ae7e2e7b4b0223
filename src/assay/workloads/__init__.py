"""Loads with their data sets. One file each, and one line in the registry below."""

from collections.abc import Mapping
from types import MappingProxyType

from assay.workloads.aggregate import AGGREGATE
from assay.workloads.base import Workload
from assay.workloads.micro import CRC32C, LOCK
from assay.workloads.ycsb import YCSB

WORKLOADS: Mapping[str, Workload] = MappingProxyType(
    {w.kind: w for w in (YCSB, AGGREGATE, LOCK, CRC32C)}
)

__all__ = ["WORKLOADS", "Workload"]
