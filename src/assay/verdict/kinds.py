"""Verdicts by kind of request: the contrasts of a finished study, for each query, transaction type
or command that its load tells apart.

Judged are operations per second, the median and the 99th percentile, each where every run has the
requests it needs (`stats/latency.py`); a kind with too few for a median has its mean latency. All
kinds and comparisons of a metric share a false discovery rate. "No difference" is claimed of each
kind by itself, and withheld as that of the whole is: for a trend within runs, or a coarse metric.

Not judged is what the row itself may not say: where a witness does not hold, the control differs,
or a run depends on the one before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.core.metrics import metric
from assay.plan import CONTROLS, Plan
from assay.reasons import Code, Reason, worded
from assay.stats.boundary import Schedule
from assay.stats.contrast import Contrast, series
from assay.stats.discoveries import discoveries
from assay.stats.latency import requests_needed
from assay.stats.robustness import read_off, within
from assay.stats.rule import Word
from assay.stats.sequence import Judgement, as_fractions
from assay.stats.signed_rank import SignedRank
from assay.stats.total_work import steps
from assay.verdict.observations import Block, Observation, Table, observations
from assay.verdict.rows import SUITE, KindRow
from assay.verdict.self_check import not_steady

Key = tuple[str, str]
"""Case and contrast name."""

ASKED = ("change", "step")
"""Kinds of contrast that are judged by kind of request."""
MEDIAN, TAIL, MEAN, RATE = "latency_p50", "latency_p99", "latency_mean", "throughput"


@dataclass(frozen=True)
class _OfKind:
    """One kind of request in one contrast, by one metric."""

    key: Key
    request: str
    metric: str
    sample: SignedRank
    look: int
    withheld: Reason | None

    @property
    def name(self) -> str:
        return "/".join((*self.key, self.request))


@dataclass(frozen=True)
class _Levels:
    """What a nominal level is at a look, for what is spent on a comparison in all."""

    plan: Plan
    looks: Schedule

    def at(self, look: int, spent: float) -> float:
        rule, planned = self.plan.rule, len(self.looks.looks)
        if self.plan.full:
            return spent
        if look < planned:
            return self.looks.levels(spent * (1 - rule.reserve))[look]
        share = rule.constants.extension_reserve ** (look - planned + 1)
        return spent * rule.reserve * share


def kind_rows(
    plan: Plan,
    blocks: Sequence[Block],
    contrasts: Mapping[Key, Contrast],
    judged: Mapping[Key, Judgement],
    looks: Schedule,
) -> dict[Key, list[KindRow]]:
    """The rows of every contrast that may say something; `judged` has the look that each was
    judged at last."""
    levels = _Levels(plan, looks)
    by_metric: dict[str, list[_OfKind]] = {}
    for key, contrast in contrasts.items():
        for one in _asked(plan, blocks, key, contrast, judged[key]):
            by_metric.setdefault(one.metric, []).append(one)
    rows: dict[Key, list[KindRow]] = {}
    for asked in by_metric.values():
        for one, row in _ruled(plan, asked, levels):
            rows.setdefault(one.key, []).append(row)
    return {key: sorted(found, key=_place) for key, found in rows.items()}


def _place(row: KindRow) -> tuple[str, str]:
    return row.metric, row.request


def _asked(
    plan: Plan, blocks: Sequence[Block], key: Key, contrast: Contrast, judgement: Judgement
) -> Iterator[_OfKind]:
    case = key[0]
    if case == SUITE or contrast.kind not in ASKED or contrast.of in CONTROLS:
        return
    if judgement.look is None or judgement.until is None:
        return
    used = blocks[: judgement.until]
    seen = observations(used, (case,), contrast.arms)
    trend = not_steady(plan, used, (case,), contrast)
    for request, name in _metrics_of(plan, seen):
        values = series(contrast, _table(used, case, request, name))
        if not values:
            continue
        found = np.array([v for s in seen if (v := s.kinds[request].metrics.get(name, 0.0)) > 0])
        coarse = steps(found, plan.rule.margin_log, name)
        sample = SignedRank(value for _, value in values)
        yield _OfKind(key, request, name, sample, judgement.look, trend or coarse)


def _metrics_of(plan: Plan, seen: Sequence[Observation]) -> Iterator[tuple[str, str]]:
    """Kinds that every run has, each with the metrics that it has requests enough for."""
    if not seen:
        return
    full = any(run.saturated is not None for run in seen)
    for request in sorted(set.intersection(*(set(run.kinds) for run in seen))):
        least = min(run.kinds[request].latencies for run in seen)
        if not least:
            continue
        if least < (requests_needed(MEDIAN, plan.constants) or 0):
            names: tuple[str, ...] = (MEAN,)
        else:
            tail = least >= (requests_needed(TAIL, plan.constants) or 0)
            names = (RATE, MEDIAN, TAIL) if tail else (RATE, MEDIAN)
        yield from ((request, name) for name in names if name == RATE or not full)


def _table(blocks: Sequence[Block], case: str, request: str, name: str) -> Table:
    sign = metric(name).sign
    return {
        index: {
            arm: sign * math.log(value)
            for (of, arm), run in block.cells.items()
            if of == case and request in run.kinds
            if (value := run.kinds[request].metrics.get(name, 0.0)) > 0
        }
        for index, block in enumerate(blocks)
    }


def _ruled(
    plan: Plan, asked: Sequence[_OfKind], levels: _Levels
) -> Iterator[tuple[_OfKind, KindRow]]:
    """The rows of one metric, which share a false discovery rate."""
    rate = plan.constants.false_discovery_rate
    look_of = {one.name: one.look for one in asked}
    chosen, spent = discoveries(
        {one.name: one.sample.p_value() for one in asked},
        rate,
        lambda name, spent: levels.at(look_of[name], spent),
    )
    for one in asked:
        is_found = one.name in chosen
        level = levels.at(one.look, spent if is_found else rate)
        yield one, _row(plan, one, level, levels.at(one.look, plan.rule.equivalence), is_found)


def _row(plan: Plan, one: _OfKind, level: float, equivalence: float, is_found: bool) -> KindRow:
    """The row of a kind; its interval is at `level`, that of "no difference" at `equivalence`."""
    margin = plan.rule.margin_log
    interval, equal = one.sample.interval(level), one.sample.interval(equivalence)
    word = read_off(interval, equal, margin)
    if word in (Word.HELPS, Word.HURTS) and is_found:
        code = Code.ABOVE_ZERO if word is Word.HELPS else Code.BELOW_ZERO
        small = {"less_than": plan.rule.margin} if within(equal, margin) else {}
        reason = Reason.of(code, **small)
    elif within(equal, margin) and one.withheld is None:
        word, interval = Word.NO_DIFFERENCE, equal
        reason = Reason.of(Code.WITHIN_MARGIN, margin=plan.rule.margin)
    elif within(equal, margin) and one.withheld is not None:
        word, reason = Word.UNDECIDED, one.withheld
    elif word in (Word.HELPS, Word.HURTS):
        word, reason = Word.UNDECIDED, Reason.of(Code.CHANCE_AMONG_KINDS)
    else:
        reason = Reason.of(Code.INCLUDES_ZERO)
    low, high = as_fractions(interval)
    return KindRow(
        request=one.request,
        metric=one.metric,
        word=str(word),
        estimate=math.expm1(one.sample.estimate),
        low=low,
        high=high,
        blocks=one.sample.count,
        reason=worded((reason,)),
        reasons=[reason],
    )
