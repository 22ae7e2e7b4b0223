"""The next limit: what is waited for more, now that a change has done its work.

Of every wait that a target reports and no prediction was about, those that surely grew and are
large enough to matter. They are leads: the false discovery rate is held over all at 10 %.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from assay.explain.comparison import Comparison
from assay.stats.rule import Word
from assay.stats.secondary import suggest

MATTERS = {"wait_share": 0.01, "contention": 0.01, "waits_per_operation": 0.01}
"""Families in which growth is looked for, the best first, and from which level on it matters."""
FLOOR = 0.1
"""Of the level that matters: less than this counts as this."""
SHOWN = 3


@dataclass(frozen=True)
class Limit:
    """A wait that grew: its metric, by how much (a fraction), and its median in the arm."""

    metric: str
    estimate: float
    low: float | None
    high: float | None
    level: float


def limits(compared: Sequence[Comparison]) -> list[list[Limit]]:
    """Of each comparison, what grew, the largest first."""
    logs = {
        f"{place} {name}": _growth(one, name)
        for place, one in enumerate(compared)
        for name in _candidates(one)
    }
    judged = suggest({name: list(enumerate(found)) for name, found in logs.items() if found})
    grown: list[dict[str, Limit]] = [{} for _ in compared]
    for name, found in judged.items():
        place, _, metric = name.partition(" ")
        if found.word is Word.HELPS:  # of plain logs: it went up
            level = statistics.median(m.get(metric, 0.0) for m, _ in compared[int(place)].pairs)
            grown[int(place)][metric] = Limit(
                metric, found.estimate or 0.0, found.low, found.high, level
            )
    return [_each_once(found) for found in grown]


def _candidates(one: Comparison) -> list[str]:
    """Waits that matter in the arm."""
    names = sorted({name for mine, _ in one.pairs for name in mine})
    return [
        name
        for name in names
        if (least := MATTERS.get(name.partition(".")[0])) is not None
        and statistics.median(mine.get(name, 0.0) for mine, _ in one.pairs) >= least
    ]


def _growth(one: Comparison, name: str) -> list[float]:
    floor = FLOOR * MATTERS[name.partition(".")[0]]
    return [
        math.log(max(mine.get(name, 0.0), floor) / max(other.get(name, 0.0), floor))
        for mine, other in one.pairs
    ]


def _each_once(found: dict[str, Limit]) -> list[Limit]:
    """One metric of each lock, that of the best family; the largest first, in that family."""
    best: dict[str, Limit] = {}
    for family in MATTERS:
        ranked = [m for m in found if m.partition(".")[0] == family]
        for name in sorted(ranked, key=lambda n: -found[n].level):
            best.setdefault(name.partition(".")[2], found[name])
    return list(best.values())[:SHOWN]
