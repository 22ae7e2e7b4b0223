"""The best set on the page: a table, and gain against effort.

The picture puts effort on x, in the order of its letters (distances between them mean nothing),
and on y the lower bound of the gain: what is sure, not what luck made of it.

Not here: ladders. Their rungs are compared with each other, so no gain over the baseline is
bounded, and what to take is the last rung that helped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.core.terms import EFFORTS
from assay.core.units import format_percent
from assay.plan import Plan
from assay.report.html.rows import LOGARITHMIC_ABOVE, domain
from assay.report.words.best import FEWEST, efforts_of, gains, meaning, standing
from assay.report.words.wording import interval
from assay.verdict.rows import BestRow, Row, Verdicts

HEADROOM = 1.08
"""Room above the largest gain, for the names of arms."""

SPREAD = 0.8
"""Share of an effort's band that its arms are spread over."""


def best_view(plan: Plan, verdicts: Verdicts) -> dict[str, Any]:
    """Table and picture; `shown` is false where there is nothing to say."""
    best = standing(plan, verdicts)
    if best is None:
        return {"shown": False, "groups": []}
    found, efforts = gains(plan, verdicts), efforts_of(plan)
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
        "meaning": meaning(plan, best),
        "rows": rows,
        "ladder": plan.design == "ladder",
        "unbounded": len(rows) - len(drawn),
        "groups": [_picture(drawn, letters, reach)] if bounded else [],
    }


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
