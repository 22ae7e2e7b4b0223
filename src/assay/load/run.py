"""One run of a workload against a server: the request, and the messages that come back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.address import ServerAddress
from assay.core.errors import InputError, RunError
from assay.load.summary import Summary
from assay.native import DataState, Health, Loading, Ready, RunResult, Session, WindowInterval
from assay.targets.servers.framework.scripts import script_request
from assay.workloads import SCRIPT
from assay.workloads.script import FILES

SECOND_MS = 1000


@dataclass(frozen=True)
class Load:
    """What to run. Times in seconds, `rate` in requests a second; None is a closed loop."""

    target: ServerAddress
    workload: str
    options: Mapping[str, Any] = field(default_factory=dict)
    connections: int = 1
    threads: int = 1
    rate: float | None = None
    poisson: bool = False
    time_s: float = 10.0
    warmup_s: float = 1.0
    seed: int = 1
    patience_s: int = 60
    pin: bool = False
    backend: str | None = None
    """The kernel's interface, `epoll` or `io_uring`; by default the best that there is."""

    def _asked(self) -> dict[str, Any]:
        """What the workload is to do, of scripts with their texts."""
        protocol = self.target.protocol
        if self.workload == SCRIPT.kind:
            files = self.options.get(FILES, [])
            listed = [files] if isinstance(files, str) else files
            return script_request({"scale": 1, **self.options, FILES: listed}, protocol)
        path = {"path": self.target.path} if protocol == "http" else {}
        return {**path, **self.options}

    def request(self) -> dict[str, Any]:
        """The request to `assayer load`."""
        if self.threads > self.connections:
            raise InputError(
                f"{self.threads} threads are more than the {self.connections} connections",
                next_step="take at least as many --connections as --threads",
            )
        workload = {"kind": self.workload, **self._asked()}
        spacing = "poisson" if self.poisson else "even"
        return {
            "target": self.target.request(),
            "workload": workload,
            "connections": self.connections,
            "rate": None if self.rate is None else {"per_s": self.rate, "spacing": spacing},
            "patience_s": self.patience_s,
            "threads": self.threads,
            "pin": self.pin,
            "backend": self.backend,
            "seed": self.seed,
            "warmup_ms": round(self.warmup_s * 1000),
            "window_ms": round(self.time_s * 1000),
            "interval_ms": SECOND_MS,
        }


def run_load(
    load: Load, each_second: Callable[[WindowInterval], None] = lambda interval: None
) -> Summary:
    """Run it; `each_second` sees every interval as it ends.

    Raises InputError, MissingError (no such server, login refused) and RunError.
    A server that dies meanwhile raises nothing: the summary has what was measured,
    and is void.
    """
    session = Session("load", load.request(), log=sys.stderr.fileno())
    ready = health = result = None
    try:
        for message in session.messages():
            match message:
                case Ready():
                    ready = message
                case WindowInterval():
                    each_second(message)
                case Health():
                    health = message
                case RunResult():
                    result = message
    finally:
        session.stop()
    if ready is None or health is None or result is None or result.load is None:
        raise RunError("assayer load ended without saying how it went")
    return Summary.of(ready, health, result)


def prepare(load: Load, each_second: Callable[[Loading], None] = lambda loading: None) -> DataState:
    """Make the data that the workload needs; tables of its names are dropped first.

    Raises as `run_load`, and RunError when what was loaded is not sound.
    """
    state = _act(load, "prepare", each_second)
    if state.faults:
        raise RunError(f"the data were not loaded as they should: {'; '.join(state.faults)}")
    return state


def check(load: Load) -> list[str]:
    """What is wrong with the data, in words: TPC-C's consistency conditions, the trade-desk's
    invariants, or missing rows."""
    return _act(load, "check").faults


def clean(load: Load) -> None:
    """Take the workload's data away."""
    _act(load, "clean")


def _act(
    load: Load, action: str, each_second: Callable[[Loading], None] = lambda loading: None
) -> DataState:
    request = {**load.request(), "action": action}
    session = Session("load", request, log=sys.stderr.fileno(), result_type=DataState)
    try:
        for message in session.messages():
            match message:
                case Loading():
                    each_second(message)
                case DataState():
                    return message
    finally:
        session.stop()
    raise RunError(f"assayer load ended without saying how {action} went")
