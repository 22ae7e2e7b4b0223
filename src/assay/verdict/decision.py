"""`decide`: verdicts for anybody's runs, whatever tool made them.

The same engine the bench uses, behind one function: rows in, words and intervals out. It can
check only what the rows show. That the load generator kept up, the setting was in force, and
the order was random are promises of whoever measured; what the rows betray about them comes
back as warnings.

Sources: those of `sequence.py` and `checks.py`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from assay._errors import DataError
from assay._units import parse_percent
from assay.verdict import checks
from assay.verdict.checks import Code, Doubt
from assay.verdict.contrast import change, series
from assay.verdict.rule import Rule, Strength, Word
from assay.verdict.runs import Better, Table, read_runs
from assay.verdict.sequence import Judgement, judge, judge_once


@dataclass(frozen=True)
class Verdict:
    """The answer about one arm against the baseline. Effects are fractions; up is better.

    With better="lower" an effect is baseline/arm - 1: 0.02 means the baseline takes 2 % more.

    word       helps, hurts, no difference, undecided
    low, high  the interval; None when there are too few blocks for a bounded one
    estimate   Hodges-Lehmann estimate; biased outwards when a study stopped early
    blocks     blocks that have both arms and were used
    level      chance of error the interval stands for, 0.05 meaning 95 %
    look       index of the look (from 0) that gave the answer; None before the first
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


@dataclass(frozen=True)
class Decision:
    """Everything `decide` found: `verdicts` by arm, and sentences about what they rest on.

    `doubts` are the same warnings with their codes.
    """

    baseline: str
    planned: int | None
    blocks: int
    rule: Rule
    verdicts: dict[str, Verdict]
    doubts: tuple[Doubt, ...]

    @property
    def warnings(self) -> list[str]:
        """The doubts as sentences."""
        return [doubt.text for doubt in self.doubts]


def decide(
    runs: Iterable[tuple],
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
    arm, done close together in random order. `smallest`, `margin`: "2%" or 0.02. With
    `planned=N` the data are those of a study planned for N blocks that was looked at on the way,
    and the looks are replayed; without it, they are tested once, as a size fixed beforehand.
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
    index = {block: k for k, block in enumerate(table.logs)}
    contrasts = {arm: series(change(arm, baseline), table.logs) for arm in arms}
    _require_blocks(contrasts, baseline)
    numbered = {arm: [(index[b], c) for b, c in pairs] for arm, pairs in contrasts.items()}
    if planned is None:
        judgements = judge_once(numbered, rule, len(index))
    else:
        judgements = judge(numbered, rule, int(planned), len(index))
    doubts = [
        *_plan_doubts(planned, len(index), judgements),
        *_dropped_doubts(contrasts, table, baseline),
        *_run_doubts(contrasts, table),
    ]
    return Decision(
        baseline=baseline,
        planned=planned,
        blocks=len(index),
        rule=rule,
        verdicts={arm: _verdict(judgements[arm]) for arm in arms},
        doubts=tuple(doubts),
    )


def _rule(smallest: object, margin: object, alpha: object) -> Rule:
    if isinstance(alpha, bool) or not isinstance(alpha, numbers.Real) or not 0 < alpha < 0.5:
        raise DataError(f"alpha is {alpha!r}", next_step="give an error rate such as 0.05")
    return Rule(_fraction(smallest, "smallest"), _fraction(margin, "margin"), float(alpha))


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
    return isinstance(value, numbers.Integral) and value >= 1


def _candidates(table: Table, baseline: str) -> list[str]:
    if baseline not in table.arms:
        raise DataError(
            f"there is no arm called {baseline!r}",
            next_step=f"name one of {', '.join(table.arms)} as baseline",
        )
    arms = [arm for arm in table.arms if arm != baseline]
    if not arms:
        raise DataError(
            f"{baseline} is the only arm", next_step="add runs of an arm to compare it with"
        )
    return arms


def _require_blocks(contrasts: dict[str, list], baseline: str) -> None:
    for arm, pairs in contrasts.items():
        if not pairs:
            raise DataError(
                f"no block has both {arm} and {baseline}",
                next_step="give runs that were done together the same block",
            )


def _verdict(judgement: Judgement) -> Verdict:
    assert judgement.estimate is not None, "every arm has a complete block by now"
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
        reason=judgement.reason,
    )


def _plan_doubts(planned: int | None, blocks: int, judgements: dict[str, Judgement]) -> list[Doubt]:
    if planned is None:
        return [
            Doubt(
                Code.FIXED_SAMPLE,
                "tested once, as a number of blocks fixed beforehand; adding blocks and testing "
                "again until the answer pleases is wrong far more often than alpha: give the "
                "planned number of blocks if you look on the way",
            )
        ]
    if blocks > planned:
        return [
            Doubt(
                Code.BEYOND_PLAN,
                f"{blocks - planned} of {blocks} blocks came after the {planned} planned and "
                "were not used",
            )
        ]
    if not all(judgement.final for judgement in judgements.values()):
        return [
            Doubt(
                Code.UNFINISHED,
                f"{blocks} of {planned} planned blocks are in; undecided arms may still be decided",
            )
        ]
    return []


def _dropped_doubts(
    contrasts: dict[str, list[tuple[Hashable, float]]], table: Table, baseline: str
) -> list[Doubt]:
    doubts = []
    for arm, pairs in contrasts.items():
        used = {block for block, _ in pairs}
        dropped = [str(block) for block in table.logs if block not in used]
        if dropped:
            shown = ", ".join(dropped[:5]) + (", ..." if len(dropped) > 5 else "")
            doubts.append(
                Doubt(
                    Code.BLOCKS_DROPPED,
                    f"{arm}: {len(dropped)} of {len(table.logs)} blocks lack it or {baseline} "
                    f"and do not count ({shown})",
                )
            )
    return doubts


def _run_doubts(contrasts: dict[str, list[tuple[Hashable, float]]], table: Table) -> list[Doubt]:
    doubts: list[Doubt | None] = []
    if table.orders is None:
        doubts.append(
            Doubt(
                Code.ORDER_UNKNOWN,
                "the rows do not say in which order the runs happened; the verdicts hold if it "
                "was random inside every block",
            )
        )
    else:
        grouped = checks.grouped_doubt(table.sequence or [])
        doubts.append(grouped)
        if grouped is None:
            doubts.extend(checks.order_doubts(list(table.orders.values())))
            doubts.append(checks.slot_doubt(table.logs, table.orders))
    for arm, pairs in contrasts.items():
        values = [value for _, value in pairs]
        doubts.append(checks.serial_doubt(arm, values))
        doubts.append(checks.ties_doubt(arm, values))
    return [doubt for doubt in doubts if doubt is not None]
