"""The best set, the sweet spot, and gain against effort, for the terminal and for the page.

The picture puts effort on x, in the order of its letters (distances between them mean nothing),
and on y the lower bound of the gain: what is sure, not what luck made of it. Which arms are in
the set and on the front is the verdict's; here they get their places.

Not here: ladders. Their rungs are compared with each other, so no gain over the baseline is
bounded, and what to take is the last rung that helped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.terms import EFFORTS
from assay.core.units import format_percent
from assay.plan import Plan
from assay.report.line import Line
from assay.report.rows import LOGARITHMIC_ABOVE, domain
from assay.report.sections import headline
from assay.report.wording import interval, is_arm, listed
from assay.verdict.rows import BestRow, Row, Verdicts

FEWEST = 3
"""Arms, the baseline among them, from which on a set of the best says more than the verdicts."""

NAMES_SHOWN = 6

HEADROOM = 1.08
"""Room above the largest gain, for the names of arms."""

SPREAD = 0.8
"""Share of an effort's band that its arms are spread over."""


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


# the terminal


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
        found, efforts = gains(plan, verdicts), _efforts(plan)
        steps = [_step(arm, efforts[arm], found, best) for arm in best.pareto]
        lines.append(Line(f"  by effort  {'; '.join(steps)}"))
    return lines


def few(names: Sequence[str]) -> str:
    """So many names as a line of a terminal bears."""
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _step(arm: str, effort: str | None, found: Mapping[str, Row], best: BestRow) -> str:
    """One arm of the front, with what is sure to be gained by it."""
    if not effort:
        return f"none {arm}"
    low = found[arm].low if arm in found else None
    sure = "" if low is None else f", at least {format_percent(low)}"
    word = found[arm].word if arm in found else ""
    spot = " (sweet spot)" if arm == best.sweet_spot else "" if word == "helps" else f" ({word})"
    return f"{effort} {arm}{sure}{spot}"


# the page


def best_view(plan: Plan, verdicts: Verdicts) -> dict[str, Any]:
    """Table and picture; `shown` is false where there is nothing to say."""
    best = standing(plan, verdicts)
    if best is None:
        return {"shown": False, "groups": []}
    found, efforts = gains(plan, verdicts), _efforts(plan)
    arms = [a.name for a in plan.arms if a.name in best.inside or a.name in best.out]
    rows = [_row(plan, arm, efforts[arm], found.get(arm), best) for arm in arms]
    rows.sort(key=lambda row: (row["out"] != "", row["effort"], -(row["low"] or 0.0)))
    drawn = [row for row in rows if row["low"] is not None]
    bounded = plan.design != "ladder" and len(drawn) >= FEWEST
    letters = [letter for letter in EFFORTS if letter <= max(row["effort"] for row in rows)]
    reach = [row[end] for row in drawn for end in ("low", "high") if row[end] is not None]
    return {
        "shown": True,
        "sentence": best.sentence,
        "meaning": _meaning(plan, best),
        "rows": rows,
        "ladder": plan.design == "ladder",
        "unbounded": len(rows) - len(drawn),
        "groups": [_picture(drawn, letters, reach)] if bounded else [],
    }


def _efforts(plan: Plan) -> dict[str, str | None]:
    return {a.name: a.effort for a in plan.arms}


def _row(
    plan: Plan, arm: str, effort: str | None, row: Row | None, best: BestRow
) -> dict[str, Any]:
    base = arm == plan.baseline
    low, high = (0.0, 0.0) if base else (row.low, row.high) if row else (None, None)
    return {
        "arm": arm,
        "baseline": base,
        "effort": effort or "",
        "effort_text": EFFORTS.get(effort or "", "nothing to do"),
        "low": low,
        "high": high,
        "least": "" if low is None or base else format_percent(low),
        "interval": "" if row is None else interval(row),
        "word": "" if row is None else row.word,
        "front": arm in best.pareto,
        "sweet": arm == best.sweet_spot,
        "out": best.out[arm].sentence if arm in best.out else "",
    }


def _meaning(plan: Plan, best: BestRow) -> str:
    """What the set means for whoever has to choose."""
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


def _picture(
    drawn: Sequence[dict[str, Any]], letters: Sequence[str], reach: Sequence[float]
) -> dict[str, Any]:
    """Points with their places: arms of one effort stand beside each other, least gain first."""
    slots = ["", *letters]
    points = []
    for place, effort in enumerate(slots):
        mine = sorted((r for r in drawn if r["effort"] == effort), key=lambda r: r["low"])
        for k, row in enumerate(mine):
            points.append(row | {"x": place + SPREAD * ((k + 0.5) / len(mine) - 0.5)})
    logarithmic = max(reach) > LOGARITHMIC_ABOVE
    return {
        "case": "",
        "heading": "",
        "slots": [{"letter": s or "none", "text": EFFORTS[s].partition(":")[0] if s else ""}
                  for s in slots],
        "points": points,
        "front": sorted((p for p in points if p["front"]), key=lambda p: p["x"]),
        "domain": domain([0.0, *reach, HEADROOM * max(reach)], logarithmic),
        "logarithmic": logarithmic,
    }  # fmt: skip
