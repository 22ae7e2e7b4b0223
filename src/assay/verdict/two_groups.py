"""Two speeds in one arm, of a study's runs: a warning with the counter and what holds inside them.

Arms that fall into the same group in nearly every block need none: the pair takes it out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.core.metrics import WORK, metric
from assay.plan import Plan
from assay.reasons import Code, Field, Reason
from assay.stats.fisher import fisher_two_sided
from assay.stats.run_groups import Groups, inside, run_groups, separator
from assay.stats.signed_rank import SignedRank
from assay.verdict.observations import Block, amounts, table

TOGETHER = 0.9
"""Share of blocks with both arms in one group from which pairs take the groups out."""


@dataclass(frozen=True)
class ArmSpeeds:
    """The runs of one arm: block -> the primary metric as measured, and their two groups; None
    where they are of one."""

    amounts: Mapping[int, float]
    groups: Groups | None


def arm_speeds(plan: Plan, blocks: Sequence[Block], case: str) -> dict[str, ArmSpeeds]:
    """Every arm's runs in one case, by how fast they were."""
    sign = metric(plan.primary).sign
    found: dict[str, dict[int, float]] = {arm.name: {} for arm in plan.arms}
    for index, block in enumerate(blocks):
        for arm, value in amounts(block, case, plan.primary).items():
            found[arm][index] = value
    return {
        arm: ArmSpeeds(
            values,
            run_groups({b: sign * math.log(v) for b, v in values.items()}, plan.constants),
        )
        for arm, values in found.items()
    }


def two_groups(plan: Plan, blocks: Sequence[Block]) -> list[Reason]:
    """A warning for each arm whose runs fall into two groups."""
    return [reason for case in plan.cases for reason in _of_case(plan, blocks, case.name)]


def _of_case(plan: Plan, blocks: Sequence[Block], case: str) -> list[Reason]:
    speeds = arm_speeds(plan, blocks, case)
    found = {arm: own.groups for arm, own in speeds.items() if own.groups is not None}
    base = found.get(plan.baseline)
    warned = []
    for arm, groups in found.items():
        is_base = arm == plan.baseline
        if len(found) > 1 if is_base else base is not None and are_together(groups, base):
            continue
        reason = Reason.of(
            Code.TWO_GROUPS,
            arm=arm,
            baseline=plan.baseline,
            gap=groups.gap,
            slow=groups.slow_runs,
            runs=len(groups.slow),
            case=case if len(plan.cases) > 1 else "",
            counter=_counter(plan, blocks, case, arm, groups),
        )
        if base is not None and not is_base:
            reason = reason.having(**_against(plan, blocks, case, arm, groups, base))
        warned.append(reason)
    return warned


def are_together(groups: Groups, base: Groups) -> bool:
    """Whether nearly every block has both runs in the same group, so that the pair takes it out."""
    both = groups.slow.keys() & base.slow.keys()
    return sum(groups.slow[b] == base.slow[b] for b in both) >= TOGETHER * len(both)


def _counter(
    plan: Plan, blocks: Sequence[Block], case: str, arm: str, groups: Groups
) -> tuple[str, float, float] | None:
    counters: dict[str, dict[int, float]] = {}
    for index, block in enumerate(blocks):
        seen = block.cells.get((case, arm))
        for name, value in ({**seen.metrics, **seen.machine} if seen else {}).items():
            # What says how fast a run was does not say why.
            if name not in WORK and not name.startswith("latency_"):
                counters.setdefault(name, {})[index] = value
    found = separator(groups, counters, plan.constants)
    return None if found is None else (found.name, found.slow, found.fast)


def _against(
    plan: Plan, blocks: Sequence[Block], case: str, arm: str, groups: Groups, base: Groups
) -> dict[str, Field]:
    """The baseline's groups; whether shares differ; the effect inside the groups if they do not."""
    shares = (groups.slow_runs, len(groups.slow), base.slow_runs, len(base.slow))
    mine, runs, its, its_runs = shares
    differ = fisher_two_sided(mine, runs - mine, its, its_runs - its) <= plan.constants.groups_level
    said: dict[str, Field] = {"others": (its, its_runs), "differ": int(differ)}
    contrasts = {
        index: row[arm] - row[plan.baseline]
        for index, row in table(blocks, case, plan.primary).items()
        if arm in row and plan.baseline in row
    }
    same = inside(contrasts, groups, base)
    if differ or not same:
        return said
    within = SignedRank(same.values())
    low, high = within.interval(plan.alpha)
    if math.isfinite(low):
        effect = [math.expm1(value) for value in (within.estimate, low, high)]
        said["within"] = (*effect, within.count)
    return said
