"""Where the time went, for the terminal and for the page: the profiles of two arms compared.

What moved, by share and by CPU time per operation, largest first. None of it is a verdict: what may
be chance among so many functions says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.core.units import format_percent, format_quantity
from assay.explain import OTHERS, Between, Moved, ProfileDifference, differences, flame_graph
from assay.plan import Plan
from assay.record import Bundle
from assay.report.line import Line
from assay.report.unprofiled import unprofiled_lines
from assay.verdict.rows import Verdicts

TOP = 5
"""Functions of a comparison in the terminal."""

ROWS = 25
"""Functions of a comparison on the page."""

STILL = 0.005
"""A change of share that is not worth a line."""


def profile_lines(bundle: Bundle, verdicts: Verdicts) -> list[Line]:
    """What moved most in each comparison; nothing where no run was profiled."""
    plan, found = bundle.plan, differences(bundle, verdicts)
    if not found:
        return []
    lines = [Line(""), Line("Where the time went (own share of the server's samples)", "bold")]
    for difference in found:
        lines.append(Line(heading(plan, difference), "dim"))
        named = [m for m in difference.functions if m.name != OTHERS]
        moved = [m for m in named if abs(m.own.difference) >= STILL][:TOP]
        lines += [Line(f"    {text}", style) for text, style in _rows(moved)]
        if not moved:
            lines.append(Line("    no function's share moved by half a point"))
    return lines + [Line(f"    {note}", "dim") for note in notes(found)]


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


def _rows(moved: Sequence[Moved]) -> list[tuple[str, str]]:
    """A line for each function, in columns; what may be chance is dim."""
    width = max((len(_short(m.name)) for m in moved), default=0)
    return [
        (
            f"{_short(m.name):{width}}   {_change(m.own):18}   {_points(m.own)}"
            f"{_cost(m)}{'' if m.stands_out else '   may be chance'}",
            "" if m.stands_out else "dim",
        )
        for m in moved
    ]


def _short(name: str, letters: int = 80) -> str:
    return name if len(name) <= letters else f"{name[: letters - 3]}..."


def _share(share: float) -> str:
    return format_percent(share, signed=False)


def _change(between: Between) -> str:
    return f"{_share(between.before)} -> {_share(between.after)}"


def _points(between: Between) -> str:
    """The interval of a difference of shares."""
    if between.low is None or between.high is None:
        return f"{100 * between.difference:+.1f} points [unbounded]"
    return f"[{100 * between.low:+.1f}, {100 * between.high:+.1f}] points"


def _cost(moved: Moved) -> str:
    if moved.cost is None:
        return ""
    before, after = (format_quantity(v, "ns") for v in (moved.cost.before, moved.cost.after))
    return f"   {before} -> {after} per operation"


def profile_view(bundle: Bundle, verdicts: Verdicts) -> dict[str, Any]:
    """What the page has of it: a group for each comparison; none where no run was profiled."""
    plan, found = bundle.plan, differences(bundle, verdicts)
    return {
        "asked": plan.profile is not None,
        "why_not": [line.text for line in unprofiled_lines(plan)],
        "groups": [
            {
                "heading": heading(plan, d),
                "arm": d.arm,
                "against": d.against,
                "rows": [_row(m) for m in d.functions[:ROWS]],
                "more": max(len(d.functions) - ROWS, 0),
                "flame": flame_graph(d.before.stacks, d.after.stacks, d.arm, d.against),
                "reverse": flame_graph(
                    d.before.stacks, d.after.stacks, d.arm, d.against, width_of="before"
                ),
            }
            for d in found
        ],
        "notes": notes(found) if found else [],
    }


def _row(moved: Moved) -> dict[str, Any]:
    return {
        "name": moved.name,
        "modules": ", ".join(moved.modules),
        "own": _change(moved.own),
        "points": _points(moved.own),
        "total": _change(moved.total) if moved.total else "",
        "cost": _cost(moved).strip().removesuffix(" per operation"),
        "stands_out": moved.stands_out or moved.name == OTHERS,
    }
