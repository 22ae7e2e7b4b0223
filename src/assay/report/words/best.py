"""The best set and the sweet spot: where they say something, and what they mean.

Which arms are in the set and on the front is the verdict's.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.plan import Plan
from assay.report.words.sections import headline
from assay.report.words.wording import is_arm, listed
from assay.verdict.rows import BestRow, Row, Verdicts

FEWEST = 3
"""Arms, the baseline among them, from which on a set of the best says more than the verdicts."""

NAMES_SHOWN = 6


def standing(plan: Plan, verdicts: Verdicts) -> BestRow | None:
    """The best set, where there is one that says something and can be believed."""
    best = verdicts.best
    if best is None or len(best.inside) + len(best.out) < FEWEST or verdicts.told_apart:
        return None
    return best


def gains(plan: Plan, verdicts: Verdicts) -> dict[str, Row]:
    """Arm -> its verdict against the baseline."""
    rows = headline(plan, verdicts)
    return {r.arm: r for r in rows if is_arm(r) and r.contrast.against == plan.baseline}


def efforts_of(plan: Plan) -> dict[str, str | None]:
    """Arm -> the effort it takes; None where there is nothing to do."""
    return {a.name: a.effort for a in plan.arms}


def few(names: Sequence[str]) -> str:
    """So many names as a line of a terminal bears."""
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def meaning(plan: Plan, best: BestRow) -> str:
    """What the set means for a choice."""
    if plan.design == "ladder":
        return ""
    if best.sweet_spot is None:
        return "None of it is confirmed to help, so there is no sweet spot."
    if best.sweet_spot == plan.baseline:
        return f"{plan.baseline} is in it, and nothing in it is confirmed to help: change nothing."
    others = [arm for arm in best.inside if arm != best.sweet_spot]
    if not others:
        return f"{best.sweet_spot} is the one to take."
    return (
        f"{best.sweet_spot} is the sweet spot: of those in it that are confirmed to help, none "
        f"costs less effort. This study cannot tell it from {listed(others)}."
    )
