"""Rules of binaries: functions of an image, of its twin on x86-64, and of the host it is for."""

from __future__ import annotations

from collections.abc import Sequence

from assay.readiness.binary import atomics, dispatch, layout, spinning
from assay.readiness.binary.context import Context, Look
from assay.readiness.census import Image
from assay.readiness.finding import ReadinessFinding, ReadinessRule, in_order
from assay.readiness.machine import Machine

FILES = (atomics, spinning, dispatch, layout)
LOOKS: tuple[tuple[ReadinessRule, Look], ...] = tuple(
    sorted((row for file in FILES for row in file.LOOKS), key=lambda row: row[0].id)
)
RULES = tuple(rule for rule, _ in LOOKS)


def judge(
    image: Image, twin: Image | None = None, machine: Machine | None = None
) -> list[ReadinessFinding]:
    """All that is found in an image, the gravest first."""
    fits = machine if machine is not None and machine.arch == image.arch else None
    context = Context(image, twin, fits)
    found = [finding for _, look in LOOKS for finding in look(context)]
    if image.kind == "relocatable":
        # A static library has hundreds of members, each of which would tell the same facts.
        found = [finding for finding in found if finding.severity != "I"]
    return in_order(found)


def not_judged(images: Sequence[Image], twin: bool, machine: Machine | None) -> list[str]:
    """What could not be said, and why: one sentence each."""
    said = []
    if not twin and any(image.is_arm for image in images):
        said.append("B08 and B11 between architectures: name the amd64 build by --against")
    others = sorted({image.arch for image in images if machine and image.arch != machine.arch})
    if machine is None:
        said.append("what a host lacks: use --for-host")
    elif others:
        said.append(f"what the host lacks: it is {machine.arch}, and files are {', '.join(others)}")
    return said


__all__ = ["RULES", "Context", "judge", "not_judged"]
