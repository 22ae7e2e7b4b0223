"""What a study says about itself, from its own runs: warnings, steadiness, rare slow runs."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence

from assay.plan import CONTROLS, Plan
from assay.reasons import Code, Reason
from assay.stats import warnings
from assay.stats.contrast import Contrast
from assay.stats.rule import Strength
from assay.stats.slow_runs import stability
from assay.stats.stationarity import steadiness
from assay.verdict.observations import (
    Block,
    Overhead,
    observations,
    orders,
    predecessors,
    table,
)
from assay.verdict.points import cases_begun
from assay.verdict.rows import ContrastRow, Row
from assay.verdict.two_groups import two_groups
from assay.verdict.validity import witness


def study_warnings(
    plan: Plan,
    blocks: Sequence[Block],
    values: Mapping[tuple[str, str], Sequence[tuple[int, float]]],
) -> list[Reason]:
    """Stand-ins, and what the runs themselves warn of; none changes a verdict."""
    found = [
        Reason.of(Code.STAND_IN, case=case.name, stand_in=case.stand_in)
        for case in plan.cases
        if case.stand_in
    ]
    fixed = plan.constants
    seen = []
    for case in cases_begun(plan, blocks):
        logs, order = table(blocks, case, plan.primary), orders(blocks, case)
        every = {index: list(block.cells) for index, block in enumerate(blocks)}
        slot = warnings.slot_warning(logs, order, fixed)
        if fixed.checks > 1 and (len(plan.arms) == 2 or plan.measuring == "slices"):
            seen += [carried_between(plan, blocks, case), slot]
            continue
        carry = warnings.carry_warning(logs, every, plan.baseline, case=case, constants=fixed)
        same_question = carry is not None and len(plan.arms) == 2
        seen += [carry, None if same_question else slot]
    found += [warning for warning in seen if warning is not None]
    numbers = {
        f"{case}: {name}" if len(plan.cases) > 1 else name: [value for _, value in series]
        for (case, name), series in values.items()
    }
    for check in (warnings.serial_warning, warnings.ties_warning):
        found += _together({name: check(name, series, fixed) for name, series in numbers.items()})
    if fixed.checks > 2:
        found += two_groups(plan, blocks)
    found += _busy_machine(plan, blocks) + _overhead(plan, blocks)
    return found + _closed_loop(plan, blocks)


def _busy_machine(plan: Plan, blocks: Sequence[Block]) -> list[Reason]:
    """Runs that others disturbed and that count all the same; arms that take turns share it."""
    if plan.measuring == "slices":
        return []
    seen = [run for block in blocks for run in block.cells.values()]
    took = [sum(run.machine.values()) for run in seen if run.disturbed]
    if not took:
        return []
    middle = statistics.median(took)
    return [Reason.of(Code.BUSY_MACHINE, runs=len(took), of=len(seen), cpus=middle)]


OVERHEAD_SHARE = 0.1
"""Of the smallest effect: what measuring may take of an operation's time without a word."""


def _overhead(plan: Plan, blocks: Sequence[Block]) -> list[Reason]:
    """Measuring that takes a part of what is measured: of each case the arm with the largest."""
    found = []
    for case in plan.cases:
        arms = [(arm.name, _median_overhead(blocks, case.name, arm.name)) for arm in plan.arms]
        shares = [(seen.share, name, seen) for name, seen in arms if seen is not None]
        if not shares:
            continue
        share, name, seen = max(shares, key=lambda it: it[0])
        if share <= OVERHEAD_SHARE * plan.smallest:
            continue
        fields = {"case": case.name} if len(plan.cases) > 1 else {}
        fields |= {"arm": name}
        found.append(
            Reason.of(
                Code.OVERHEAD,
                share=share,
                ns=seen.ns,
                operation_ns=seen.operation_ns,
                smallest=plan.smallest,
                **fields,
            )
        )
    return found


def _median_overhead(blocks: Sequence[Block], case: str, arm: str) -> Overhead | None:
    seen = [run.overhead for run in observations(blocks, (case,), (arm,))]
    known = sorted((it for it in seen if it is not None), key=lambda it: it.share)
    return known[len(known) // 2] if known else None


def carried_between(plan: Plan, blocks: Sequence[Block], case: str) -> Reason | None:
    """Whether the contrast of two arms depends on the run before each; slices have none."""
    if len(plan.arms) != 2 or plan.measuring == "slices":
        return None
    values, turned = two_arms(plan, blocks, case)
    return warnings.turned_warning(values, turned, _other(plan), plan.baseline, plan.constants)


def two_arms(
    plan: Plan, blocks: Sequence[Block], case: str
) -> tuple[dict[int, float], dict[int, bool]]:
    """Of two arms: block -> contrast, and block -> whether each ran after the other, or both
    after the same one; other blocks have no such entry."""
    arm, base = _other(plan), plan.baseline
    values = {
        index: row[arm] - row[base]
        for index, row in table(blocks, case, plan.primary).items()
        if len(row) == 2
    }
    turned: dict[int, bool] = {}
    for index, before in predecessors(blocks, case).items():
        pair = before.get(arm), before.get(base)
        if pair == (base, arm):
            turned[index] = True
        elif pair[0] is not None and pair[0] == pair[1]:
            turned[index] = False
    return values, turned


def _other(plan: Plan) -> str:
    """Of two arms, the one that is not the baseline."""
    return next(arm.name for arm in plan.arms if arm.name != plan.baseline)


def _together(found: Mapping[str, Reason | None]) -> list[Reason]:
    """One warning about several contrasts: the first in full, the others by name."""
    there = {name: warning for name, warning in found.items() if warning is not None}
    if not there:
        return []
    first, *others = there
    return [there[first].having(others=tuple(others)) if others else there[first]]


def _closed_loop(plan: Plan, blocks: Sequence[Block]) -> list[Reason]:
    """A latency without a schedule of intended sends says what waited, not who would have."""
    if not plan.primary.startswith("latency_"):
        return []
    names = [case.name for case in plan.cases]
    closed = [
        s for s in observations(blocks, names, [a.name for a in plan.arms]) if not s.open_loop
    ]
    if not closed:
        return []
    return [Reason.of(Code.CLOSED_LOOP)]


def not_steady(
    plan: Plan, blocks: Sequence[Block], cases: Sequence[str], contrast: Contrast
) -> Reason | None:
    """Why the runs of a contrast are not steady inside their window."""
    margin = plan.rule.margin_log
    for case in cases:
        trends = {
            arm: {
                index: seen.trend
                for index, block in enumerate(blocks)
                if (seen := block.cells.get((case, arm))) is not None and seen.trend is not None
            }
            for arm in dict.fromkeys((plan.baseline, *contrast.arms))
        }
        for arm, steady in steadiness(trends, plan.baseline, margin, plan.constants).items():
            if steady.why is not None and arm in contrast.arms:
                return steady.why
    return None


def stability_rows(plan: Plan, blocks: Sequence[Block], arms: Collection[str]) -> list[Row]:
    """A row for each arm of which some run, or of the baseline, was far below the usual."""
    names = [a.name for a in plan.arms if a.name in arms and a.name not in CONTROLS]
    efforts = {a.name: a.effort for a in plan.arms}
    rows = []
    for case in cases_begun(plan, blocks):
        logs = table(blocks, case, plan.primary)
        found = stability(logs, plan.baseline, names, plan.alpha, plan.constants)
        for line in found:
            if not line.slow and not line.baseline_slow:
                continue
            rows.append(
                Row(
                    case=case,
                    contrast=ContrastRow(
                        kind="stability", of=line.arm, given="", against=plan.baseline
                    ),
                    arm=line.arm,
                    metric=plan.primary,
                    word=str(line.word),
                    strength=str(Strength.SUGGESTS),
                    estimate=line.estimate,
                    low=line.low,
                    high=line.high,
                    blocks=line.runs,
                    effort=efforts[line.arm],
                    dose={},
                    witness=witness(blocks, [case], (line.arm, plan.baseline)),
                    reason=line.reason,
                    reasons=[line.why],
                )
            )
    return rows
