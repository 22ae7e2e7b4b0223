"""The best set in the terminal: set, front, and who is beaten by whom."""

from __future__ import annotations

from collections.abc import Mapping

from assay.core.units import format_percent
from assay.plan import Plan
from assay.report.words.best import efforts_of, few, gains, standing
from assay.report.words.line import Line
from assay.verdict.rows import BestRow, Row, Verdicts


def best_lines(plan: Plan, verdicts: Verdicts) -> list[Line]:
    """Set, front and who is beaten by whom, a line each."""
    best = standing(plan, verdicts)
    if best is None:
        return []
    lines = [Line(f"best set: {best.sentence}", "bold")]
    beaten: dict[str, list[str]] = {}
    for arm, why in best.out.items():
        beaten.setdefault(why.by, []).append(arm)
    if beaten:
        each = "; ".join(f"by {winner}: {few(arms)}" for winner, arms in beaten.items())
        lines.append(Line(f"  beaten     {each}"))
    if len(best.pareto) > 1 and plan.design != "ladder":
        found, efforts = gains(plan, verdicts), efforts_of(plan)
        steps = [_step(arm, efforts[arm], found, best) for arm in best.pareto]
        lines.append(Line(f"  by effort  {'; '.join(steps)}"))
    return lines


def _step(arm: str, effort: str | None, found: Mapping[str, Row], best: BestRow) -> str:
    """One arm of the front, with what is sure to be gained by it."""
    if not effort:
        return f"none {arm}"
    low = found[arm].low if arm in found else None
    sure = "" if low is None else f", at least {format_percent(low)}"
    word = found[arm].word if arm in found else ""
    spot = " (sweet spot)" if arm == best.sweet_spot else "" if word == "helps" else f" ({word})"
    return f"{effort} {arm}{sure}{spot}"
