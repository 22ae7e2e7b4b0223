"""What a verdict stands on besides its numbers: witness, dose, and what would spoil it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import product

from assay.plan import Plan
from assay.reasons import Code, Reason
from assay.stats.contrast import Contrast
from assay.stats.latency import too_few
from assay.verdict.observations import Block, observations
from assay.verdict.rows import WitnessRow


def witness(blocks: Sequence[Block], cases: Sequence[str], arms: Sequence[str]) -> WitnessRow:
    """Every level of every factor must have been seen in force in every run of these arms."""
    failed: dict[str, None] = {}
    held: dict[str, None] = {}
    for seen in observations(blocks, cases, arms):
        for factor, said in sorted(seen.witness.items()):
            (held if said.held else failed)[f"{factor}: {said.evidence}"] = None
    return WitnessRow(held=not failed, evidence=list(failed or held)[:8])


def dose(
    plan: Plan, blocks: Sequence[Block], cases: Sequence[str], contrast: Contrast
) -> dict[str, float]:
    """The largest median dose, over cases and the contrast's arms, of each factor it changes.

    Cases are not mixed: doses of different servers count different things.
    """
    levels = {a.name: a.levels for a in plan.arms}
    found: dict[str, float] = {}
    for factor in plan.factors:
        if len({levels[arm].get(factor) for arm in contrast.arms}) < 2:
            continue
        medians = []
        for case, arm in product(cases, contrast.arms):
            seen = observations(blocks, (case,), (arm,))
            doses = [s.dose[factor] for s in seen if factor in s.dose]
            medians += [statistics.median(doses)] if doses else []
        if medians:
            found[factor] = max(medians)
    return found


def spoiled(
    plan: Plan, blocks: Sequence[Block], cases: Sequence[str], contrast: Contrast, metric: str
) -> Reason | None:
    """Why a latency cannot be compared at all: too few requests, or saturation.

    The run with the fewest requests counts. An arm that could not keep up with the asked rate
    has the latency of its queue, which grows with the window and is no property of the server.
    """
    if not metric.startswith("latency_"):
        return None
    for arm in contrast.arms:
        seen = observations(blocks, cases, (arm,))
        few = min(seen, key=lambda s: s.latencies, default=None)
        if few is not None:
            reason = too_few(arm, metric, few.latencies, few.latency_of, plan.constants)
            if reason is not None:
                return reason
        full = [s.saturated for s in seen if s.saturated is not None]
        if full:
            return Reason.of(
                Code.SATURATED,
                arm=arm,
                runs=len(full),
                of=len(seen),
                asked=full[0].asked,
                achieved=full[0].achieved,
            )
    return None
