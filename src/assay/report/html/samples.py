"""The runs as the report shows them: dots, medians, latency quantiles, work per CPU, witnesses.

Pure functions from runs to plain values. Only runs that count enter a summary, and every run is
shown, those that do not count with the reason. Quantiles come from merged histograms: the mean of
two runs' 99th percentiles is the 99th percentile of nothing.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.core.metrics import metric
from assay.core.units import format_quantity
from assay.plan import CONTROLS, Plan
from assay.record import RunRecord, statuses
from assay.report.words.sections import heading

EVIDENCE_SHOWN = 4


def axis_scale(largest: float, unit: str) -> tuple[float, str]:
    """Divisor and label of an axis, in the same units that a text has."""
    if unit == "fraction":
        return 0.01, "%"
    if unit == "ns":
        steps = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
        return next(((limit, name) for limit, name in steps if largest >= limit), (1.0, "ns"))
    steps = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
    return next(((s, p + unit) for s, p in steps if largest >= s), (1.0, unit))


# every run


@dataclass(frozen=True)
class RunPoint:
    """One run; `value` is None where it has none that can be drawn."""

    run: int
    arm: str
    value: float | None
    status: str
    """"counts", "aside", "void" or "failed"."""
    title: str
    """What is said of it when pointed at."""


@dataclass(frozen=True)
class BlockStripe:
    """First and last run of one attempt at a block."""

    block: int
    first: int
    last: int


@dataclass(frozen=True)
class PhaseStart:
    """The first run of a phase after the first: fresh runs after a screen, extensions."""

    phase: str
    run: int


@dataclass(frozen=True)
class RunGroup:
    """Every run of one case."""

    case: str
    heading: str
    """Empty where there is one case."""
    unit: str
    """Of the axis, empty for a plain number."""
    divisor: float
    """What turns a value into one of the axis."""
    arms: list[str]
    baseline: str
    points: list[RunPoint]
    blocks: list[BlockStripe]
    phases: list[PhaseStart]
    medians: dict[str, float]
    """By arm, of the runs that count."""


@dataclass(frozen=True)
class NotCounted:
    """A void or failed run."""

    run: int
    case: str
    arm: str
    block: int
    attempt: int
    """From 1 on."""
    status: str
    reason: str


@dataclass(frozen=True)
class TallyRow:
    """Runs of one arm by what became of them."""

    arm: str
    levels: str
    role: str
    """"self-check", "placebo" or empty."""
    made: int
    counts: int
    aside: int
    void: int
    failed: int


def run_groups(plan: Plan, runs: Sequence[RunRecord], blocks: int) -> list[RunGroup]:
    """Every run as a dot, a group per case."""
    marked = list(zip(runs, statuses(runs, blocks), strict=True))
    values = [v for r in runs if (v := _value(plan, r)) is not None]
    divisor, unit = axis_scale(max(values, default=0.0), metric(plan.primary).unit)
    groups = []
    for case in plan.cases:
        mine = [(r, s) for r, s in marked if r.case == case.name]
        if not mine:
            continue
        groups.append(
            RunGroup(
                case=case.name,
                heading=heading(plan, case.name),
                unit=unit,
                divisor=divisor,
                arms=[a.name for a in plan.arms if any(r.arm == a.name for r, _ in mine)],
                baseline=plan.baseline,
                points=[_point(plan, r, s) for r, s in mine],
                blocks=_stripes(r for r, _ in marked),
                phases=_phases(plan, runs),
                medians=_medians(plan, mine),
            )
        )
    return groups


def _value(plan: Plan, run: RunRecord) -> float | None:
    value = run.metrics.get(plan.primary)
    return value if value and value > 0 else None


def _point(plan: Plan, run: RunRecord, status: str) -> RunPoint:
    value = _value(plan, run)
    shown = "no value" if value is None else format_quantity(value, metric(plan.primary).unit)
    aside = "does not count: its block was run again for this case, or not completed"
    why = aside if status == "aside" else ""
    if status in ("void", "failed"):
        why = f"{status}: {run.reason}"
    title = f"run {run.run}, block {run.block}, {run.arm}: {shown}"
    return RunPoint(run.run, run.arm, value, status, f"{title}\n{why}" if why else title)


def _stripes(runs: Iterable[RunRecord]) -> list[BlockStripe]:
    """First and last run of every block and attempt, in the order made."""
    found: dict[tuple[int, int], list[int]] = {}
    for run in runs:
        found.setdefault((run.block, run.attempt), []).append(run.run)
    return [BlockStripe(block, made[0], made[-1]) for (block, _), made in found.items()]


def _phases(plan: Plan, runs: Sequence[RunRecord]) -> list[PhaseStart]:
    """The first run of each phase after the first: fresh runs after a screen, extensions."""
    found: dict[str, int] = {}
    for run in runs:
        name = f"extension {run.extension}" if run.extension else ""
        if plan.screen is not None and not name:
            name = "screen" if run.block < plan.screen.blocks else "fresh runs"
        found.setdefault(name, run.run)
    return [PhaseStart(name, run) for name, run in found.items() if name]


def _medians(plan: Plan, marked: Sequence[tuple[RunRecord, str]]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for run, status in marked:
        value = _value(plan, run)
        if status == "counts" and value is not None:
            values.setdefault(run.arm, []).append(value)
    return {arm: statistics.median(found) for arm, found in values.items()}


def not_counted(runs: Sequence[RunRecord], blocks: int) -> list[NotCounted]:
    """The void and failed runs, with their reasons."""
    return [
        NotCounted(
            run=r.run,
            case=r.case,
            arm=r.arm,
            block=r.block,
            attempt=r.attempt + 1,
            status=s,
            reason=r.reason,
        )
        for r, s in zip(runs, statuses(runs, blocks), strict=True)
        if s in ("void", "failed")
    ]


def tally(plan: Plan, runs: Sequence[RunRecord], blocks: int) -> list[TallyRow]:
    """Runs per arm: made, counting, set aside, void, failed."""
    counted = Counter((r.arm, s) for r, s in zip(runs, statuses(runs, blocks), strict=True))
    return [
        TallyRow(
            arm=a.name,
            levels=", ".join(f"{f} = {level}" for f, level in a.levels.items()),
            role="self-check" if a.name in CONTROLS else "placebo" if a.placebo else "",
            made=sum(n for (arm, _), n in counted.items() if arm == a.name),
            counts=counted[a.name, "counts"],
            aside=counted[a.name, "aside"],
            void=counted[a.name, "void"],
            failed=counted[a.name, "failed"],
        )
        for a in plan.arms
    ]


# medians of every metric


@dataclass(frozen=True)
class MedianRow:
    """One arm's medians, as text, in the order of the group's metrics; empty where unknown."""

    arm: str
    cells: list[str]


@dataclass(frozen=True)
class MedianGroup:
    """The medians of one case."""

    case: str
    heading: str
    """Empty where there is one case."""
    metrics: list[str]
    rows: list[MedianRow]


def metric_medians(plan: Plan, runs: Sequence[RunRecord]) -> list[MedianGroup]:
    """Medians over the runs that count, by arm, of the primary and the watched metrics."""
    names = [plan.primary, *(n for n in plan.also if n != plan.primary)]
    groups = []
    for case in plan.cases:
        mine = [r for r in runs if r.case == case.name]
        cells = {a.name: [_median_text(mine, a.name, n) for n in names] for a in plan.arms}
        rows = [MedianRow(arm, texts) for arm, texts in cells.items() if any(texts)]
        if rows:
            groups.append(MedianGroup(case.name, heading(plan, case.name), names, rows))
    return groups


def _median_text(runs: Sequence[RunRecord], arm: str, name: str) -> str:
    values = [r.metrics[name] for r in runs if r.arm == arm and name in r.metrics]
    return format_quantity(statistics.median(values), metric(name).unit) if values else ""


# work per CPU


@dataclass(frozen=True)
class CpuBusy:
    """The busy fraction of one CPU over an arm's runs."""

    cpu: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class CpuArm:
    """One arm's CPUs, and in words how even the work was."""

    arm: str
    runs: int
    cpus: list[CpuBusy]
    mean: str
    least: str
    """The idlest CPU."""
    most: str
    """The busiest CPU."""
    spread: str
    """How far these two are apart."""


@dataclass(frozen=True)
class CpuGroup:
    """The arms of one case."""

    case: str
    heading: str
    """Empty where there is one case."""
    arms: list[CpuArm]


def cpu_groups(plan: Plan, runs: Sequence[RunRecord]) -> list[CpuGroup]:
    """The busy fraction of every CPU, by arm: mean over the runs that count, and range."""
    groups = []
    for case in plan.cases:
        arms = []
        for arm in plan.arms:
            mine = [r for r in runs if r.case == case.name and r.arm == arm.name and r.cpus]
            if cpus := _cpus(mine):
                arms.append(_cpu_arm(arm.name, len(mine), cpus))
        if arms:
            groups.append(CpuGroup(case.name, heading(plan, case.name), arms))
    return groups


def _cpus(runs: Sequence[RunRecord]) -> list[CpuBusy]:
    busy: dict[int, list[float]] = {}
    for run in runs:
        for cpu in run.cpus:
            busy.setdefault(cpu.cpu, []).append(cpu.busy)
    return [CpuBusy(cpu, statistics.fmean(b), min(b), max(b)) for cpu, b in sorted(busy.items())]


def _cpu_arm(name: str, runs: int, cpus: list[CpuBusy]) -> CpuArm:
    """Mean, and the idlest and the busiest CPU, as text."""
    means = [c.mean for c in cpus]
    least, most = min(cpus, key=lambda c: c.mean), max(cpus, key=lambda c: c.mean)
    return CpuArm(
        arm=name,
        runs=runs,
        cpus=cpus,
        mean=format_quantity(statistics.fmean(means), "fraction"),
        least=f"CPU {least.cpu}: {format_quantity(least.mean, 'fraction')}",
        most=f"CPU {most.cpu}: {format_quantity(most.mean, 'fraction')}",
        spread=f"{100 * (max(means) - min(means)):.3g} points",
    )


# witnesses


@dataclass(frozen=True)
class SeenEvidence:
    """One text of evidence, and in how many runs it was seen."""

    text: str
    runs: int
    held: bool


@dataclass(frozen=True)
class LevelWitness:
    """What was seen of one level of one factor."""

    factor: str
    change: str
    level: str
    held: int
    """Runs in which the level was in force."""
    seen: int
    """Runs that had the level."""
    evidence: list[SeenEvidence]
    """What spoke against the level first."""
    more: int
    """Pieces of evidence that are not shown."""


def witnesses(plan: Plan, runs: Sequence[RunRecord]) -> list[LevelWitness]:
    """What was seen of every factor at every level, over the runs that count."""
    found = []
    for name, factor in plan.factors.items():
        for level in factor.levels:
            seen = [w for r in runs if (w := r.witness.get(name)) and w.level == level]
            evidence = Counter(w.evidence for w in seen)
            against = Counter(w.evidence for w in seen if not w.held)
            shown = [*against, *(e for e in evidence if e not in against)]
            found.append(
                LevelWitness(
                    factor=name,
                    change=factor.change,
                    level=level,
                    held=sum(w.held for w in seen),
                    seen=len(seen),
                    evidence=[
                        SeenEvidence(e, evidence[e], e not in against)
                        for e in shown[:EVIDENCE_SHOWN]
                    ],
                    more=max(0, len(shown) - EVIDENCE_SHOWN),
                )
            )
    return found
