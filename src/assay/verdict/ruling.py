"""The ruling: from a plan and its complete blocks to verdicts, live arms, and whether it is over.

Pure: the same plan and blocks give the same ruling, byte for byte, so that the
bench can ask after every block, a resumed study goes on where it was, and a
stranger recomputes what a bundle says. It knows no server and no file.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.metrics import metric
from assay.study import Plan
from assay.verdict.checks import serial_doubt, slot_doubt, ties_doubt
from assay.verdict.contrast import Contrast, series
from assay.verdict.family import family
from assay.verdict.plan import PILOT_BLOCKS, plan_blocks
from assay.verdict.plan import Plan as Size
from assay.verdict.rows import SUITE, ContrastRow, Row, WitnessRow
from assay.verdict.rule import Rule, Word
from assay.verdict.secondary import suggest
from assay.verdict.sequence import Judgement, judge, judge_once

Values = list[tuple[int, float]]
Key = tuple[str, str]
"""Case and contrast name."""


@dataclass(frozen=True)
class Seen:
    """What a witness said in one run."""

    held: bool
    evidence: str


@dataclass(frozen=True)
class Observation:
    """One run that counts: its metrics, and witness and dose by factor."""

    metrics: Mapping[str, float]
    witness: Mapping[str, Seen]
    dose: Mapping[str, float]


@dataclass(frozen=True)
class Block:
    """A complete block: its observations by case and arm, in the order they ran (failed ones
    missing), and its cost."""

    cells: Mapping[tuple[str, str], Observation]
    took_s: float


@dataclass(frozen=True)
class Ruling:
    """What the complete blocks say: rows, who still runs, and whether the study is over."""

    rows: list[Row]
    size: Size | None
    live: frozenset[tuple[str, str]]
    finished: bool
    warnings: list[str]


def adjudicate(plan: Plan, blocks: Sequence[Block], stopped: str = "") -> Ruling:
    """The ruling on a plan's complete blocks. `stopped` says why a study ends undecided."""
    contrasts = family(plan)
    rule = Rule(plan.smallest, plan.margin, plan.alpha)
    values = _all_series(plan, contrasts, blocks, plan.primary)
    size = _size(plan, blocks, values, rule) if len(blocks) >= PILOT_BLOCKS else None
    judged = _judge(plan, values, rule, size, len(blocks))
    rows, finals = [], {}
    for key in values:
        contrast = next(c for c in contrasts if c.name == key[1])
        row, final = _row(plan, blocks, key, contrast, judged[key], stopped)
        rows.append(row)
        finals[key] = final
    finished = bool(stopped) or all(finals.values())
    if finished:
        rows += _secondary(plan, contrasts, blocks, rule)
    live = _live(plan, contrasts, finals, finished)
    return Ruling(rows, size, live, finished, _warnings(plan, blocks, values))


# series


def _all_series(
    plan: Plan, contrasts: list[Contrast], blocks: Sequence[Block], name: str
) -> dict[Key, Values]:
    """Every contrast of every case, and of the suite where there are several cases."""
    found: dict[Key, Values] = {}
    for case in plan.cases:
        table = _table(blocks, case.name, name)
        for contrast in contrasts:
            found[case.name, contrast.name] = series(contrast, table)
    if len(plan.cases) > 1:
        for contrast in contrasts:
            parts = [dict(found[c.name, contrast.name]) for c in plan.cases]
            common = sorted(set.intersection(*(set(p) for p in parts)))
            found[SUITE, contrast.name] = [
                (b, statistics.fmean(p[b] for p in parts)) for b in common
            ]
    return found


def _table(blocks: Sequence[Block], case: str, name: str) -> dict[int, dict[str, float]]:
    """block -> arm -> signed log of a metric; what has no logarithm is missing."""
    sign = metric(name).sign
    table: dict[int, dict[str, float]] = {}
    for index, block in enumerate(blocks):
        table[index] = {
            arm: sign * math.log(value)
            for (of, arm), seen in block.cells.items()
            if of == case and (value := seen.metrics.get(name, 0.0)) > 0
        }
    return table


# judging


def _size(
    plan: Plan, blocks: Sequence[Block], values: dict[Key, Values], rule: Rule
) -> Size | None:
    """The study's size from its first blocks; None while a contrast has no value at all."""
    pilot = {
        f"{case}/{name}": [c for b, c in found if b < PILOT_BLOCKS]
        for (case, name), found in values.items()
    }
    known = {k: v for k, v in pilot.items() if v}
    if not known:
        return None
    spent = sum(b.took_s for b in blocks[:PILOT_BLOCKS])
    rest = max(0.0, plan.budget_s - spent)
    cap = PILOT_BLOCKS + int(rest / (spent / PILOT_BLOCKS)) if spent else len(plan.schedule)
    return plan_blocks(known, rule, min(cap, len(plan.schedule)))


def _judge(
    plan: Plan, values: dict[Key, Values], rule: Rule, size: Size | None, done: int
) -> dict[Key, Judgement]:
    named = {f"{case}/{name}": found for (case, name), found in values.items()}
    if size is None:
        pending = "no block could be compared" if done >= PILOT_BLOCKS else ""
        return {key: _pending(key, len(values[key]), pending) for key in values}
    if plan.full:
        judged = judge_once(named, rule, size.blocks) if done >= size.blocks else None
        if judged is None:
            return {key: _pending(key, len(values[key]), "") for key in values}
    else:
        judged = judge(named, rule, size.blocks, done)
    return {key: judged[f"{key[0]}/{key[1]}"] for key in values}


def _pending(key: Key, blocks: int, stuck: str) -> Judgement:
    reason = stuck or f"nothing is decided before block {PILOT_BLOCKS}"
    return Judgement(
        key[1], Word.UNDECIDED, None, None, None, blocks, None, bool(stuck), 0.0, reason
    )


def _row(
    plan: Plan,
    blocks: Sequence[Block],
    key: Key,
    contrast: Contrast,
    judgement: Judgement,
    stopped: str,
) -> tuple[Row, bool]:
    """The verdict on one contrast of one case, and whether it is final."""
    case = key[0]
    cases = [c.name for c in plan.cases] if case == SUITE else [case]
    witness = _witness(blocks, cases, contrast)
    dose = _dose(plan, blocks, cases, contrast)
    word, reason, final = judgement.word, judgement.reason, judgement.final
    if not witness.held:
        word, final = Word.INVALID, True
        reason = f"no witness: {witness.evidence[0]}; the numbers stand, the verdict does not"
    elif not final and stopped:
        reason = f"the study stopped: {stopped}; {reason}"
    idle = [f for f, amount in dose.items() if amount == 0]
    if idle and witness.held:
        reason = f"not exercised: the dose of {', '.join(idle)} was 0 in every run; {reason}"
    efforts = {a.name: a.effort for a in plan.arms}
    row = Row(
        case=case,
        contrast=ContrastRow(
            kind=contrast.kind if case != SUITE else SUITE,
            of=contrast.of,
            given=contrast.given,
            against=contrast.against,
        ),
        arm=contrast.of if contrast.of in efforts else "",
        metric=plan.primary,
        word=str(word),
        strength=str(judgement.strength),
        estimate=judgement.estimate,
        low=judgement.low,
        high=judgement.high,
        blocks=judgement.blocks,
        effort=efforts.get(contrast.of),
        dose=dose,
        witness=witness,
        reason=reason,
    )
    return row, final


def _secondary(
    plan: Plan, contrasts: list[Contrast], blocks: Sequence[Block], rule: Rule
) -> list[Row]:
    """Rows for the metrics a study watches beside its primary one: leads, never verdicts."""
    if len(blocks) < PILOT_BLOCKS:
        return []
    named: dict[str, tuple[str, Key, Values]] = {}
    for name in plan.also:
        for key, values in _all_series(plan, contrasts, blocks, name).items():
            if values:
                named[f"{name}/{key[0]}/{key[1]}"] = (name, key, values)
    suggestions = suggest({k: v for k, (_, _, v) in named.items()}, rule)
    rows = []
    for label, suggestion in suggestions.items():
        name, key, _ = named[label]
        contrast = next(c for c in contrasts if c.name == key[1])
        row, _ = _row(plan, blocks, key, contrast, suggestion, "")
        rows.append(row.model_copy(update={"metric": name}))
    return rows


# witness, dose, live arms


def _seen(blocks: Sequence[Block], cases: list[str], arms: tuple[str, ...]) -> list[Observation]:
    return [
        seen
        for block in blocks
        for (case, arm), seen in block.cells.items()
        if case in cases and arm in arms
    ]


def _witness(blocks: Sequence[Block], cases: list[str], contrast: Contrast) -> WitnessRow:
    """Every level of every factor must have been seen in force in every run of the contrast."""
    failed: dict[str, None] = {}
    held: dict[str, None] = {}
    for seen in _seen(blocks, cases, contrast.arms):
        for factor, said in sorted(seen.witness.items()):
            (held if said.held else failed)[f"{factor}: {said.evidence}"] = None
    return WitnessRow(held=not failed, evidence=list(failed or held)[:8])


def _dose(
    plan: Plan, blocks: Sequence[Block], cases: list[str], contrast: Contrast
) -> dict[str, float]:
    """The largest median dose, over the contrast's arms, of each factor that it changes."""
    levels = {a.name: a.levels for a in plan.arms}
    found: dict[str, float] = {}
    for factor in plan.factors:
        if len({levels[arm].get(factor) for arm in contrast.arms}) < 2:
            continue
        medians = []
        for arm in contrast.arms:
            doses = [s.dose[factor] for s in _seen(blocks, cases, (arm,)) if factor in s.dose]
            medians += [statistics.median(doses)] if doses else []
        if medians:
            found[factor] = max(medians)
    return found


def _live(
    plan: Plan, contrasts: list[Contrast], finals: dict[Key, bool], finished: bool
) -> frozenset[tuple[str, str]]:
    """Case and arm of every run that an open contrast still needs; the baseline always runs."""
    if finished:
        return frozenset()
    live = set()
    for (case, name), final in finals.items():
        if final and not plan.full:
            continue
        contrast = next(c for c in contrasts if c.name == name)
        for real in [c.name for c in plan.cases] if case == SUITE else [case]:
            live |= {(real, arm) for arm in (*contrast.arms, plan.baseline)}
    return frozenset(live)


def _warnings(plan: Plan, blocks: Sequence[Block], values: dict[Key, Values]) -> list[str]:
    """Stand-ins, and what the runs themselves show to be doubtful; none changes a verdict."""
    found = [
        f"case {case.name} ran on a stand-in: {case.stand_in}"
        for case in plan.cases
        if case.stand_in
    ]
    doubts = [slot_doubt(*_in_order(plan, blocks, case.name)) for case in plan.cases]
    for (case, name), series_ in values.items():
        label = f"{case}: {name}" if len(plan.cases) > 1 else name
        numbers = [value for _, value in series_]
        doubts += [serial_doubt(label, numbers), ties_doubt(label, numbers)]
    return found + [doubt.text for doubt in doubts if doubt is not None]


def _in_order(
    plan: Plan, blocks: Sequence[Block], case: str
) -> tuple[dict[int, dict[str, float]], dict[int, list[str]]]:
    """Logs of the primary metric, and the arms of each block in the order they ran."""
    orders = {
        index: [arm for of, arm in block.cells if of == case] for index, block in enumerate(blocks)
    }
    return _table(blocks, case, plan.primary), orders
