"""How long a study still takes, from its replay: what every display of a running study shows."""

from __future__ import annotations

from assay.record.replay import Replay

LAST_RUNS = 20
"""So many of the last runs say what a run takes."""
BLOCKS_UNKNOWN = 8
"""Planned blocks, at least, before noise and budget say more."""


def remaining_s(replay: Replay) -> float:
    """Seconds still to go if nothing is decided early: a bound that shrinks as arms leave."""
    made = [r.took_s for r in replay.records[-LAST_RUNS:]]
    if not made or replay.next() is None:
        return 0.0
    typical = sum(made) / len(made)
    blocks = expected_blocks(replay) - len(replay.blocks)
    live = len(replay.whole())
    return max(0.0, typical * (blocks * live - len(replay.records) % max(live, 1)))


def expected_blocks(replay: Replay) -> int:
    """Blocks planned: from the noise once it is known, from the budget before."""
    known = replay.planned_blocks
    if known is not None:
        return known
    made = [r.took_s for r in replay.records]
    if not made:
        return BLOCKS_UNKNOWN
    block_s = sum(made) / len(made) * len(replay.whole() or replay.plan.schedule[0])
    affordable = int(replay.plan.runs_budget_s / block_s) if block_s else BLOCKS_UNKNOWN
    return max(BLOCKS_UNKNOWN, min(affordable, len(replay.plan.schedule)))
