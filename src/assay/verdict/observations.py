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
from assay.stats.latency import Saturation
from assay.stats.rounds import levels_of
from assay.verdict.rows import SUITE

UNEVEN_CPUS = 0.5
"""Where others take so many CPUs more in one arm's slice than in another's, the round is void."""

Table = dict[int, dict[str, float]]
"""Block index -> arm -> signed log of a metric; what has no logarithm is missing."""


@dataclass(frozen=True)
class Seen:
    """What a witness said in one run."""

    held: bool
    evidence: str


@dataclass(frozen=True)
class SliceSeen:
    """One slice of a run: its metrics, and the CPUs that others took meanwhile."""

    metrics: Mapping[str, float]
    foreign_cpus: float


@dataclass(frozen=True)
class Observation:
    """One run that counts.

    metrics    by name, in the units of `assay.core.metrics`
    witness    and `dose`, by factor
    latencies  how many latencies its histogram holds, and what one is of
    trend      ln(throughput of the second half of the window / of the first); None if unknown
    saturated  the rate its server could not keep up with, or None
    open_loop  whether requests were sent on a schedule of their own
    machine    what else took CPUs meanwhile: "steal" as a fraction, "foreign_cpu" as CPUs
    slices     where arms took turns: each turn, the first of one arm next to the first of another
    """

    metrics: Mapping[str, float]
    witness: Mapping[str, Seen]
    dose: Mapping[str, float]
    latencies: int = 0
    latency_of: str = "operations"
    trend: float | None = None
    saturated: Saturation | None = None
    open_loop: bool = False
    machine: Mapping[str, float] = field(default_factory=dict)
    slices: tuple[SliceSeen, ...] = ()


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
    return {
        index: {arm: sign * value for arm, value in _row(block, case, name).items()}
        for index, block in enumerate(blocks)
    }


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
    logs = [
        _round(slices, name) for slices in zip(*(s.slices for s in cells.values()), strict=True)
    ]
    return [found for found in logs if found is not None]


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
    if len(plan.cases) > 1:
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
