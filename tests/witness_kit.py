"""Evidence as tests write it down: functions, executables and values of the host as mappings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.changes import Evidence, HostValue, RanFunction, SeenExecutable


def showing(**told: Any) -> Evidence:
    """Evidence of these fields; what is a record already is left as it is."""
    if "functions" in told:
        told["functions"] = tuple(_made(RanFunction, f) for f in told["functions"])
    if "executable" in told:
        told["executable"] = _made(SeenExecutable, told["executable"])
    if "host" in told:
        told["host"] = {key: _made(HostValue, value) for key, value in told["host"].items()}
    return Evidence(**told)


def _made(kind: type, value: Any) -> Any:
    return kind(**value) if isinstance(value, Mapping) else value
