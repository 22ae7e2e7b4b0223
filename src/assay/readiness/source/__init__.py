"""Rules of source trees: the same tree as x86-64 and as aarch64 see it, and what differs."""

from __future__ import annotations

from assay.readiness.finding import ReadinessFinding, in_order
from assay.readiness.machine import Machine
from assay.readiness.source import builds, checks, literals, orders, pauses, vectors
from assay.readiness.source.context import Look
from assay.readiness.source.project import File, Project, read

LOOKS: dict[str, Look] = {
    **pauses.LOOKS,
    **vectors.LOOKS,
    **orders.LOOKS,
    **literals.LOOKS,
    **checks.LOOKS,
    **builds.LOOKS,
}


def judge(project: Project, machine: Machine | None = None) -> list[ReadinessFinding]:
    """All that is found in a tree, the gravest first. Paths are relative to the tree."""
    return in_order(finding for rule in sorted(LOOKS) for finding in LOOKS[rule](project, machine))


__all__ = ["LOOKS", "File", "Project", "judge", "read"]
