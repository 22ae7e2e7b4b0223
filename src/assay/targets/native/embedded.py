"""Targets that live in the native binary: one process loads, runs and measures itself.

`engine` and `micro` differ only in their verb, settings and workloads; this
class is both. The load is inside the server here, so the client can never be
the limit; what can disturb a run is another process, and health tells that.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from assay import native
from assay.changes import Evidence, RanFunction, SeenExecutable
from assay.core.digest import contents_digest, file_digest
from assay.core.errors import RunError
from assay.core.histograms import value_at
from assay.core.parameters import Parameter
from assay.linux.placement import Placement, placement
from assay.targets.base import Launch, Measured, OnBegin, OnInterval, Target, ignore
from assay.targets.tpcc_run import of_tpcc

QUANTILES = {
    "latency_p50": 50.0,
    "latency_p90": 90.0,
    "latency_p99": 99.0,
    "latency_p999": 99.9,
}
WINDOW_BEGINS = native.RunPhase(name="measure")
ROOM, INDEX_BYTES, LEAST_BYTES, MAPPINGS = 1.5, 64, 64 << 20, 1
"""What rows, their index and all else take in memory, and mappings beside one for each thread, each
of which ends with a part of a page: rather too much."""
HARNESS = ("threads", "pin")
"""Settings that the request carries beside `parts`."""


@dataclass(frozen=True, kw_only=True)
class EmbeddedTarget(Target):
    """A verb of `assayer` as a target. `load_s` guesses start and load, in seconds."""

    kind: str
    text: str
    settings: Mapping[str, Parameter]
    workloads: tuple[str, ...]
    lock_classes: tuple[str, ...]
    load_s: Callable[[Launch], float]
    is_bundled = True
    loads_in_run = True
    takes_turns = True

    def request(self, launch: Launch) -> dict[str, Any]:
        """The protocol's request for a launch."""
        parts = {k: v for k, v in launch.settings.items() if k not in HARNESS}
        return {
            "parts": parts,
            "workload": {"kind": launch.workload, **launch.parameters},
            **{k: launch.settings[k] for k in HARNESS},
            "seed": launch.seed,
            **launch.times(),
        }

    def check(self, launch: Launch) -> None:
        executable = Path(launch.binary) if launch.binary else None
        request = {**self.request(launch), "check_only": True}
        session = native.Session(self.kind, request, executable=executable)
        try:
            for _ in session.messages():
                pass
        finally:
            session.stop()

    def start(self, launch: Launch, log: Path) -> EmbeddedServer:
        return EmbeddedServer(self, launch, log)

    def seconds(self, launch: Launch) -> float:
        return launch.warmup_s + launch.window_s + self.load_s(launch)

    def huge_bytes(self, launch: Launch, page_bytes: int) -> int:
        """A guess; whether it was enough the process itself says."""
        parameters = launch.parameters
        if "bytes" in parameters:  # its only mapping, and all of it
            size: int = parameters["bytes"]
            return -(-size // page_bytes) * page_bytes
        volume = math.prod(parameters.get(n, 1) for n in ("records", "fields", "field_bytes"))
        tables = parameters.get("records", 0) * INDEX_BYTES
        mappings: int = launch.settings.get("threads", 1) + MAPPINGS
        whole: int = round(volume * ROOM) + tables + LEAST_BYTES
        return (whole // page_bytes + mappings) * page_bytes


class EmbeddedServer:
    """One running `assayer engine` or `assayer micro`."""

    def __init__(self, target: EmbeddedTarget, launch: Launch, log: Path) -> None:
        self._executable = Path(launch.binary) if launch.binary else native.find_assayer()
        with log.open("ab") as stderr:
            self._session = native.Session(
                target.kind,
                target.request(launch),
                log=stderr,
                env=environment(launch.env),
                executable=self._executable,
                before=launch.around.server,
            )
        self._looks = launch.around.looks
        self._placement: Placement | None = None
        self._messages = self._session.messages()
        self._watched = tuple(launch.env)
        self._parameters = launch.parameters
        self._ready: native.Ready | None = None
        self._result: native.RunResult | None = None
        self._process = Evidence()

    def read_back(self) -> Mapping[str, Any]:
        while self._ready is None:
            message = next(self._messages, None)
            if message is None or isinstance(message, native.RunResult):
                raise RunError("the server ended before it was ready")
            if isinstance(message, native.Ready):
                self._ready = message
                self._process = process_evidence(message.pid, self._watched)
        return self._ready.manifest

    @property
    def pid(self) -> int:
        return self._session.process.pid

    def measure(self, on_interval: OnInterval, on_begin: OnBegin = ignore) -> Measured:
        manifest = self.read_back()
        intervals: list[native.WindowInterval] = []
        health: native.Health | None = None
        for message in self._messages:
            if message == WINDOW_BEGINS:
                on_begin()
                if self._looks:
                    self._placement = placement(self._session.process.pid)
            elif isinstance(message, native.WindowInterval):
                intervals.append(message)
                spent = (message.start_ms + message.length_ms) / 1000
                on_interval(sum(i.operations for i in intervals), spent)
            elif isinstance(message, native.Health):
                health = message
            elif isinstance(message, native.RunResult):
                self._result = message
        if self._result is None or health is None:
            raise RunError("the server ended without a result")
        if not self._result.state.checksum_ok:
            faults = "; ".join(self._result.state.faults[:3]) or "the state check failed"
            raise RunError(f"the data were wrong after the run: {faults}")
        return _measured(self._result, health, intervals, manifest, self._parameters)

    def evidence(self) -> Evidence:
        assert self._ready is not None, "evidence is shown after the run was measured"
        assert self._result is not None, "evidence is shown after the run was measured"
        executable = self._process.executable
        assert executable is not None, "it was read when the server was ready"
        addresses = tuple(r.address for r in self._result.ran if r.made is None)
        found = _census(str(self._executable), executable.sha256, addresses)
        return replace(
            self._process,
            executable=replace(executable, build_id=self._ready.build_id),
            read_back=self._ready.manifest,
            memory=self._result.memory.model_dump(exclude_none=True),
            server_placement=self._placement,
            counters=_counts(self._result),
            executed=self._result.executed,
            operations=self._result.operations,
            functions=tuple(_ran(r, r.made or found[r.address]) for r in self._result.ran),
        )

    def stop(self) -> None:
        self._session.stop()


def environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """Our own environment with changes; None takes a variable out."""
    env = {k: v for k, v in os.environ.items() if k not in changes}
    return env | {k: v for k, v in changes.items() if v is not None}


def _ran(ran: native.Ran, census: native.Made | native.Function) -> RanFunction:
    return RanFunction(ran.role, census.symbol, census.instructions, census.counts, ran.calls)


def process_evidence(pid: int, watched: tuple[str, ...]) -> Evidence:
    """What /proc says of a live process: only the variables a change names, never all."""
    proc = Path(f"/proc/{pid}")
    pairs = (e.partition("=") for e in (proc / "environ").read_text("utf-8", "replace").split("\0"))
    environ = {name: value for name, _, value in pairs if name in watched}
    return Evidence(environ=environ, executable=SeenExecutable(contents_digest(proc / "exe")))


@lru_cache(maxsize=64)
def _census(path: str, sha256: str, addresses: tuple[str, ...]) -> dict[str, native.Function]:
    """The functions at these addresses of the file with these contents."""
    if file_digest(Path(path)) != sha256:
        raise RunError(f"{path} changed while it ran", next_step="do not rebuild during a study")
    found = native.census(Path(path), list(addresses))
    if found.missing:
        raise RunError(f"no function of {path} holds {', '.join(found.missing)}")
    return {f.asked: f for f in found.functions}


def _measured(
    result: native.RunResult,
    health: native.Health,
    intervals: list[native.WindowInterval],
    manifest: Mapping[str, Any],
    parameters: Mapping[str, Any],
) -> Measured:
    return Measured(
        complete=result.complete,
        window_s=result.window_s,
        operations=result.operations,
        errors=result.errors,
        metrics=_metrics(result, manifest) | of_tpcc(result, parameters),
        counters=_counters(result, manifest, parameters.get("buffer_bytes", 0)),
        histogram=result.histogram,
        latency_of=result.latency_of,
        overhead_ns_per_operation=result.overhead_ns_per_operation,
        by_kind=result.by_kind,
        intervals=list(intervals),
        threads=result.threads,
        cpus=result.cpus,
        health=health,
    )


def _metrics(result: native.RunResult, manifest: Mapping[str, Any]) -> dict[str, float]:
    """Every metric of a run; one that has no value (no operation) is left out."""
    operations = result.operations
    cpu_s = sum(t.cpu_s for t in result.threads)
    found = {"throughput": operations / result.window_s}
    if "load_s" in manifest:
        found["load_seconds"] = manifest["load_s"]
    for name in ("rss_bytes", "page_table_bytes"):
        value = getattr(result.memory, name)
        if value is not None:
            found["resident_bytes" if name == "rss_bytes" else name] = value
    if not operations or not cpu_s:
        return found
    done = [t.operations for t in result.threads]
    found["operations_per_cpu_s"] = operations / cpu_s
    found["cpu_per_operation"] = cpu_s * 1e9 / operations
    found["fairness"] = min(done) / max(done)
    if "retries" in result.counters:
        found["aborts_per_operation"] = result.counters["retries"] / operations
    return found | latencies(result.histogram) | _contention(result, cpu_s)


def latencies(encoded: str) -> dict[str, float]:
    """The metrics of latency in a histogram."""
    histogram = HdrHistogram.decode(encoded)
    found = {n: value_at(histogram, q) for n, q in QUANTILES.items()}
    return found | {
        "latency_mean": float(histogram.get_mean_value()),
        "latency_max": float(histogram.get_max_value()),
    }


def _contention(result: native.RunResult, cpu_s: float) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, lock in result.contention.items():
        found[f"contention.{name}"] = lock.waits / lock.grabs if lock.grabs else 0.0
        found[f"waits_per_operation.{name}"] = lock.waits / result.operations
        found[f"spins_per_operation.{name}"] = lock.spins / result.operations
        found[f"wait_share.{name}"] = lock.wait_s / cpu_s
    return found


def _counts(result: native.RunResult) -> dict[str, int]:
    """Look-ups by cache, and whatever else the server counted by name."""
    return {f"lookups.{name}": n for name, n in result.lookups.items()} | result.counters


def _counters(
    result: native.RunResult, manifest: Mapping[str, Any], buffer_bytes: int
) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, lock in result.contention.items():
        for field in ("grabs", "waits", "spins"):
            found[f"{field}.{name}"] = getattr(lock, field)
    found |= _counts(result)
    memory = result.memory
    if memory.bytes is not None:
        assert memory.anon_huge_bytes is not None, "all are read at once"
        assert memory.private_hugetlb_bytes is not None, "all are read at once"
        found["huge_bytes"] = memory.anon_huge_bytes + memory.private_hugetlb_bytes
    extra = max(0, result.executed - result.operations) if manifest["repeat_every"] else 0
    return found | {
        "repeats": extra,
        "executed": result.executed,
        "checksummed_bytes": result.executed * buffer_bytes,
    }
