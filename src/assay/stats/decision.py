"""`decide`: verdicts for anybody's runs, whatever tool made them.

The same engine the bench uses, behind one function: rows in, words and intervals out. It can
check only what the rows show. That the load generator kept up, the setting was in force, and
the order was random are promises of whoever measured; what the rows betray about them comes
back as warnings.

Sources: those of `sequence.py` and `warnings.py`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from assay.core.errors import DataError
from assay.core.units import parse_percent
from assay.reasons import Code, Reason, worded
from assay.stats import warnings
from assay.stats.rule import Rule, Strength, Word
from assay.stats.run_table import Better, Columns, Floats, Indices, Table, read_runs
from assay.stats.sequence import Judgement, judge, judge_once
from assay.stats.total_work import (
    RATIO_LOG_MAX,
    TotalWork,
    differs,
    steps,
    total_work,
    typical_only,
)

ALPHA_MIN = 1e-12  # nobody measures as often; far below, the quantiles end
PLANNED_MAX = 10**9


@dataclass(frozen=True)
class Verdict:
    """The answer about one arm against the baseline. Effects are fractions; up is better.

    With better="lower" an effect is baseline/arm - 1: 0.02 means the baseline takes 2 % more.

    word       helps, hurts, no difference, undecided
    low, high  the interval, of the typical run; None when too few blocks bound it
    estimate   Hodges-Lehmann estimate; biased outwards when a study stopped early
    blocks     blocks that have both arms and were used
    level      chance of error the interval stands for, 0.05 meaning 95 %
    look       index of the look (from 0) that gave the answer; None before the first
    total      total work, all runs together, at the same look; None before the first
    final      False while a planned study is still running
    """

    arm: str
    word: Word
    strength: Strength
    estimate: float
    low: float | None
    high: float | None
    blocks: int
    level: float
    look: int | None
    final: bool
    reason: str
    total: TotalWork | None = None


@dataclass(frozen=True)
class Decision:
    """Everything `decide` found: `verdicts` by arm, and warnings about what they rest on.

    `medians`: of every arm, the median of all its runs, as measured.
    """

    baseline: str
    planned: int | None
    blocks: int
    rule: Rule
    verdicts: dict[str, Verdict]
    warning_reasons: tuple[Reason, ...]
    medians: dict[str, float]

    @property
    def warnings(self) -> list[str]:
        """The warnings as sentences."""
        return [reason.text for reason in self.warning_reasons]


def decide(
    runs: Iterable[tuple[object, ...]] | Columns,
    *,
    baseline: str,
    smallest: str | float = "2%",
    margin: str | float = "2%",
    alpha: float = 0.05,
    better: Better = "higher",
    planned: int | None = None,
) -> Decision:
    """Decide for every arm whether it helps against `baseline`.

    `runs`: rows (block, arm, value) or (block, arm, value, order); a block holds one run of each
    arm, done close together in random order. A million of them are decided in seconds.
    `smallest`, `margin`: "2%" or 0.02. With `planned=N` the data are those of a study planned
    for N blocks that was looked at on the way, and the looks are replayed; without it, they are
    tested once, as a size fixed beforehand.
    Raises DataError, with the next step, on input that cannot be decided on.

    >>> rows = [(b, arm, 100.0 + b % 3 + (9 if arm == "new" else 0))
    ...         for b in range(9) for arm in ("old", "new")]
    >>> str(decide(rows, baseline="old").verdicts["new"].word)
    'helps'
    """
    rule = _rule(smallest, margin, alpha)
    if planned is not None and (isinstance(planned, bool) or not _is_count(planned)):
        raise DataError(f"planned is {planned!r}", next_step="give the number of planned blocks")
    table = read_runs(runs, better)
    arms = _candidates(table, baseline)
    contrasts = _contrasts(table, arms, baseline)
    _require_usable(contrasts, table, baseline)
    series = {
        arm: list(zip(blocks.tolist(), values.tolist(), strict=True))
        for arm, (blocks, values) in contrasts.items()
    }
    count = len(table.blocks)
    totals = _Totals(table, baseline, rule, 1 if better == "higher" else -1)
    if planned is None:
        judgements = judge_once(series, rule, count, withhold=totals.withhold)
    else:
        judgements = judge(series, rule, int(planned), count, withhold=totals.withhold)
    found = [
        *_plan_warnings(planned, count, judgements),
        *_dropped_warnings(contrasts, table, baseline),
        *_run_warnings(contrasts, table, baseline),
    ]
    return Decision(
        baseline=baseline,
        planned=planned,
        blocks=count,
        rule=rule,
        verdicts={arm: _verdict(judgements[arm], totals) for arm in arms},
        warning_reasons=tuple(found),
        medians={arm: _median(table.values[table.runs_of[arm]]) for arm in table.arms},
    )


def _rule(smallest: object, margin: object, alpha: object) -> Rule:
    if not _is_rate(alpha):
        raise DataError(f"alpha is {alpha!r}", next_step="give an error rate such as 0.05")
    return Rule(_fraction(smallest, "smallest"), _fraction(margin, "margin"), float(alpha))


def _is_rate(alpha: object) -> TypeGuard[numbers.Real]:
    if isinstance(alpha, bool) or not isinstance(alpha, numbers.Real):
        return False
    return alpha < 0.5 and not alpha < ALPHA_MIN


def _fraction(size: object, name: str) -> float:
    """A size as a fraction: "2%" or 0.02. Raises DataError."""
    number = math.nan
    if isinstance(size, str):
        with suppress(ValueError):
            number = parse_percent(size)
    elif isinstance(size, numbers.Real) and not isinstance(size, bool):
        number = float(size)
    if not 0 < number < 1:
        raise DataError(
            f"{name} is {size!r}, which is no size between 0 and 100 %",
            next_step=f'write {name}="2%" or {name}=0.02',
        )
    return number


def _is_count(value: object) -> bool:
    return isinstance(value, numbers.Integral) and 1 <= int(value) <= PLANNED_MAX


def listed(names: Sequence[str]) -> str:
    """Names for a message, ten at most."""
    return ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")


def _candidates(table: Table, baseline: str) -> list[str]:
    if baseline not in table.arms:
        raise DataError(
            f"there is no arm called {baseline!r}",
            next_step=f"name one of {listed(table.arms)} as baseline",
        )
    arms = [arm for arm in table.arms if arm != baseline]
    if not arms:
        raise DataError(
            f"{baseline} is the only arm",
            next_step="add runs of an arm to compare it with; of files without arms, each is one",
        )
    return arms


Contrasts = dict[str, tuple[Indices, Floats]]
"""Arm -> the blocks that have it and the baseline, ascending, and the contrast of each."""


def _contrasts(table: Table, arms: list[str], baseline: str) -> Contrasts:
    """`series(change(arm, baseline), ...)` of `contrast.py`, all blocks at once."""
    theirs = np.full(len(table.blocks), np.nan)
    theirs[table.block[table.runs_of[baseline]]] = table.logs[table.runs_of[baseline]]
    found: Contrasts = {}
    for arm in arms:
        blocks = table.block[table.runs_of[arm]]
        values = table.logs[table.runs_of[arm]] - theirs[blocks]
        complete = ~np.isnan(values)
        found[arm] = blocks[complete], values[complete]
    return found


def _median(values: Floats) -> float:
    """As numpy's, but finite at the end of floating point."""
    low, high = map(float, np.sort(values)[[(len(values) - 1) // 2, len(values) // 2]])
    return (low + high) / 2 if low + high < math.inf else low / 2 + high / 2


def _require_usable(contrasts: Contrasts, table: Table, baseline: str) -> None:
    for arm, (blocks, values) in contrasts.items():
        if not len(blocks):
            raise DataError(
                f"no block has both {arm} and {baseline}",
                next_step="give runs that were done together the same block",
            )
        widest = int(np.argmax(np.abs(values)))
        if abs(values[widest]) > RATIO_LOG_MAX:
            raise DataError(
                f"block {table.blocks[blocks[widest]]}: {arm} and {baseline} differ by a factor "
                f"of 10^{abs(values[widest]) / math.log(10):.0f}",
                next_step="check the two values: no floating-point number is that large",
            )


class _Totals:
    """Total work of every arm against the baseline, over the blocks that a look has."""

    def __init__(self, table: Table, baseline: str, rule: Rule, sign: int) -> None:
        self.table, self.rule, self.sign = table, rule, sign
        self.theirs = np.full(len(table.blocks), np.nan)
        self.theirs[table.block[table.runs_of[baseline]]] = table.values[table.runs_of[baseline]]

    def pairs(self, arm: str, blocks: int) -> Floats:
        """What the arm and the baseline measured, in the first blocks that have both."""
        runs = self.table.runs_of[arm]
        theirs = self.theirs[self.table.block[runs]]
        used = ~np.isnan(theirs) & (self.table.block[runs] < blocks)
        return np.column_stack((self.table.values[runs][used], theirs[used]))

    def of(self, judgement: Judgement) -> TotalWork | None:
        """None before the first look."""
        if judgement.until is None or judgement.nominal is None:
            return None
        pairs = self.pairs(judgement.name, judgement.until)
        return total_work([pairs], self.sign, judgement.nominal)

    def withhold(self, name: str, blocks: int, level: float) -> Reason | None:
        """Why "no difference" is not to be said, as `Withhold`."""
        pairs, margin = self.pairs(name, blocks), self.rule.margin_log
        coarse = steps(pairs.ravel(), margin, "the metric")
        return coarse or differs(total_work([pairs], self.sign, level), margin)


def _verdict(judgement: Judgement, totals: _Totals) -> Verdict:
    assert judgement.estimate is not None, "every arm has a complete block by now"
    total, margin = totals.of(judgement), totals.rule.margin_log
    only = typical_only(total, margin) if judgement.word is Word.HELPS else None
    return Verdict(
        arm=judgement.name,
        word=judgement.word,
        strength=judgement.strength,
        estimate=judgement.estimate,
        low=judgement.low,
        high=judgement.high,
        blocks=judgement.blocks,
        level=judgement.level,
        look=judgement.look,
        final=judgement.final,
        reason=worded((*judgement.reasons, *([only] if only is not None else []))),
        total=total,
    )


def _plan_warnings(
    planned: int | None, blocks: int, judgements: dict[str, Judgement]
) -> list[Reason]:
    if planned is None:
        return [Reason.of(Code.FIXED_SAMPLE)]
    if blocks > planned:
        beyond = blocks - planned
        return [Reason.of(Code.BEYOND_PLAN, beyond=beyond, blocks=blocks, planned=planned)]
    if not all(judgement.final for judgement in judgements.values()):
        return [Reason.of(Code.UNFINISHED, blocks=blocks, planned=planned)]
    return []


def _dropped_warnings(contrasts: Contrasts, table: Table, baseline: str) -> list[Reason]:
    found = []
    for arm, (used, _) in contrasts.items():
        count = len(table.blocks) - len(used)
        if not count:
            continue
        among = np.arange(min(len(table.blocks), len(used) + 5))  # five of them, or all there are
        lacking = np.setdiff1d(among, used)[:5]
        found.append(
            Reason.of(
                Code.BLOCKS_DROPPED,
                arm=arm,
                baseline=baseline,
                dropped=count,
                blocks=len(table.blocks),
                shown=tuple(str(table.blocks[k]) for k in lacking),
            )
        )
    return found


def _run_warnings(contrasts: Contrasts, table: Table, baseline: str) -> list[Reason]:
    found: list[Reason | None] = []
    if table.by_position:
        found.append(Reason.of(Code.ORDER_UNKNOWN, pairs="position"))
    elif table.orders is None:
        found.append(Reason.of(Code.ORDER_UNKNOWN, pairs="block"))
    if table.orders is not None:
        grouped = warnings.grouped_warning(table.sequence or [])
        found.append(grouped)
        if grouped is None:
            found.extend(warnings.order_warnings(list(table.orders.values())))
            found.append(warnings.slot_warning(table.by_block, table.orders))
            found.append(warnings.carry_warning(table.by_block, table.orders, baseline))
    for arm, (_, values) in contrasts.items():
        found.append(warnings.serial_warning(arm, values))
        found.append(warnings.ties_warning(arm, values))
    return [warning for warning in found if warning is not None]
