"""Predictions: what each change was to move, and to leave alone, judged after the study.

A change declares beforehand which metrics should go up, go down or stay, as measured; the plan
holds that (`PlannedFactor.predicts`). Here every contrast that switches one factor gets a row for
each of them, with the false discovery rate held over all rows of the study. A metric that is to
move is right where it moved that way; one that is to stay is right where its interval lies within
the margin. A row of an arm with several changes would not say which was right, so there is none.

Counts may be 0, which has no logarithm. What is under a hundredth of the larger arm's median counts
as that hundredth: a wait that vanished is told as -99 %, which is as far as is looked. In a
family (contention of locks) what an arm does not report is not there, and counts so too.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.core.metrics import OF_LOCKS, metric
from assay.core.terms import OPPOSITE, Direction
from assay.plan import CONTROLS, Plan
from assay.reasons import Code, Reason, worded
from assay.stats.constants import STANDARD
from assay.stats.contrast import Contrast, series
from assay.stats.rule import Word
from assay.stats.secondary import suggest
from assay.stats.sequence import Judgement
from assay.verdict.observations import Block, Table, observations
from assay.verdict.points import begun
from assay.verdict.rows import ContrastRow, Outcome, Row
from assay.verdict.validity import spoiled, witness

FLOOR = STANDARD.prediction_floor


@dataclass(frozen=True)
class Asked:
    """One prediction: in this case, of this contrast, which way a metric goes as measured."""

    case: str
    contrast: Contrast
    metric: str
    direction: Direction


def prediction_rows(
    plan: Plan, contrasts: Sequence[Contrast], blocks: Sequence[Block]
) -> list[Row]:
    """A row of kind "prediction" for each thing that was predicted."""
    there = begun(plan, blocks)
    every = [ask for ask in _asked(plan, contrasts) if ask.case in there]
    asked = [_largest(ask, blocks) for ask in every]
    floor = plan.constants.prediction_floor
    named = {str(index): _series(ask, blocks, floor) for index, ask in enumerate(asked)}
    judged = suggest(named, plan.rule)
    return [_row(plan, ask, judged.get(str(index)), blocks) for index, ask in enumerate(asked)]


def _asked(plan: Plan, contrasts: Sequence[Contrast]) -> Iterator[Asked]:
    levels = {a.name: a.levels for a in plan.arms}
    for case in plan.cases:
        for contrast in contrasts:
            if contrast.kind not in ("change", "step", "main") or contrast.of in CONTROLS:
                continue
            for name, way in _directions(plan, contrast, levels).items():
                yield Asked(case.name, contrast, name, way)


def _directions(
    plan: Plan, contrast: Contrast, levels: Mapping[str, Mapping[str, str]]
) -> Mapping[str, Direction]:
    """What a contrast should do; nothing where it switches several factors, or none."""
    up = [levels[arm] for arm, weight in contrast.weights.items() if weight > 0]
    down = [levels[arm] for arm, weight in contrast.weights.items() if weight < 0]
    switched = {
        (name, frozenset(on[name] for on in up), frozenset(off[name] for off in down))
        for name in plan.factors
        if {on.get(name) for on in up} != {off.get(name) for off in down}
    }
    if len(switched) != 1:
        return {}
    name, on, off = switched.pop()
    factor = plan.factors[name]
    first = factor.levels[0]
    if len(on) != 1 or len(off) != 1 or first not in (*on, *off):
        return {}
    (level,) = on if off == {first} else off
    predicts = factor.predicts.get(level, {})
    return predicts if off == {first} else {m: OPPOSITE[way] for m, way in predicts.items()}


def _largest(ask: Asked, blocks: Sequence[Block]) -> Asked:
    """A family's bare name as its largest member, by the median over both sides together."""
    if ask.metric not in OF_LOCKS:
        return ask
    sizes: dict[str, list[float]] = {}
    for seen in observations(blocks, (ask.case,), ask.contrast.arms):
        for name, value in seen.metrics.items():
            if name.startswith(f"{ask.metric}."):
                sizes.setdefault(name, []).append(value)
    if not sizes:
        return ask
    return replace(ask, metric=max(sorted(sizes), key=lambda n: statistics.median(sizes[n])))


def _series(ask: Asked, blocks: Sequence[Block], least: float) -> list[tuple[int, float]]:
    """The contrast in logs of the metric as measured; empty where it was not measured."""
    none = 0.0 if ask.metric.partition(".")[0] in OF_LOCKS else None
    values = {
        index: {
            arm: value
            for (case, arm), seen in block.cells.items()
            if case == ask.case and arm in ask.contrast.arms
            if (value := seen.metrics.get(ask.metric, none)) is not None
        }
        for index, block in enumerate(blocks)
    }
    of_arm = ([row[a] for row in values.values() if a in row] for a in ask.contrast.arms)
    floor = least * max((statistics.median(found) for found in of_arm if found), default=0.0)
    if floor <= 0:
        return []
    logs: Table = {
        index: {arm: math.log(max(value, floor)) for arm, value in row.items()}
        for index, row in values.items()
    }
    return series(ask.contrast, logs)


def _row(plan: Plan, ask: Asked, judged: Judgement | None, blocks: Sequence[Block]) -> Row:
    """`judged` counts more as better; the row counts by the metric, as every row does."""
    contrast = ask.contrast
    outcome, reasons = _outcome(plan, ask, judged, blocks)
    found = None if judged is None else _signed(judged, ask.metric)
    return Row(
        case=ask.case,
        contrast=ContrastRow(
            kind="prediction", of=contrast.of, given=contrast.given, against=contrast.against
        ),
        arm=contrast.of if contrast.kind != "main" else "",
        metric=ask.metric,
        word=str(found.word if found else Word.UNDECIDED),
        strength="suggests",
        estimate=found.estimate if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        blocks=found.blocks if found else 0,
        effort=None,
        dose={},
        witness=witness(blocks, (ask.case,), contrast.arms),
        reason=worded(reasons),
        reasons=list(reasons),
        predicted=ask.direction,
        outcome=outcome,
    )


def _outcome(
    plan: Plan, ask: Asked, judged: Judgement | None, blocks: Sequence[Block]
) -> tuple[Outcome, tuple[Reason, ...]]:
    """What became of a prediction, and why."""
    if judged is None:
        return "not measured", (Reason.of(Code.NOT_MEASURED, metric=ask.metric),)
    if spoilt := spoiled(plan, blocks, (ask.case,), ask.contrast, ask.metric):
        return "unclear", (spoilt,)
    if judged.word is Word.NO_DIFFERENCE:
        return ("held" if ask.direction == "same" else "not held"), (Reason.of(Code.STAYED),)
    if judged.word not in (Word.HELPS, Word.HURTS):
        return "unclear", judged.reasons[:1]
    went = "up" if judged.word is Word.HELPS else "down"
    why = Reason.of(Code.WENT, direction=went)
    return ("held" if went == ask.direction else "not held"), (why,)


def _signed(judged: Judgement, name: str) -> Judgement:
    """A judgement of the metric as measured, turned so that up is better."""
    if metric(name).sign > 0:
        return judged
    turned = {Word.HELPS: Word.HURTS, Word.HURTS: Word.HELPS}

    def over(value: float | None) -> float | None:
        return None if value is None else 1 / (1 + value) - 1

    return replace(
        judged,
        word=turned.get(judged.word, judged.word),
        estimate=over(judged.estimate),
        low=over(judged.high),
        high=over(judged.low),
    )
