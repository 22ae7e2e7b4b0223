"""Whether hosts are alike: their facts, side by side.

Two hosts of one type are taken for two instances of the same thing, so what differs between them is
a fault. What differs between types comes with the type: it is listed, and no fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

COMPARED = (
    "arch",
    "cpu_model",
    "cpus",
    "cpu_features",
    "cache_line_bytes",
    "page_bytes",
    "kernel",
    "distribution",
    "numa_nodes",
    "memory_bytes",
    "thp",
    "virtual",
    "clock",
    "build_id",
)
"""Not hints (times), pools of huge pages (they come and go) and abilities (they follow)."""
NEAR = {"memory_bytes": 0.02}
"""What need not be equal to the last digit: the kernel keeps some memory for itself. Of the clock
its source counts, since its rate is measured at boot."""


class Difference(BaseModel):
    """A fact in which hosts differ, by host."""

    model_config = ConfigDict(frozen=True)

    fact: str
    values: dict[str, str]


def differences(facts: Mapping[str, Mapping[str, Any]]) -> list[Difference]:
    """The facts, by host, in which they are not all alike."""
    return list(_differences(facts)) if len(facts) > 1 else []


def _differences(facts: Mapping[str, Mapping[str, Any]]) -> Iterator[Difference]:
    for fact in COMPARED:
        found = {host: _value(fact, known.get(fact)) for host, known in facts.items()}
        if not _alike(fact, list(found.values())):
            yield Difference(fact=fact, values=_shown(fact, found))


def _value(fact: str, value: Any) -> Any:
    if fact == "clock" and isinstance(value, Mapping):
        return value.get("source")
    return sorted(value) if fact == "cpu_features" and value is not None else value


def _alike(fact: str, values: list[Any]) -> bool:
    if fact in NEAR and all(isinstance(value, int | float) and value > 0 for value in values):
        return bool(max(values) / min(values) - 1 <= NEAR[fact])
    return all(value == values[0] for value in values)


def _shown(fact: str, found: Mapping[str, Any]) -> dict[str, str]:
    """As text; of processor features only those that not all have."""
    if fact != "cpu_features":
        return {host: str(value) for host, value in found.items()}
    everywhere = set.intersection(*(set(value or ()) for value in found.values()))
    return {
        host: " ".join(v for v in value or () if v not in everywhere) or "none more"
        for host, value in found.items()
    }
