"""Rules of source trees: the same tree as x86-64 and as aarch64 see it, and what differs."""

from __future__ import annotations

from assay.readiness.finding import ReadinessFinding, ReadinessRule, in_order
from assay.readiness.machine import Machine
from assay.readiness.source import builds, checks, literals, orders, pages, pauses, vectors
from assay.readiness.source.context import Look
from assay.readiness.source.project import File, Project, read

FILES = (pauses, vectors, orders, literals, pages, checks, builds)
LOOKS: tuple[tuple[ReadinessRule, Look], ...] = tuple(
    sorted((row for file in FILES for row in file.LOOKS), key=lambda row: row[0].id)
)
RULES = tuple(rule for rule, _ in LOOKS)


def judge(project: Project, machine: Machine | None = None) -> list[ReadinessFinding]:
    """All that is found in a tree, the gravest first. Paths are relative to the tree."""
    return in_order(finding for _, look in LOOKS for finding in look(project, machine))


__all__ = ["RULES", "File", "Project", "judge", "read"]
