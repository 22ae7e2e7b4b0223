"""Which runs count, and the blocks of observations that they make."""

from __future__ import annotations

from collections.abc import Sequence

from assay.native.messages import Health, SliceUse, WindowInterval
from assay.record.run import RunRecord
from assay.stats.constants import STANDARD, Constants
from assay.stats.latency import Saturation, latency_count, saturated
from assay.stats.stationarity import trend_of
from assay.verdict.observations import Block, KindSeen, Observation, Overhead, Seen, SliceSeen

LEAST_REST_S = 0.020
"""In a shorter rest the server's own way to a stop is most of what it did."""


def status_of(run: RunRecord, voided: set[tuple[int, int, str]], blocks: int) -> str:
    """What became of a run: counts, void, failed, or aside.

    Aside is a good run whose case was run again in its block, or whose block was not completed;
    `voided` holds block, attempt and case of every void run.
    """
    if run.status != "ok":
        return run.status
    aside = (run.block, run.attempt, run.case) in voided or run.block >= blocks
    return "aside" if aside else "counts"


def statuses(runs: Sequence[RunRecord], blocks: int) -> list[str]:
    """`status_of` every run; `blocks` complete blocks were judged."""
    voided = {(r.block, r.attempt, r.case) for r in runs if r.status == "void"}
    return [status_of(r, voided, blocks) for r in runs]


def counting(runs: Sequence[RunRecord], blocks: int) -> list[RunRecord]:
    """The runs that verdicts are made of."""
    return [r for r, s in zip(runs, statuses(runs, blocks), strict=True) if s == "counts"]


def counted_blocks(
    runs: Sequence[RunRecord], blocks: int, constants: Constants = STANDARD
) -> list[Block]:
    """The complete blocks that verdicts were made of, as `Replay` has them but for the order of
    their runs' attempts; `blocks` complete blocks were judged."""
    cells: list[dict[tuple[str, str], Observation]] = [{} for _ in range(blocks)]
    took_s = [0.0] * blocks
    for run in counting(runs, blocks):
        cells[run.block][run.case, run.arm] = observation(run, constants)
        took_s[run.block] += run.took_s
    return [Block(held, took) for held, took in zip(cells, took_s, strict=True)]


def observation(record: RunRecord, constants: Constants) -> Observation:
    """What a run was, as verdicts take it."""
    seen = {f: Seen(w.held, w.evidence) for f, w in record.witness.items()}
    return Observation(
        metrics=record.metrics,
        witness=seen,
        dose=record.dose,
        latencies=latency_count(record.operations, record.latency_of),
        latency_of=record.latency_of,
        trend=trend_of(record.intervals),
        saturated=_saturated(record.health, constants),
        open_loop=record.health is not None and record.health.asked_per_s is not None,
        overhead=overhead(record),
        machine=_machine(record.health),
        slices=_slices(record),
        kinds={
            name: KindSeen(kind.metrics, latency_count(kind.operations, record.latency_of))
            for name, kind in record.by_kind.items()
        },
    )


def _saturated(health: Health | None, constants: Constants) -> Saturation | None:
    if health is None or health.asked_per_s is None:
        return None
    return saturated(health.asked_per_s, health.achieved_per_s, constants)


def overhead(record: RunRecord) -> Overhead | None:
    """What measuring took of an operation's time; workers of one CPU have that time in turn."""
    ns, operations = record.overhead_ns_per_operation, record.operations
    if ns is None or not operations:
        return None
    pinned = {thread.cpu for thread in record.threads if thread.cpu is not None}
    workers = len(pinned) or max(1, len(record.threads))
    return Overhead(ns, record.window_s * workers * 1e9 / operations)


def _machine(health: Health | None) -> dict[str, float]:
    return {} if health is None else {"steal": health.steal, "foreign_cpu": health.foreign_cpu}


def _slices(record: RunRecord) -> tuple[SliceSeen, ...]:
    """The run's slices in order; none where arms did not take turns."""
    return tuple(_slice(i, i.slice) for i in record.intervals if i.slice is not None)


def _slice(interval: WindowInterval, used: SliceUse) -> SliceSeen:
    seconds, operations, cpu_s = interval.length_ms / 1000, interval.operations, used.server_cpu_s
    metrics = {"throughput": operations / seconds} if seconds > 0 else {}
    if operations and cpu_s:
        metrics["operations_per_cpu_s"] = operations / cpu_s
        metrics["cpu_per_operation"] = cpu_s * 1e9 / operations
    foreign = (used.foreign_cpu_s + used.steal_s) / seconds if seconds > 0 else 0.0
    return SliceSeen(metrics, foreign, _idle_cpus(used), used.calibration)


def _idle_cpus(used: SliceUse) -> float:
    """CPUs that a server took while others had the turn; short rests say nothing."""
    rest_s, cpu_s = used.rest_s or 0.0, used.rest_cpu_s or 0.0
    return cpu_s / rest_s if rest_s >= LEAST_REST_S else 0.0
