"""A scaling study, as rows: one curve per configuration, and two configurations compared.

The number of blocks is fixed beforehand and nothing is decided on the way. The statistics are
those of `usl.py` and `usl_compare.py`. Which configuration is faster at each number of threads
comes beside it, as leads: a configuration can have more contention and still be faster.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from assay.plan import Plan
from assay.reasons import Code, Reason, worded
from assay.stats.contrast import change, series
from assay.stats.rule import Strength, Word
from assay.stats.secondary import suggest
from assay.stats.usl_comparison import Compared, compare
from assay.verdict import validity
from assay.verdict.contrast_ruling import Ruling, Task, verdict_row
from assay.verdict.curves import scaling_row
from assay.verdict.observations import Block, table
from assay.verdict.rows import ContrastRow, Row, ScalingRow
from assay.verdict.self_check import study_warnings

Curve = list[dict[int, float]]
"""Complete blocks: threads -> operations per second."""


def scale(plan: Plan, blocks: Sequence[Block], stopped: str) -> Ruling:
    """The ruling on a scaling study."""
    assert plan.scaling is not None
    finished = bool(stopped) or len(blocks) >= plan.scaling.blocks
    if not finished:
        live = frozenset((case.name, arm.name) for case in plan.cases for arm in plan.arms)
        return Ruling([], None, live, False, [])
    rows: list[Row] = []
    curves: list[ScalingRow] = []
    for case in plan.cases:
        found = {c: _curve(plan, blocks, case.name, c) for c in plan.scaling.configurations}
        curves += [
            scaling_row(case.name, name, curve, plan.scaling.cpus, plan.constants)
            for name, curve in found.items()
        ]
        if len(found) == 2:
            rows += _compared(plan, blocks, case.name, found)
            rows += _by_threads(plan, blocks, case.name)
    return Ruling(rows, None, frozenset(), True, study_warnings(plan, blocks, {}), scaling=curves)


def _curve(plan: Plan, blocks: Sequence[Block], case: str, configuration: str) -> Curve:
    """The blocks that have every point of a configuration."""
    assert plan.scaling is not None
    points = [p for p in plan.scaling.points if p.configuration == configuration]
    return [
        {p.threads: math.exp(row[p.arm]) for p in points}
        for row in table(blocks, case, plan.primary).values()
        if all(p.arm in row for p in points)
    ]


def _compared(
    plan: Plan, blocks: Sequence[Block], case: str, curves: dict[str, Curve]
) -> list[Row]:
    """Contention and coherency of the second configuration against the first.

    Blocks count that have both; the first configuration is the baseline's.
    """
    assert plan.scaling is not None
    against, config = curves
    arms = [p.arm for p in plan.scaling.points]
    rows_ = table(blocks, case, plan.primary).values()
    whole = [i for i, row in enumerate(rows_) if all(arm in row for arm in arms)]
    both = [blocks[i] for i in whole]
    found = compare(
        config,
        against,
        _curve(plan, both, case, config),
        _curve(plan, both, case, against),
        plan.scaling.cpus,
        plan.alpha,
        plan.constants,
    )
    return [_compared_row(plan, blocks, case, one) for one in found]


def _compared_row(plan: Plan, blocks: Sequence[Block], case: str, found: Compared) -> Row:
    seen = validity.witness(blocks, [case], [a.name for a in plan.arms])
    word, reasons = found.word, found.reasons
    if not seen.held:
        word = Word.INVALID
        reasons = (Reason.of(Code.NO_WITNESS, evidence=seen.evidence[0]),)
    return Row(
        case=case,
        contrast=ContrastRow(
            kind="scaling", of=found.config, given=found.parameter, against=found.against
        ),
        arm="",
        metric=plan.primary,
        word=str(word),
        strength=str(Strength.CONFIRMED),
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        blocks=found.blocks,
        effort=None,
        dose={},
        witness=seen,
        reason=worded(reasons),
        reasons=list(reasons),
    )


def _by_threads(plan: Plan, blocks: Sequence[Block], case: str) -> list[Row]:
    """The second configuration against the first at each number of threads: leads."""
    assert plan.scaling is not None
    against, _ = plan.scaling.configurations
    base = {p.threads: p.arm for p in plan.scaling.points if p.configuration == against}
    asked = [
        replace(change(p.arm, base[p.threads]), kind="simple")
        for p in plan.scaling.points
        if p.configuration != against
    ]
    logs = table(blocks, case, plan.primary)
    task = Task(plan, asked, blocks, plan.budget_s, 0, "")
    found = suggest({c.name: series(c, logs) for c in asked}, task.rule)
    return [verdict_row(task, (case, name), judgement) for name, judgement in found.items()]
