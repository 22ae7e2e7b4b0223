"""What a run found, on its way from the bench to its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.native.messages import CpuShare, Health, ThreadResult, WindowInterval
from assay.record.replay import Step
from assay.record.run import KindRecord, RunRecord, Status, WitnessRecord


@dataclass(frozen=True)
class RunFound:
    """What a run found, as `RunRecord` has it; nothing where it failed, for `reason`."""

    status: Status
    reason: str
    window_s: float = 0.0
    operations: int = 0
    errors: int = 0
    metrics: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    histogram: str = ""
    latency_of: str = "operations"
    overhead_ns_per_operation: float | None = None
    intervals: list[WindowInterval] = field(default_factory=list)
    threads: list[ThreadResult] = field(default_factory=list)
    cpus: list[CpuShare] = field(default_factory=list)
    read_back: Mapping[str, Any] = field(default_factory=dict)
    witness: Mapping[str, WitnessRecord] = field(default_factory=dict)
    dose: Mapping[str, float] = field(default_factory=dict)
    health: Health | None = None
    profile: str = ""
    by_kind: Mapping[str, KindRecord] = field(default_factory=dict)
    series: Mapping[str, list[float | None]] = field(default_factory=dict)

    def recorded(self, step: Step, run: int, started: str, took_s: float) -> RunRecord:
        """The record of the run that was made for a step."""
        return RunRecord(
            run=run,
            case=step.case,
            arm=step.arm,
            block=step.block,
            attempt=step.attempt,
            slot=step.slot,
            retry=step.retry,
            extension=step.extension,
            status=self.status,
            reason=self.reason,
            started=started,
            took_s=took_s,
            window_s=self.window_s,
            operations=self.operations,
            errors=self.errors,
            metrics=dict(self.metrics),
            counters=dict(self.counters),
            histogram=self.histogram,
            latency_of=self.latency_of,
            overhead_ns_per_operation=self.overhead_ns_per_operation,
            intervals=self.intervals,
            threads=self.threads,
            cpus=self.cpus,
            read_back=dict(self.read_back),
            witness=dict(self.witness),
            dose=dict(self.dose),
            health=self.health,
            profile=self.profile,
            by_kind=dict(self.by_kind),
            series=dict(self.series),
        )
