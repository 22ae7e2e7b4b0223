"""Where the time went, in words: what of two arms' profiles is compared, and how to read it.

None of it is a verdict: what may be chance among so many functions says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.units import format_percent, format_quantity
from assay.explain import Between, Moved, ProfileDifference
from assay.plan import Plan


def heading(plan: Plan, difference: ProfileDifference) -> str:
    """Which arms, of which case, over how many blocks."""
    case = f"{difference.case}: " if len(plan.cases) > 1 else ""
    counts = f"{difference.blocks} blocks, {difference.before.samples:,} and "
    counts += f"{difference.after.samples:,} samples"
    return f"{case}{difference.arm} against {difference.against}: {counts}"


def notes(found: Sequence[ProfileDifference]) -> list[str]:
    """What a reader must know of how these were taken."""
    profiles = [
        profile for d in found for side in (d.before, d.after) for _, profile in side.runs.values()
    ]
    said = ["callers are known only where code keeps frame pointers; own shares do not need them"]
    if any(d.in_process for d in found):
        said.append("the load runs in the server's process and is part of what was sampled")
    if not all(p.kernel for p in profiles):
        said.append("without the kernel's own functions")
    lost = sum(p.lost for p in profiles)
    if lost:
        said.append(f"samples lost: {lost}")
    if found[0].unused:
        said.append(f"profiles left out, since they were not of their window: {found[0].unused}")
    return said


def _share(share: float) -> str:
    return format_percent(share, signed=False)


def change(between: Between) -> str:
    """A share before and after."""
    return f"{_share(between.before)} -> {_share(between.after)}"


def points(between: Between) -> str:
    """The interval of a difference of shares."""
    if between.low is None or between.high is None:
        return f"{100 * between.difference:+.1f} points [unbounded]"
    return f"[{100 * between.low:+.1f}, {100 * between.high:+.1f}] points"


def cost(moved: Moved) -> str:
    """CPU time per operation before and after; empty where it was not measured."""
    if moved.cost is None:
        return ""
    before, after = (format_quantity(v, "ns") for v in (moved.cost.before, moved.cost.after))
    return f"   {before} -> {after} per operation"
