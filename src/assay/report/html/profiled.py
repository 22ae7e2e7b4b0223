"""Where the time went, on the page: tables and flame graphs of each comparison."""

from __future__ import annotations

from dataclasses import dataclass

from assay.explain import OTHERS, Moved, differences, flame_graph
from assay.record import Bundle
from assay.report.words.profiled import change, cost, heading, notes, points
from assay.report.words.unprofiled import unprofiled_lines
from assay.verdict.rows import Verdicts

ROWS = 25
"""Functions of a comparison on the page."""


@dataclass(frozen=True)
class ProfileRow:
    """One function, as text; empty where it is not known."""

    name: str
    modules: str
    own: str
    """Its own share before and after."""
    points: str
    """The interval of the difference."""
    total: str
    """Its share with what it calls, before and after."""
    cost: str
    """Its own time per operation before and after."""
    stands_out: bool


@dataclass(frozen=True)
class ProfileGroup:
    """Two arms compared."""

    heading: str
    arm: str
    against: str
    rows: list[ProfileRow]
    more: int
    """Functions that are not shown."""
    flame: str
    """SVG, as wide as `arm` spent its time."""
    reverse: str
    """SVG, as wide as `against` did."""


@dataclass(frozen=True)
class ProfileSection:
    """Where the time went."""

    asked: bool
    """Whether the study asks for profiles."""
    why_not: list[str]
    """What cannot be had here."""
    groups: list[ProfileGroup]
    notes: list[str]


def profile_view(bundle: Bundle, verdicts: Verdicts) -> ProfileSection:
    """What the page has of it: a group for each comparison; none where no run was profiled."""
    plan, found = bundle.plan, differences(bundle, verdicts)
    return ProfileSection(
        asked=plan.profile is not None,
        why_not=[line.text for line in unprofiled_lines(plan)],
        groups=[
            ProfileGroup(
                heading=heading(plan, d),
                arm=d.arm,
                against=d.against,
                rows=[_row(m) for m in d.functions[:ROWS]],
                more=max(len(d.functions) - ROWS, 0),
                flame=flame_graph(d.before.stacks, d.after.stacks, d.arm, d.against),
                reverse=flame_graph(
                    d.before.stacks, d.after.stacks, d.arm, d.against, width_of="before"
                ),
            )
            for d in found
        ],
        notes=notes(found) if found else [],
    )


def _row(moved: Moved) -> ProfileRow:
    return ProfileRow(
        name=moved.name,
        modules=", ".join(moved.modules),
        own=change(moved.own),
        points=points(moved.own),
        total=change(moved.total) if moved.total else "",
        cost=cost(moved).strip().removesuffix(" per operation"),
        stands_out=moved.stands_out or moved.name == OTHERS,
    )
