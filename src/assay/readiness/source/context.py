"""What a rule of sources is given, and how it says where.

A file of rules has `LOOKS`: each rule with the function that looks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from assay.readiness.finding import ReadinessFinding, ReadinessRule, Severity
from assay.readiness.machine import Machine
from assay.readiness.source.project import File, Project
from assay.readiness.source.shapes import squeezed

Look = Callable[[Project, Machine | None], Iterable[ReadinessFinding]]
EXCERPT_LINES = 3


def at(
    rule: ReadinessRule,
    file: File,
    line: int,
    evidence: str = "",
    *,
    severity: Severity | None = None,
    function: str = "",
    study: str = "",
    reason: str = "",
) -> ReadinessFinding:
    """A finding at a line; without words of its own it shows the line."""
    shown = squeezed(file.text.line(line))
    return rule.at(
        file.name,
        evidence or shown,
        severity=severity,
        line=line,
        function=function,
        listing=excerpt(file, line),
        key=f"{function}|{shown}",
        study=study,
        reason=reason,
    )


def excerpt(file: File, line: int) -> tuple[str, ...]:
    """The lines around a line, with their numbers."""
    first, last = max(1, line - EXCERPT_LINES), min(file.text.lines, line + EXCERPT_LINES)
    found = []
    for number in range(first, last + 1):
        start, end = file.text.start_of(number), file.text.start_of(number + 1)
        mark = ">" if number == line else " "
        found.append(f"{mark}{number:6}  {file.text.raw[start:end].rstrip()[:160]}")
    return tuple(found)
