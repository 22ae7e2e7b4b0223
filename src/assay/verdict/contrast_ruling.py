"""Confirming: the contrasts of a family, judged look by look on the blocks there are.

The verdict of a contrast comes from `sequence.py`; here it meets what else it stands on. It is
`invalid` where a witness does not hold, where a latency has too few requests or a saturated
server behind it, and everywhere once the A/A control, an arm equal to the baseline, differs
from it. `withholding.py` has what else "no difference" and "helps" depend on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.plan import CONTROLS, Plan
from assay.reasons import Code, Reason, worded
from assay.stats.boundary import Schedule, once
from assay.stats.contrast import Contrast, series
from assay.stats.rule import Rule, Word
from assay.stats.sample_size import Sizing, plan_looks
from assay.stats.secondary import suggest
from assay.stats.selection import BestSet, best_set, settled
from assay.stats.sequence import Judgement, judge, judge_once, least_count
from assay.stats.signed_rank import critical_count
from assay.stats.total_work import TotalWork, typical_only
from assay.verdict import validity
from assay.verdict.curves import AtPoint, curve_rows, fitted_curves
from assay.verdict.kinds import kind_rows
from assay.verdict.observations import Block, Table, suite_table, tables
from assay.verdict.points import Key, Values, begun, share, since, together
from assay.verdict.predictions import prediction_rows
from assay.verdict.refinement import REFINED, Room, later_runs
from assay.verdict.rows import (
    SUITE,
    BestRow,
    Bounded,
    ContrastRow,
    CurveRow,
    Row,
    ScalingRow,
    ScreenRow,
    WitnessRow,
)
from assay.verdict.selection import ranked
from assay.verdict.self_check import not_steady, stability_rows, study_warnings
from assay.verdict.withholding import carried, total_of, withheld


@dataclass(frozen=True)
class Ruling:
    """What the complete blocks say: rows, who still runs, and whether the study is over.

    size       known from block 8 on; `block_s` is what one of those blocks took, in seconds
    undecided  whether an extension could still decide something
    offset     blocks before those that `size` counts: of a screen, or of points before the newest
    told_apart what is wrong with a study whose control differs from its baseline, or empty
    """

    rows: list[Row]
    size: Sizing | None
    live: frozenset[tuple[str, str]]
    finished: bool
    warnings: list[Reason]
    block_s: float = 0.0
    undecided: bool = False
    offset: int = 0
    screen: ScreenRow | None = None
    best: BestRow | None = None
    scaling: list[ScalingRow] = field(default_factory=list)
    curves: list[CurveRow] = field(default_factory=list)
    told_apart: str = ""


@dataclass(frozen=True)
class Task:
    """What is to be confirmed, and on which blocks."""

    plan: Plan
    contrasts: list[Contrast]
    blocks: Sequence[Block]
    budget_s: float
    extensions: int
    stopped: str

    @property
    def rule(self) -> Rule:
        return self.plan.rule

    @property
    def share(self) -> int | None:
        """Into how many parts alpha is divided along an axis."""
        return share(self.plan, self.contrasts)

    @property
    def checks_more(self) -> bool:
        """Whether a word has more to pass than in version 1 of the statistics."""
        return self.plan.constants.checks > 1

    @property
    def sizing_blocks(self) -> int:
        """Blocks that the study is sized from."""
        return self.plan.constants.first_look

    @property
    def block_s(self) -> float:
        """Seconds that a block took while every arm was live."""
        pilot = self.blocks[: self.sizing_blocks]
        return sum(b.took_s for b in pilot) / len(pilot) if pilot else 0.0

    def contrast(self, key: Key) -> Contrast:
        return next(c for c in self.contrasts if c.name == key[1])

    def cases(self, key: Key) -> list[str]:
        return [c.name for c in self.plan.cases] if key[0] == SUITE else [key[0]]


def confirm(task: Task) -> Ruling:
    """The ruling on a family of contrasts."""
    values = _all_series(task, task.plan.primary)
    size, looks = _sized(task, values) or (None, None)
    judged = _judge(task, values, looks)
    field_ = _field(task, looks) if looks is not None and task.plan.axis is None else None
    race = field_.best() if field_ is not None and _is_race(task) else None
    settled_ = {key: _settle(task, key, found, race=race) for key, found in judged.items()}
    finals = {key: found.final for key, found in settled_.items()}
    differs = _control_differs(settled_)
    asked = [key for key in finals if key[1] not in CONTROLS]
    racing = race is not None and field_ is not None and not field_.over()
    decided = all(finals[key] for key in asked) and not racing
    curves = _curves(task, values, judged, settled_, differs)
    more = _more_points(task, curves, size) if decided and not (task.stopped or differs) else None
    finished = bool(task.stopped or differs) or (decided and not more)
    live = more or _live(task, finals, race, finished)
    undecided = any(judged[key].word is Word.UNDECIDED for key in asked)
    best = None
    ended = _Ended(differs, finished)
    rows = [_row(task, key, judged[key], settled_[key], ended) for key in judged]
    if finished:
        if looks is not None and not differs:
            rows = _with_kinds(task, judged, settled_, rows, looks)
        # What follows are leads and predictions, of the primary metric too: none ranks an arm.
        best = ranked(task.plan, rows, field_.best()) if field_ is not None else None
        rows += stability_rows(task.plan, task.blocks, {row.arm for row in rows})
        rows += _secondary(task)
        rows += prediction_rows(task.plan, task.contrasts, task.blocks)
    return Ruling(
        rows, size, live, finished, study_warnings(task.plan, task.blocks, values),
        block_s=task.block_s, undecided=undecided, best=best, curves=curves,
        offset=max(begun(task.plan, task.blocks).values()),
        scaling=fitted_curves(task.plan, task.blocks) if finished else [],
        told_apart=differs.text if differs else "",
    )  # fmt: skip


# series, size, judgement


def _all_series(task: Task, name: str) -> dict[Key, Values]:
    """Every contrast of every case that has begun, and of the suite where there is one."""
    there = begun(task.plan, task.blocks)
    return {
        (case, contrast.name): series(contrast, table)
        for case, table in tables(task.plan, task.blocks, name).items()
        if case in there
        for contrast in task.contrasts
    }


def _sized(task: Task, values: dict[Key, Values]) -> tuple[Sizing, Schedule] | None:
    """The study's size and its looks; None before its first blocks are in, and while no contrast
    has a value."""
    most, budget_s, plan = len(task.plan.schedule), task.budget_s, task.plan
    if plan.axis is not None and plan.axis.extra:
        most, budget_s = int(REFINED * most), REFINED * budget_s
    rest = max(0.0, budget_s - task.sizing_blocks * task.block_s)
    cap = task.sizing_blocks + int(rest / task.block_s) if task.block_s else most
    there = begun(plan, task.blocks)
    first = {key: v for key, v in values.items() if not there[key[0]] and _sizes(task, key)}
    return plan_looks(_named(first), task.rule, min(cap, most), len(task.blocks), task.share)


def _sizes(task: Task, key: Key) -> bool:
    """Whether a comparison has a say in the study's size: not at a point of an axis that was
    saturated by then."""
    plan, first = task.plan, task.blocks[: task.sizing_blocks]
    return plan.axis is None or not validity.spoiled(
        plan, first, task.cases(key), task.contrast(key), plan.primary
    )


def _named(values: dict[Key, Values], start: int = 0) -> dict[str, Values]:
    return {f"{case}/{name}": since(found, start) for (case, name), found in values.items()}


def _judge(task: Task, values: dict[Key, Values], looks: Schedule | None) -> dict[Key, Judgement]:
    if looks is None:
        stuck = len(task.blocks) >= task.sizing_blocks
        return {key: _pending(task, key, len(values[key]), stuck) for key in values}
    judged: dict[Key, Judgement] = {}
    for start, keys in together(values, begun(task.plan, task.blocks)).items():
        judged |= _judge_from(task, {key: values[key] for key in keys}, looks, start)
    return {key: judged[key] for key in values}


def _judge_from(
    task: Task, values: dict[Key, Values], looks: Schedule, start: int
) -> dict[Key, Judgement]:
    """Comparisons whose blocks are counted from `start` on."""
    named, done = _named(values, start), len(task.blocks) - start
    keys = {f"{case}/{name}": (case, name) for case, name in values}

    def withhold(name: str, blocks: int, level: float) -> Reason | None:
        if not task.checks_more:
            return None
        if few := _no_band(task, named[name], blocks, level):
            return few
        key, used = keys[name], task.blocks[: start + blocks]
        return withheld(task.plan, used, task.cases(key), task.contrast(key), level)

    if not task.plan.full:
        judged = judge(named, task.rule, looks, done, extensions=task.extensions,
                       withhold=withhold, share=task.share)  # fmt: skip
    elif done >= looks.planned:
        judged = judge_once(named, task.rule, looks.planned, withhold=withhold, share=task.share)
    else:
        return {key: _pending(task, key, len(values[key]), False) for key in values}
    return {key: _counted_from(judged[name], start) for name, key in keys.items()}


def _no_band(task: Task, values: Values, blocks: int, level: float) -> Reason | None:
    """Why a point of an axis goes on although it shows no difference: its band has no ends yet."""
    used = sum(block < blocks for block, _ in values)
    if task.share is None or critical_count(used, level):
        return None
    return Reason.of(Code.TOO_FEW_BLOCKS, used=used, least=least_count(level))


def _counted_from(judgement: Judgement, start: int) -> Judgement:
    """A judgement whose blocks are counted from the study's first again."""
    until = judgement.until
    return judgement if until is None else replace(judgement, until=start + until)


def _pending(task: Task, key: Key, blocks: int, stuck: bool) -> Judgement:
    early = Reason.of(Code.NOTHING_YET, block=task.sizing_blocks)
    why = Reason.of(Code.NOTHING_COMPARED) if stuck else early
    return Judgement(key[1], Word.UNDECIDED, None, None, None, blocks, None, stuck, 0.0, (why,))


# rows


@dataclass(frozen=True)
class _Settled:
    """A judgement with what else its verdict stands on."""

    metric: str
    word: Word
    reasons: tuple[Reason, ...]
    final: bool
    witness: WitnessRow
    dose: dict[str, float]
    total: TotalWork | None


@dataclass(frozen=True)
class _Ended:
    """How the family stands: what its control shows, and whether it is finished."""

    differs: Reason | None = None
    finished: bool = False


def _settle(
    task: Task, key: Key, judgement: Judgement, metric: str = "", race: BestSet | None = None
) -> _Settled:
    """What a judgement comes to, given witnesses, doses, trends and the race."""
    contrast, cases, plan = task.contrast(key), task.cases(key), task.plan
    metric = metric or plan.primary
    seen = validity.witness(task.blocks, cases, contrast.arms)
    dose = validity.dose(plan, task.blocks, cases, contrast)
    spoiled = validity.spoiled(plan, task.blocks, cases, contrast, metric)
    word, reasons, final = judgement.word, judgement.reasons, judgement.final
    total = _total(task, key, judgement) if metric == plan.primary else None
    stand = Reason.of(Code.NUMBERS_STAND)
    if not seen.held:
        word, final = Word.INVALID, True
        reasons = (Reason.of(Code.NO_WITNESS, evidence=seen.evidence[0]), stand)
    elif spoiled is not None:
        word, final, reasons = Word.INVALID, True, (spoiled, stand)
    elif why := _falls(task, key, judgement):
        word, reasons = Word.UNDECIDED, (why, *reasons)
    elif word is Word.HELPS and (only := typical_only(total, plan.rule.margin_log)):
        reasons = (*reasons, only)
    elif not final and task.stopped:
        reasons = (Reason.of(Code.STOPPED, why=task.stopped), *reasons)
    idle = [f for f, amount in dose.items() if amount == 0]
    if idle and seen.held:
        reasons = (Reason.of(Code.NOT_EXERCISED, factors=", ".join(idle)), *reasons)
    if race is not None and contrast.of in race.out and word is Word.UNDECIDED:
        reasons, final = (race.out[contrast.of].reason, *reasons), True
    return _Settled(metric, word, reasons, final, seen, dose, total)


def _falls(task: Task, key: Key, judgement: Judgement) -> Reason | None:
    """Why a word does not stand: "no difference" of a lead, or of version 1, while runs are not
    stationary; any word that runs made with what they handed on to the next."""
    at_a_look = task.checks_more and judgement.until is not None
    if judgement.word is Word.NO_DIFFERENCE and not at_a_look:
        return not_steady(task.plan, task.blocks, task.cases(key), task.contrast(key))
    if judgement.word is Word.UNDECIDED or not at_a_look or judgement.nominal is None:
        return None
    blocks = task.blocks[: judgement.until]
    return carried(task.plan, blocks, task.cases(key), judgement.word, judgement.nominal)


def _total(task: Task, key: Key, judgement: Judgement) -> TotalWork | None:
    """Total work on the blocks that a judgement had; None before the first look."""
    if not task.checks_more or judgement.until is None or judgement.nominal is None:
        return None
    blocks = task.blocks[: judgement.until]
    return total_of(task.plan, blocks, task.cases(key), task.contrast(key), judgement.nominal)


def _row(task: Task, key: Key, judgement: Judgement, settled_: _Settled, ended: _Ended) -> Row:
    """The verdict on one contrast of one case.

    Where the control differs no verdict is valid. The control itself runs along and never keeps
    a study going.
    """
    contrast, word, reasons = task.contrast(key), settled_.word, settled_.reasons
    if ended.differs is not None:
        word, reasons = Word.INVALID, (ended.differs, *reasons)
    elif ended.finished and contrast.of in CONTROLS and word is Word.UNDECIDED:
        reasons = (Reason.of(Code.CONTROL_ALIKE), *reasons)
    efforts = {a.name: a.effort for a in task.plan.arms}
    return Row(
        case=key[0],
        scope="suite" if key[0] == SUITE else "case",
        contrast=ContrastRow(
            kind=contrast.kind, of=contrast.of, given=contrast.given, against=contrast.against
        ),
        arm=contrast.of if contrast.of in efforts else "",
        metric=settled_.metric,
        word=str(word),
        strength=str(judgement.strength),
        estimate=judgement.estimate,
        low=judgement.low,
        high=judgement.high,
        blocks=judgement.blocks,
        total=_bounded(settled_.total),
        effort=efforts.get(contrast.of),
        dose=settled_.dose,
        witness=settled_.witness,
        reason=worded(reasons),
        reasons=list(reasons),
    )


def _with_kinds(
    task: Task,
    judged: Mapping[Key, Judgement],
    settled_: Mapping[Key, _Settled],
    rows: Sequence[Row],
    looks: Schedule,
) -> list[Row]:
    """The rows with what they come to by kind of request, where they themselves may say a word."""
    asked = {
        key: task.contrast(key)
        for key, found in settled_.items()
        if found.word is not Word.INVALID
        and all(reason.code is not Code.CARRIED for reason in found.reasons)
    }
    kinds = kind_rows(task.plan, task.blocks, asked, judged, looks)
    return [
        row.model_copy(update={"by_kind": kinds.get(key, [])})
        for key, row in zip(judged, rows, strict=True)
    ]


def _bounded(total: TotalWork | None) -> Bounded | None:
    return None if total is None else Bounded(value=total.estimate, low=total.low, high=total.high)


def verdict_row(task: Task, key: Key, judgement: Judgement, metric: str = "") -> Row:
    """The row of one contrast of one case by itself."""
    return _row(task, key, judgement, _settle(task, key, judgement, metric), _Ended())


def _secondary(task: Task) -> list[Row]:
    """Rows for the metrics a study watches beside its primary one: leads, never verdicts."""
    if len(task.blocks) < task.sizing_blocks:
        return []
    named = {
        f"{name}/{key[0]}/{key[1]}": (name, key, values)
        for name in task.plan.also
        for key, values in _all_series(task, name).items()
        if values and key[1] not in CONTROLS
    }
    suggestions = suggest({k: v for k, (_, _, v) in named.items()}, task.rule)
    return [verdict_row(task, named[k][1], found, named[k][0]) for k, found in suggestions.items()]


def _control_differs(found: Mapping[Key, _Settled]) -> Reason | None:
    """What is wrong with a study whose control differs from the baseline it equals."""
    for (_, name), one in found.items():
        if name in CONTROLS and one.word in (Word.HELPS, Word.HURTS):
            return Reason.of(Code.CONTROL_DIFFERS, word=str(one.word))
    return None


# the best of the arms


@dataclass(frozen=True)
class _Field:
    """The arms that are compared for the best one, and the looks at which that is done."""

    table: Table
    arms: list[str]
    looks: Schedule
    alpha: float
    done: int
    rule: Rule

    def best(self) -> BestSet:
        return best_set(*self._everything)

    def over(self) -> bool:
        return settled(*self._everything, self.rule.margin, self.rule.equivalence)[0]

    @property
    def _everything(self) -> tuple[Table, list[str], Schedule, float, int]:
        return self.table, self.arms, self.looks, self.alpha, self.done


def _field(task: Task, looks: Schedule) -> _Field:
    """All arms that are asked about, on the blocks done.

    Where arms leave for other reasons than being beaten, only the blocks that all of them have:
    levels of later looks are not made for a sample that stands still.
    """
    plan = task.plan
    asked = {arm for contrast in task.contrasts for arm in contrast.arms}
    arms = [a.name for a in plan.arms if a.name not in CONTROLS and a.name in asked]
    table = suite_table(plan, task.blocks, plan.primary)
    done = min(len(task.blocks), looks.planned)
    if not _is_race(task):
        done = max((b + 1 for b in range(done) if set(arms) <= set(table[b])), default=0)
    if plan.full:
        looks = once(looks.planned)
    return _Field(table, arms, looks, plan.alpha, done, task.rule)


def _is_race(task: Task) -> bool:
    """Races, and the second phase of a screen: arms leave when they are beaten, not before."""
    return task.plan.design in ("race", "screen") and not task.plan.full


def _live(
    task: Task, finals: Mapping[Key, bool], race: BestSet | None, finished: bool
) -> frozenset[tuple[str, str]]:
    """Case and arm of every run that an open contrast still needs; the baseline always runs."""
    if finished:
        return frozenset()
    live = set()
    for key, final in finals.items():
        contrast = task.contrast(key)
        racing = race is not None and contrast.of in race.inside
        runs_on = racing or (task.plan.full and task.plan.axis is None)
        if final and not runs_on:
            continue
        arms = (*contrast.arms, task.plan.baseline)
        live |= {(case, arm) for case in task.cases(key) for arm in arms}
    return frozenset(live)


# curves


def _curves(
    task: Task,
    values: Mapping[Key, Values],
    judged: Mapping[Key, Judgement],
    settled_: Mapping[Key, _Settled],
    differs: Reason | None,
) -> list[CurveRow]:
    """The curves of a study along an axis."""
    if task.plan.axis is None:
        return []
    found = {
        key: AtPoint(
            judged[key],
            values[key],
            Word.INVALID if differs else one.word,
            (differs,) if differs else one.reasons,
        )
        for key, one in settled_.items()
    }
    return curve_rows(task.plan, task.contrasts, task.blocks, found)


def _more_points(
    task: Task, curves: Sequence[CurveRow], size: Sizing | None
) -> frozenset[tuple[str, str]]:
    """Case and arm of every run at the points that a refinement adds now."""
    if size is None:
        return frozenset()
    room = Room(size.blocks, task.budget_s - sum(b.took_s for b in task.blocks), task.block_s)
    return later_runs(task.plan, task.blocks, curves, room)
