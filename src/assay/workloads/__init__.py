"""Loads with their data sets. One file each, and one line in the registry below."""

from collections.abc import Mapping
from types import MappingProxyType

from assay.workloads.base import Workload
from assay.workloads.generator import GENERATOR
from assay.workloads.hits import AGGREGATE, HITS, HITS_UPLOAD
from assay.workloads.http import HTTP_GET, HTTP_PROXY
from assay.workloads.job import TO_EXIT
from assay.workloads.key_value import MEMCACHED_GET, MEMCACHED_SET, REDIS_GET, REDIS_SET
from assay.workloads.micro import (
    ATOMIC,
    CALL,
    CHASE,
    COMPRESS,
    COUNTERS,
    CRC32C,
    HASH,
    LOCK,
    ORDER,
    SIMD,
    TIMER,
    UNALIGNED,
)
from assay.workloads.oltp import OLTP
from assay.workloads.script import SCRIPT
from assay.workloads.tpcc import TPCC
from assay.workloads.trade_desk import TRADE_DESK
from assay.workloads.ycsb import YCSB

_ONE = (LOCK, CRC32C, ATOMIC, ORDER, COUNTERS, CALL, CHASE, UNALIGNED, TIMER)
_MICRO = (*_ONE, HASH, COMPRESS, SIMD)
_SIMPLE = (REDIS_GET, REDIS_SET, MEMCACHED_GET, MEMCACHED_SET, HTTP_GET, HTTP_PROXY)
_DATA = (YCSB, TPCC, TRADE_DESK, AGGREGATE, HITS, HITS_UPLOAD, *OLTP)
_ALL = (*_DATA, *_SIMPLE, *_MICRO, TO_EXIT, GENERATOR, SCRIPT)
WORKLOADS: Mapping[str, Workload] = MappingProxyType({w.kind: w for w in _ALL})

_SQL = (*OLTP, YCSB, TPCC, HITS, AGGREGATE, HITS_UPLOAD, TRADE_DESK, SCRIPT)
SQL_WORKLOADS = tuple(w.kind for w in _SQL)
"""What is asked of a server that speaks SQL."""
ANALYTIC_WORKLOADS = tuple(w.kind for w in (HITS, AGGREGATE, HITS_UPLOAD))
"""What is asked of one that has no transactions, and takes no values beside a statement."""

__all__ = [
    "ANALYTIC_WORKLOADS",
    "GENERATOR",
    "SCRIPT",
    "SQL_WORKLOADS",
    "WORKLOADS",
    "Workload",
]
