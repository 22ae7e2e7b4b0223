"""Evidence: what a server showed while it ran, read by its target and judged by witnesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.linux.placement import Placement


@dataclass(frozen=True)
class RanFunction:
    """A function that ran in a role, with its census: how often it holds each instruction.

    `instructions` is None where a whole library was counted; `calls` is 0 where nobody counted.
    """

    role: str
    symbol: str
    instructions: int | None
    counts: Mapping[str, int]
    calls: int = 0


@dataclass(frozen=True)
class SeenExecutable:
    """The file that the process runs, or the "library" that it has mapped."""

    sha256: str
    build_id: str | None = None
    what: str = "executable"


@dataclass(frozen=True)
class HostValue:
    """What a file of the kernel held, and whether that means what was asked for."""

    value: str | int
    holds: bool


@dataclass(frozen=True)
class Evidence:
    """What a server showed; a field that was not read is None or empty.

    `memory` in bytes by field of smaps; `counters` are totals of the window; `environ` holds the
    variables that a change names; `status` what /proc shows of the process; `log` facts that a
    library wrote into its log; `host` by key or path; `commands` what each factor's witness command
    printed. `executed` counts the operations carried out, `operations` those that were counted.
    """

    read_back: Mapping[str, Any] = field(default_factory=dict)
    functions: tuple[RanFunction, ...] = ()
    memory: Mapping[str, int] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    environ: Mapping[str, str] | None = None
    executable: SeenExecutable | None = None
    status: Mapping[str, int | bool] = field(default_factory=dict)
    log: Mapping[str, str] = field(default_factory=dict)
    host: Mapping[str, HostValue] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    server_placement: Placement | None = None
    client_placement: Placement | None = None
    executed: int | None = None
    operations: int = 0
