"""An explanation of each verdict: its predictions, its bound, its terms, and the next limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.explain.comparison import Comparison, comparisons
from assay.explain.headroom import Bound, bound
from assay.explain.identity import Identity, identity
from assay.explain.limits import Limit, limits
from assay.plan import Plan
from assay.reasons import Code, Reason
from assay.record import Bundle, RunRecord, checked_verdicts, counted_blocks
from assay.verdict.rows import Row, Verdicts


@dataclass(frozen=True)
class Explanation:
    """Why one arm is what its verdict says, in one case.

    `predictions` are the verdict rows of what its change was to move or leave alone; empty where
    nothing was predicted, or several changes were switched at once. `bound` and `identity` are
    None where what they need was not measured. `speeds`: warnings of two speeds, of the arm or of
    what it is compared with.
    """

    verdict: Row
    predictions: tuple[Row, ...]
    limits: tuple[Limit, ...]
    bound: Bound | None
    identity: Identity | None
    speeds: tuple[Reason, ...] = ()


def explain(bundle: Bundle) -> list[Explanation]:
    """An explanation of every arm's verdict, case by case.

    BundleError if the study has no verdicts yet, AlteredError if its runs were altered.
    """
    return explanations(bundle.plan, bundle.runs(), checked_verdicts(bundle))


def explanations(plan: Plan, runs: Sequence[RunRecord], verdicts: Verdicts) -> list[Explanation]:
    """The same, of runs and verdicts that are at hand."""
    blocks = counted_blocks(runs, verdicts.blocks)
    compared = list(comparisons(plan, blocks, verdicts))
    predicted = [_predictions(one, verdicts) for one in compared]
    return [
        Explanation(
            verdict=one.row,
            predictions=rows,
            limits=tuple(m for m in grown if m.metric not in {r.metric for r in rows}),
            bound=bound(plan, one),
            identity=identity(plan, one),
            speeds=_speeds(one, verdicts),
        )
        for one, rows, grown in zip(compared, predicted, limits(compared), strict=True)
    ]


def _predictions(one: Comparison, verdicts: Verdicts) -> tuple[Row, ...]:
    return tuple(
        row
        for row in verdicts.verdicts
        if row.contrast.kind == "prediction"
        and (row.case, row.arm, row.contrast.against)
        == (one.row.case, one.row.arm, one.row.contrast.against)
    )


def _speeds(one: Comparison, verdicts: Verdicts) -> tuple[Reason, ...]:
    arms = (one.row.arm, one.row.contrast.against)
    return tuple(
        reason
        for reason in verdicts.warning_reasons
        if reason.code is Code.TWO_GROUPS
        and reason.fields["arm"] in arms
        and reason.fields.get("case") in ("", None, one.row.case)
    )
