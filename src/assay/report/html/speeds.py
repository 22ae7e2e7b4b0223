"""Arms of two speeds as the report shows them: every run by its speed, and what it means.

A strip for each arm that has two, and for the baseline: a run's place across is what it measured,
its place down the block it was of, so that a machine that changes its speed shows as stretches.
Slow and fast have a shape and a word each.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.core.metrics import metric
from assay.core.units import format_quantity
from assay.plan import Plan
from assay.report.html.samples import axis_scale
from assay.report.words.sections import heading
from assay.report.words.speeds import TOGETHER, NamedSpeeds, meaning, parted, share, speeds_of
from assay.verdict.observations import Block
from assay.verdict.rows import Verdicts
from assay.verdict.two_groups import ArmSpeeds, are_together, arm_speeds


@dataclass(frozen=True)
class SpeedDot:
    """One run that counts; `speed` is "slow", "fast", or "one" where the arm has one speed."""

    block: int
    value: float
    """In the unit of the axis."""
    speed: str
    title: str


@dataclass(frozen=True)
class SpeedMark:
    """The median of one speed's runs, in the unit of the axis."""

    speed: str
    value: float


@dataclass(frozen=True)
class SpeedArm:
    """The runs of one arm. `heading` says how many are of which speed."""

    arm: str
    heading: str
    dots: list[SpeedDot]
    marks: list[SpeedMark]


@dataclass(frozen=True)
class SpeedRow:
    """What is said of one arm with two speeds."""

    arm: str
    share: str
    parted: str
    meaning: str


@dataclass(frozen=True)
class SpeedGroup:
    """The arms of one case."""

    case: str
    heading: str
    """Empty where there is one case."""
    arms: list[SpeedArm]
    rows: list[SpeedRow]


@dataclass(frozen=True)
class SpeedSection:
    """All arms of two speeds."""

    groups: list[SpeedGroup]
    axis: str
    blocks: int
    """Of the study: the strips are so many runs high."""


def speeds_view(plan: Plan, blocks: Sequence[Block], verdicts: Verdicts) -> SpeedSection | None:
    """The strips and what is said of them; None where every arm has one speed."""
    said = speeds_of(verdicts)
    found = {case.name: arm_speeds(plan, blocks, case.name) for case in plan.cases}
    values = [v for arms in found.values() for own in arms.values() for v in own.amounts.values()]
    divisor, unit = axis_scale(max(values, default=0.0), metric(plan.primary).unit)
    groups = [
        SpeedGroup(
            case,
            heading(plan, case),
            [_arm(plan, arm, own, divisor) for arm, own in _shown(plan, arms)],
            list(_rows(plan, arms, [s for s in said if s.case in ("", case)])),
        )
        for case, arms in found.items()
        if any(own.groups for own in arms.values())
    ]
    if not groups:
        return None
    return SpeedSection(groups, f"{plan.primary}, {unit}" if unit else plan.primary, len(blocks))


def _shown(plan: Plan, arms: dict[str, ArmSpeeds]) -> list[tuple[str, ArmSpeeds]]:
    """The baseline, and the arms that have two speeds."""
    return [(arm, own) for arm, own in arms.items() if own.groups or arm == plan.baseline]


def _arm(plan: Plan, name: str, own: ArmSpeeds, divisor: float) -> SpeedArm:
    dots = [_dot(plan, own, name, block, divisor) for block in sorted(own.amounts)]
    speeds = [speed for speed in ("slow", "fast", "one") if any(d.speed == speed for d in dots)]
    by_speed = {speed: [d.value for d in dots if d.speed == speed] for speed in speeds}
    counts = ", ".join(f"{len(values)} {speed}" for speed, values in by_speed.items())
    return SpeedArm(
        arm=name,
        heading=f"{name}: {counts}" if own.groups else f"{name}: one speed",
        dots=dots,
        marks=[SpeedMark(speed, statistics.median(v)) for speed, v in by_speed.items()],
    )


def _dot(plan: Plan, own: ArmSpeeds, name: str, block: int, divisor: float) -> SpeedDot:
    value = own.amounts[block]
    speed = "one" if own.groups is None else "slow" if own.groups.slow[block] else "fast"
    shown = format_quantity(value, metric(plan.primary).unit)
    of = "" if speed == "one" else f", {speed}"
    return SpeedDot(block, value / divisor, speed, f"block {block}, {name}: {shown}{of}")


def _rows(
    plan: Plan, arms: dict[str, ArmSpeeds], said: Sequence[NamedSpeeds]
) -> Iterator[SpeedRow]:
    """What is said of each arm: by the study's warning, or that the pair takes it out."""
    base = arms[plan.baseline].groups
    for one in said:
        yield SpeedRow(one.arm, share(one), parted(one), meaning(one))
    warned = {one.arm for one in said}
    for arm, own in arms.items():
        groups = own.groups
        if groups is None or base is None or arm in (plan.baseline, *warned):
            continue
        if are_together(groups, base):
            found = NamedSpeeds(arm, plan.baseline, groups.gap, groups.slow_runs, len(groups.slow))
            yield SpeedRow(arm, share(found), "", TOGETHER)
