"""Curves: the verdicts of a study along an axis, put together point by point.

The words are those of `contrast_ruling.py`, given at single points. Here they meet the band, the
places where an effect changes its sign, what each arm measured at each point, and where it is asked
for the Universal Scalability Law. Nothing is decided here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

from assay.plan import CONTROLS, Plan, PlannedAxis, PlannedAxisPoint
from assay.reasons import Code, Reason, worded
from assay.stats.constants import Constants
from assay.stats.contrast import Contrast
from assay.stats.crossing import AxisEffect, crossings
from assay.stats.rule import Word
from assay.stats.sequence import Judgement, as_fractions
from assay.stats.signed_rank import UNBOUNDED, Interval, SignedRank
from assay.stats.usl import Estimate, scaling
from assay.verdict.observations import Block, Observation, table
from assay.verdict.points import Key, Values, begun
from assay.verdict.rows import (
    Bounded,
    ContrastRow,
    CrossingRow,
    CurveContrastRow,
    CurveEffectRow,
    CurveLevelRow,
    CurvePointRow,
    CurveRow,
    ScalingRow,
)

LEVEL = 0.05
"""Two-sided, of what all arms measured at all points of a curve together; no verdict has it."""

SIGNS = {Word.HELPS: 1, Word.HURTS: -1}


@dataclass(frozen=True)
class AtPoint:
    """A comparison at one point: how it was judged, its blocks, and what its verdict became."""

    judgement: Judgement
    values: Values
    word: Word
    reasons: tuple[Reason, ...]

    @property
    def used(self) -> list[float]:
        """The contrasts that the judgement had (log units)."""
        until = self.judgement.until
        return [value for block, value in self.values if until is None or block < until]

    @property
    def band(self) -> Interval:
        """The interval at the level that all points share; unbounded before the first look."""
        nominal = self.judgement.nominal
        if nominal is None or self.judgement.until is None or not self.used:
            return UNBOUNDED
        return SignedRank(self.used).interval(nominal)


def curve_rows(
    plan: Plan,
    contrasts: Sequence[Contrast],
    blocks: Sequence[Block],
    found: Mapping[Key, AtPoint],
) -> list[CurveRow]:
    """The curves of a plan with an axis, one for each case that was spread over it."""
    axis = plan.axis
    assert axis is not None
    there = begun(plan, blocks)
    rows = []
    for curve in axis.curves:
        points = [p for p in axis.points_of(curve) if p.case in there]
        rows.append(
            CurveRow(
                case=curve,
                axis=axis.name,
                varies=axis.varies,
                logarithmic=axis.logarithmic,
                points=[_point(plan, blocks, point, len(points)) for point in points],
                contrasts=[
                    _contrast(axis, contrast, points, found)
                    for contrast in contrasts
                    if contrast.of not in CONTROLS
                ],
            )
        )
    return rows


# comparisons


def _contrast(
    axis: PlannedAxis,
    contrast: Contrast,
    points: Sequence[PlannedAxisPoint],
    found: Mapping[Key, AtPoint],
) -> CurveContrastRow:
    at = [(point, found[point.case, contrast.name]) for point in points]
    known = [
        AxisEffect(p.value, SIGNS.get(one.word, 0), SignedRank(one.used).estimate, len(one.used))
        for p, one in at
        if one.word is not Word.INVALID and one.used
    ]
    changes = crossings(known, axis.logarithmic)
    reasons = list(_reasons(axis, contrast, at, known))
    return CurveContrastRow(
        contrast=ContrastRow(
            kind=contrast.kind, of=contrast.of, given=contrast.given, against=contrast.against
        ),
        arm=contrast.of if contrast.of in contrast.arms else "",
        effects=[_effect(point, one) for point, one in at],
        crossings=[
            CrossingRow(value=c.at, low=c.low, high=c.high, rising=c.rising) for c in changes
        ],
        sentence=worded(reasons),
        reasons=reasons,
    )


def _effect(point: PlannedAxisPoint, one: AtPoint) -> CurveEffectRow:
    compared = one.word is not Word.INVALID
    low, high = as_fractions(one.band) if compared else (None, None)
    return CurveEffectRow(
        value=point.value,
        text=point.text,
        word=str(one.word),
        estimate=math.expm1(SignedRank(one.used).estimate) if compared and one.used else None,
        low=low,
        high=high,
        blocks=len(one.used),
        reason=worded(one.reasons),
    )


def _reasons(
    axis: PlannedAxis,
    contrast: Contrast,
    at: Sequence[tuple[PlannedAxisPoint, AtPoint]],
    known: Sequence[AxisEffect],
) -> Iterator[Reason]:
    """What a curve comes to: its crossings, or that there is none, and the words at its points."""
    texts = {point.value: point.text for point, _ in at}
    changes = crossings(known, axis.logarithmic)
    for change in changes:
        yield Reason.of(
            Code.CROSSES,
            of=contrast.of,
            axis=axis.name,
            at=f"{change.at:.3g}",
            low=texts[change.low],
            high=texts[change.high],
            rising=change.rising,
        )
    words: dict[str, list[str]] = {}
    for point, one in at:
        words.setdefault(str(one.word), []).append(point.text)
    yield Reason.of(
        Code.CURVE_WORDS,
        of=contrast.of,
        axis=axis.name,
        points=len(at),
        **{str(word).replace(" ", "_"): tuple(words.get(str(word), ())) for word in Word},
    )
    if not changes:
        # Where a sign is not known there may be one.
        unknown = {str(Word.UNDECIDED), str(Word.NO_DIFFERENCE)} & set(words)
        yield Reason.of(Code.NO_CROSSING, shown=bool(unknown))


# what arms measured


def _point(plan: Plan, blocks: Sequence[Block], point: PlannedAxisPoint, of: int) -> CurvePointRow:
    arms = [arm.name for arm in plan.arms if arm.name not in CONTROLS]
    levels = []
    for arm in arms:
        seen = [b.cells[point.case, arm] for b in blocks if (point.case, arm) in b.cells]
        levels += [_level(plan, arm, seen, of * len(arms))] if seen else []
    return CurvePointRow(
        case=point.case, value=point.value, text=point.text, added=point.later, levels=levels
    )


def _level(plan: Plan, arm: str, seen: Sequence[Observation], family: int) -> CurveLevelRow:
    full = any(run.saturated is not None for run in seen)
    logs = [math.log(v) for run in seen if (v := run.metrics.get(plan.primary, 0.0)) > 0]
    queue = full and plan.primary.startswith("latency_")
    value, low, high = (None, None, None) if queue else mean_of(logs, LEVEL / family)
    rates = [run.metrics.get("throughput", 0.0) for run in seen if run.open_loop]
    return CurveLevelRow(
        arm=arm,
        value=value,
        low=low,
        high=high,
        runs=len(seen),
        reached=statistics.median(rates) if rates else None,
        saturated=full,
    )


def mean_of(logs: Sequence[float], level: float) -> tuple[float | None, float | None, float | None]:
    """The geometric mean with Student's interval of two-sided `level`; None where too few."""
    if not logs:
        return None, None, None
    middle = statistics.fmean(logs)
    if len(logs) < 2:
        return math.exp(middle), None, None
    error = statistics.stdev(logs) / math.sqrt(len(logs))
    reach = -float(stdtrit(len(logs) - 1, level / 2)) * error
    return math.exp(middle), math.exp(middle - reach), math.exp(middle + reach)


# the Universal Scalability Law


def fitted_curves(plan: Plan, blocks: Sequence[Block]) -> list[ScalingRow]:
    """Throughput over the points of each arm, fitted where the study asks for it.

    Of each curve the blocks count that have all points it opened with, and those points alone.
    """
    axis = plan.axis
    if axis is None or not axis.usl:
        return []
    arms = [arm.name for arm in plan.arms if arm.name not in CONTROLS]
    found = []
    for curve in axis.curves:
        points = [p for p in axis.points_of(curve) if not p.later]
        logs = {p.value: table(blocks, p.case, plan.primary) for p in points}
        for arm in arms:
            whole = [
                {round(n): math.exp(rows[k][arm]) for n, rows in logs.items()}
                for k in range(len(blocks))
                if all(arm in rows[k] for rows in logs.values())
            ]
            found.append(scaling_row(curve, arm, whole, axis.cpus, plan.constants))
    return found


def scaling_row(
    case: str,
    configuration: str,
    curve: Sequence[Mapping[int, float]],
    cpus: int,
    constants: Constants,
) -> ScalingRow:
    """One configuration's curve; `curve` has the complete blocks, threads -> operations/s."""
    found = scaling(configuration, curve, cpus, constants=constants)
    return ScalingRow(
        case=case,
        configuration=configuration,
        blocks=found.blocks,
        levels=list(found.levels),
        measured=list(found.measured),
        curve=list(found.curve),
        contention=_bounded(found.contention),
        coherency=_bounded(found.coherency),
        peak=_bounded(found.peak),
        refused=found.refused.text if found.refused else "",
        sentence=found.sentence,
        reasons=list(found.reasons),
    )


def _bounded(estimate: Estimate | None) -> Bounded | None:
    if estimate is None:
        return None
    return Bounded(value=estimate.value, low=estimate.low, high=estimate.high)
