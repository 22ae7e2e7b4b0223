"""What complete blocks hold, and the numbers that contrasts are made of.

A `Block` keeps its runs in the order they were made. From blocks come tables (block -> arm ->
signed log of a metric, up is better) per case, and over all cases the mean of the logs.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.core.metrics import metric
from assay.plan import Plan
from assay.stats.calibration import CalibratedRun, calibrated_levels
from assay.stats.latency import Saturation
from assay.stats.rounds import levels_of
from assay.verdict.rows import SUITE

FOREIGN_CPUS, STOLEN_CPUS = 0.10, 0.05
"""CPUs' worth of other processes' work and of the hypervisor's: above, a run alone is void."""

UNEVEN_CPUS = 0.5
"""Where others take so many CPUs more in one arm's slice than in another's, the round is void."""

IDLE_CPUS = 0.01
"""A server that takes more of a CPU while others have the turn voids the rounds on both sides."""

Table = dict[int, dict[str, float]]
"""Block index -> arm -> signed log of a metric; what has no logarithm is missing."""


@dataclass(frozen=True)
class Seen:
    """What a witness said in one run."""

    held: bool
    evidence: str


@dataclass(frozen=True)
class SliceSeen:
    """One slice of a run: its metrics, and the CPUs that others took meanwhile.

    `idle_cpus`: CPUs that its own server took in the rest before it. `calibration`: how fast the
    machine was around it, where arms are alone; else None.
    """

    metrics: Mapping[str, float]
    foreign_cpus: float
    idle_cpus: float = 0.0
    calibration: float | None = None


@dataclass(frozen=True)
class Overhead:
    """What measuring took of an operation's time, and that time on its worker, in nanoseconds."""

    ns: float
    operation_ns: float

    @property
    def share(self) -> float:
        """The fraction of an operation's time that is no operation."""
        return self.ns / self.operation_ns


@dataclass(frozen=True)
class KindSeen:
    """What a run did of one kind of request: its metrics, and how many latencies they are of."""

    metrics: Mapping[str, float]
    latencies: int


@dataclass(frozen=True)
class Observation:
    """One run that counts.

    metrics    by name, in the units of `assay.core.metrics`
    witness    and `dose`, by factor
    latencies  how many latencies its histogram holds, and what one is of
    trend      ln(throughput of the second half of the window / of the first); None if unknown
    saturated  the rate its server could not keep up with, or None
    open_loop  whether requests were sent on a schedule of their own
    overhead   what measuring took of an operation's time, or None where that is not known
    machine    what else took CPUs meanwhile: "steal" as a fraction, "foreign_cpu" as CPUs
    slices     where arms took turns: each turn, the first of one arm next to the first of another;
               where runs were calibrated: each slice of this one
    kinds      by kind of request; empty where all are of one kind
    """

    metrics: Mapping[str, float]
    witness: Mapping[str, Seen]
    dose: Mapping[str, float]
    latencies: int = 0
    latency_of: str = "operations"
    trend: float | None = None
    saturated: Saturation | None = None
    open_loop: bool = False
    overhead: Overhead | None = None
    machine: Mapping[str, float] = field(default_factory=dict)
    slices: tuple[SliceSeen, ...] = ()
    kinds: Mapping[str, KindSeen] = field(default_factory=dict)

    @property
    def disturbed(self) -> bool:
        """Whether others took more of the machine than a run alone should bear."""
        foreign, stolen = (self.machine.get(name, 0.0) for name in ("foreign_cpu", "steal"))
        return foreign > FOREIGN_CPUS or stolen > STOLEN_CPUS


@dataclass(frozen=True)
class Block:
    """A complete block: its observations by case and arm, in the order they ran (failed ones
    missing), and its cost. `after`: the arm of the run that was made just before, or empty."""

    cells: Mapping[tuple[str, str], Observation]
    took_s: float
    after: str = ""


def table(blocks: Sequence[Block], case: str, name: str) -> Table:
    """The table of one case and metric."""
    sign = metric(name).sign
    rows = _calibrated(blocks, case, name) or [_row(block, case, name) for block in blocks]
    return {
        index: {arm: sign * value for arm, value in row.items()} for index, row in enumerate(rows)
    }


def _calibrated(blocks: Sequence[Block], case: str, name: str) -> list[dict[str, float]]:
    """Of each block, arm -> log of a metric without what the machine's speed did; empty where runs
    were not calibrated, or slices do not show the metric."""
    runs = [
        {arm: _calibrated_run(seen, name) for arm, seen in _cells(block, case).items()}
        for block in blocks
    ]
    if not any(run.did for row in runs for run in row.values()):
        return []
    # A run of which no slice counts is missing from its block.
    return list(calibrated_levels([{a: r for a, r in row.items() if r.did} for row in runs]))


def _calibrated_run(seen: Observation, name: str) -> CalibratedRun:
    pairs = [(s.metrics.get(name, 0.0), s.calibration or 0.0) for s in seen.slices]
    counted = [(math.log(did), math.log(speed)) for did, speed in pairs if min(did, speed) > 0]
    return CalibratedRun([did for did, _ in counted], [speed for _, speed in counted])


def _row(block: Block, case: str, name: str) -> dict[str, float]:
    """Arm -> log of a metric; where arms took turns, its level against the others' by rounds."""
    cells = _cells(block, case)
    if rounds := _rounds(cells, name):
        return dict(zip(cells, levels_of(rounds), strict=True))
    return {arm: math.log(value) for arm, value in _values(cells, name).items()}


def amounts(block: Block, case: str, name: str) -> dict[str, float]:
    """Arm -> a metric as measured; where arms took turns, its mean over their rounds."""
    cells = _cells(block, case)
    if rounds := _rounds(cells, name):
        means = np.exp(np.array(rounds)).mean(axis=0)
        return dict(zip(cells, means.tolist(), strict=True))
    return _values(cells, name)


def _cells(block: Block, case: str) -> dict[str, Observation]:
    return {arm: seen for (of, arm), seen in block.cells.items() if of == case}


def _values(cells: Mapping[str, Observation], name: str) -> dict[str, float]:
    """Arm -> a metric as measured, where it is above zero."""
    return {arm: value for arm, seen in cells.items() if (value := seen.metrics.get(name, 0.0)) > 0}


def _rounds(cells: Mapping[str, Observation], name: str) -> list[list[float]]:
    """The rounds of slices that count, as logs by arm; none where arms did not take turns."""
    slices = [seen.slices for seen in cells.values()]
    if any(s.calibration is not None for own in slices for s in own):
        return []
    rounds = list(zip(*slices, strict=True))
    void = worked_idle(rounds)
    logs = [_round(each, name) for index, each in enumerate(rounds) if index not in void]
    return [found for found in logs if found is not None]


def worked_idle(rounds: Sequence[Sequence[SliceSeen]]) -> set[int]:
    """Rounds in which, or just before or after which, a server worked in others' turns."""
    late = [i for i, each in enumerate(rounds) if max(s.idle_cpus for s in each) > IDLE_CPUS]
    return {index for i in late for index in (i - 1, i)}


def _round(slices: Sequence[SliceSeen], name: str) -> list[float] | None:
    """One round's logs by arm; None where a slice has no value, or others disturbed one slice and
    not another."""
    foreign = [s.foreign_cpus for s in slices]
    values = [s.metrics.get(name, 0.0) for s in slices]
    if min(values) <= 0 or max(foreign) - min(foreign) > UNEVEN_CPUS:
        return None
    return [math.log(value) for value in values]


def suite_table(plan: Plan, blocks: Sequence[Block], name: str) -> Table:
    """The table over all cases: the mean of the logs, of arms that every case has."""
    tables = [table(blocks, case.name, name) for case in plan.cases]
    if len(tables) == 1:
        return tables[0]
    found: Table = {}
    for index in range(len(blocks)):
        common = set.intersection(*(set(t[index]) for t in tables))
        found[index] = {a: statistics.fmean(t[index][a] for t in tables) for a in sorted(common)}
    return found


def tables(plan: Plan, blocks: Sequence[Block], name: str) -> dict[str, Table]:
    """The table of every case, and of the suite where there are several."""
    found = {case.name: table(blocks, case.name, name) for case in plan.cases}
    if plan.has_suite:
        found[SUITE] = suite_table(plan, blocks, name)
    return found


def orders(blocks: Sequence[Block], case: str) -> dict[int, list[str]]:
    """The arms of each block in the order they ran."""
    return {
        index: [arm for of, arm in block.cells if of == case] for index, block in enumerate(blocks)
    }


def predecessors(blocks: Sequence[Block], case: str) -> dict[int, dict[str, str]]:
    """Of each block, arm -> the arm that ran just before its run of a case, if it is known."""
    found: dict[int, dict[str, str]] = {}
    for index, block in enumerate(blocks):
        before, found[index] = block.after, {}
        for of, arm in block.cells:
            if of == case and before:
                found[index][arm] = before
            before = arm
    return found


def observations(
    blocks: Sequence[Block], cases: Sequence[str], arms: Sequence[str]
) -> list[Observation]:
    """Every observation of some arms in some cases."""
    return [
        seen
        for block in blocks
        for (case, arm), seen in block.cells.items()
        if case in cases and arm in arms
    ]
