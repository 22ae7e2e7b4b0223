"""What of a profile cannot be had, and why; apart, because `assay host` needs no statistics."""

from __future__ import annotations

from collections.abc import Mapping

from assay.plan import Plan
from assay.report.words.line import Line


def unprofiled_lines(plan: Plan) -> list[Line]:
    """What of a profile that the study asks for cannot be had here."""
    return [] if plan.profile is None else absent_lines(plan.profile.absent)


def absent_lines(absent: Mapping[str, str]) -> list[Line]:
    """What of a profile cannot be had, and why."""
    names = {"profile": "no profile", "profile.kernel": "the kernel's functions are not profiled"}
    lines = ((names.get(what, f"no {what}"), why) for what, why in absent.items())
    return [Line(f"{what}: {why}", "yellow") for what, why in lines]
