"""Single commands of Redis and memcached, as `redis-benchmark` sends them. Every key exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assay.core.parameters import Parameter, by_name
from assay.workloads.base import Workload

_PARAMETERS = by_name(
    (
        Parameter("keys", "count", "keys, drawn uniformly", 10_000, low=1, high=100_000_000),
        Parameter("value_bytes", "count", "bytes of a value", 64, low=0, high=1 << 26),
        Parameter("pipeline", "count", "commands sent in one go", 1, low=1, high=10_000),
    )
)


def _payload(parameters: Mapping[str, Any], operations: Mapping[str, int]) -> float:
    """A value an operation."""
    return float(parameters["value_bytes"] * sum(operations.values()))


REDIS_GET = Workload(
    kind="redis-get", text="GET of a key; one operation is one command", parameters=_PARAMETERS
)
REDIS_SET = replace(
    REDIS_GET,
    kind="redis-set",
    text="SET of a key; one operation is one command",
    writes=Workload.always,
    payload=_payload,
)
MEMCACHED_GET = replace(REDIS_GET, kind="memcached-get", text="get of a key; one operation is one")
MEMCACHED_SET = replace(REDIS_SET, kind="memcached-set", text="set of a key; one operation is one")
