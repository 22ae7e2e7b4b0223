"""One run as it stands in `runs.jsonl`: a line each, appended and fsynced as the run ends."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from assay.native.messages import CpuShare, Health, ThreadResult, WindowInterval

Status = Literal["ok", "void", "failed"]


class Recorded(BaseModel):
    """The base of what is recorded: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class WitnessRecord(Recorded):
    """What was seen of one factor in one run."""

    level: str
    held: bool
    evidence: str


class KindRecord(Recorded):
    """What a run did of one kind of request: metrics in the units of `assay.core.metrics`, and a
    histogram as that of the run."""

    operations: int
    metrics: dict[str, float]
    histogram: str


class RunRecord(Recorded):
    """One run: one observation, or the reason why it is none.

    Times in seconds; `metrics` in the units of `assay.core.metrics`; histograms are
    HdrHistogram V2, deflated, base64, in nanoseconds; `dose` by factor, per
    operation where the change counts it so; `extension` numbers the extension of the study
    that the run belongs to, 0 as planned; measuring took `overhead_ns_per_operation` of an
    operation's time, None where that is not the server's, or was not measured; `profile` is the
    SHA-256 of its file in `profiles/`, or empty; `by_kind` is empty where all requests are of one
    kind; `series` are those of `assay.core.timeline`, growth or state in each of `intervals`,
    None where it was not read; `health` is None where the run failed; `digest` is chained to the
    line before.
    """

    run: int
    case: str
    arm: str
    block: int
    attempt: int
    slot: int
    retry: bool
    extension: int
    status: Status
    reason: str
    started: str
    took_s: float
    window_s: float
    operations: int
    errors: int
    metrics: dict[str, float]
    counters: dict[str, float]
    histogram: str
    latency_of: str
    overhead_ns_per_operation: float | None = None
    intervals: list[WindowInterval]
    threads: list[ThreadResult]
    cpus: list[CpuShare]
    read_back: dict[str, Any]
    witness: dict[str, WitnessRecord]
    dose: dict[str, float]
    health: Annotated[Health | None, BeforeValidator(lambda seen: seen or None)]
    profile: str = ""
    by_kind: dict[str, KindRecord] = {}
    series: dict[str, list[float | None]] = {}
    digest: str = ""

    def title(self) -> str:
        """How a message names the run."""
        return f"run {self.run} ({self.case}, arm {self.arm}, block {self.block})"
