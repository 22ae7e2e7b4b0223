"""The best set on the page: a table, and gain against effort.

The picture puts effort on x, in the order of its letters (distances between them mean nothing),
and on y the lower bound of the gain: what is sure, not what luck made of it.

Not here: ladders. Their rungs are compared with each other, so no gain over the baseline is
bounded, and what to take is the last rung that helped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.core.terms import EFFORTS
from assay.core.units import format_percent
from assay.plan import Plan
from assay.report.html.rows import axis
from assay.report.words.best import FEWEST, efforts_of, gains, meaning, standing
from assay.report.words.wording import interval
from assay.verdict.rows import BestRow, Row, Verdicts

HEADROOM = 1.08
"""Room above the largest gain, for the names of arms."""

SPREAD = 0.8
"""Share of an effort's band that its arms are spread over."""


@dataclass(frozen=True)
class ArmGain:
    """One arm by its effort and its gain over the baseline; gains are fractions."""

    arm: str
    baseline: bool
    effort: str
    """The letter; empty where there is nothing to do."""
    effort_text: str
    low: float | None
    """None where nothing bounds the gain."""
    high: float | None
    least: str
    """The gain that is sure, as text."""
    interval: str
    word: str
    """The verdict; empty for the baseline."""
    front: bool
    """Whether no arm beats it in both effort and sure gain."""
    sweet: bool
    """Whether it is the sweet spot."""
    out: str
    """By whom it is beaten; empty where it may be the best."""
    x: float | None = None
    """Its place among the efforts; None where it is not in the picture."""


@dataclass(frozen=True)
class EffortSlot:
    """One effort on the axis."""

    letter: str
    text: str


@dataclass(frozen=True)
class GainPicture:
    """Gain against effort."""

    case: str
    heading: str
    slots: list[EffortSlot]
    points: list[ArmGain]
    front: list[ArmGain]
    """The points of the front, least effort first."""
    domain: list[float]
    """The ends of the axis of gains, as fractions."""
    logarithmic: bool


@dataclass(frozen=True)
class BestSection:
    """Which arm to take, for how much effort."""

    sentence: str
    meaning: str
    rows: list[ArmGain]
    """Those that may be the best first."""
    ladder: bool
    unbounded: int
    """Arms that are not in the picture because nothing bounds their gain."""
    groups: list[GainPicture]
    """One picture or none."""


def best_view(plan: Plan, verdicts: Verdicts) -> BestSection | None:
    """Table and picture; None where there is nothing to say."""
    best = standing(plan, verdicts)
    if best is None:
        return None
    found, efforts = gains(plan, verdicts), efforts_of(plan)
    arms = [a.name for a in plan.arms if a.name in best.inside or a.name in best.out]
    rows = [_row(plan, arm, efforts[arm], found.get(arm), best) for arm in arms]
    rows.sort(key=lambda row: (row.out != "", row.effort, -(row.low or 0.0)))
    drawn = [row for row in rows if row.low is not None]
    bounded = plan.design != "ladder" and len(drawn) >= FEWEST
    letters = [letter for letter in EFFORTS if letter <= max(row.effort for row in rows)]
    return BestSection(
        sentence=best.sentence,
        meaning=meaning(plan, best),
        rows=rows,
        ladder=plan.design == "ladder",
        unbounded=len(rows) - len(drawn),
        groups=[_picture(plan, drawn, letters)] if bounded else [],
    )


def _row(plan: Plan, arm: str, effort: str | None, row: Row | None, best: BestRow) -> ArmGain:
    base = arm == plan.baseline
    low, high = (0.0, 0.0) if base else (row.low, row.high) if row else (None, None)
    return ArmGain(
        arm=arm,
        baseline=base,
        effort=effort or "",
        effort_text=EFFORTS.get(effort or "", "nothing to do"),
        low=low,
        high=high,
        least="" if low is None or base else format_percent(low),
        interval="" if row is None else interval(row),
        word="" if row is None else row.word,
        front=arm in best.pareto,
        sweet=arm == best.sweet_spot,
        out=best.out[arm].sentence if arm in best.out else "",
    )


def _picture(plan: Plan, drawn: Sequence[ArmGain], letters: Sequence[str]) -> GainPicture:
    """Points with their places: arms of one effort stand side by side, least gain first."""
    slots = ["", *letters]
    points: list[tuple[float, ArmGain]] = []
    for place, effort in enumerate(slots):
        mine = sorted((r for r in drawn if r.effort == effort), key=lambda r: r.low or 0.0)
        for k, row in enumerate(mine):
            x = place + SPREAD * ((k + 0.5) / len(mine) - 0.5)
            points.append((x, replace(row, x=x)))
    reach = [end for row in drawn for end in (row.low, row.high) if end is not None]
    ends, logarithmic = axis(plan, [0.0, *reach, HEADROOM * max(reach)])
    return GainPicture(
        case="",
        heading="",
        slots=[EffortSlot(s or "none", EFFORTS[s].partition(":")[0] if s else "") for s in slots],
        points=[p for _, p in points],
        front=[p for _, p in sorted(points, key=lambda pair: pair[0]) if p.front],
        domain=ends,
        logarithmic=logarithmic,
    )
