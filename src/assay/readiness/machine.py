"""The host that files are judged for: this one, or another from its saved facts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import InputError

FEATURES: Mapping[str, tuple[str, ...]] = {
    "lse": ("atomics", "lse"),
    "crc32": ("crc32", "crc", "sse4_2"),
    "pmull": ("pmull",),
    "pmull_q": ("pmull",),
    "aes": ("aes",),
    "sha": ("sha2", "sha1"),
    "sha512": ("sha512",),
    "sha3": ("sha3",),
    "sve": ("sve",),
    "sb": ("sb",),
    "wfet": ("wfxt",),
    "lrcpc": ("lrcpc",),
}
"""For a class of instructions, the names of the feature that has it; any of them will do."""


@dataclass(frozen=True)
class Machine:
    """What counts of a host. Sizes in bytes."""

    name: str
    arch: str
    page_bytes: int
    line_bytes: int | None
    features: frozenset[str]

    def has(self, kind: str) -> bool:
        """Whether it can execute this class of instructions."""
        return bool(self.features & set(FEATURES.get(kind, (kind,))))


def machine_from(facts: Mapping[str, Any], name: str) -> Machine:
    """The machine that facts (of `assay host show --json`, or a bundle's host.json) describe."""
    try:
        line = facts.get("cache_line_bytes")
        return Machine(
            name=name,
            arch=str(facts["arch"]),
            page_bytes=int(facts["page_bytes"]),
            line_bytes=None if line is None else int(line),
            features=frozenset(str(feature).lower() for feature in facts["cpu_features"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{name} does not hold the facts of a host ({error!r})",
            next_step="write one with `assay host show --json`, or take host.json of a bundle",
        ) from error


def saved_machine(path: Path) -> Machine:
    """The machine of a saved file."""
    try:
        return machine_from(json.loads(path.read_text("utf-8")), str(path))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read as the facts of a host: {error}",
            next_step="write one with `assay host show --json`, or take host.json of a bundle",
        ) from error
