"""The builds that arms ran, in sentences: what they are made of, and in what they differ."""

from __future__ import annotations

from assay.plan.plan import Plan, PlannedDifference, PlannedVariation
from assay.report.words.line import Line

NAMES_SHOWN = 8
LAYOUTS = {
    "shuffled": "each block linked all arms anew, their functions in an order drawn for it: the "
    "verdict is of the change, not of one layout; all are compiled with -ffunction-sections and "
    "linked by lld, which is not how a distribution ships them",
    "plain": "every block ran the same layout: the verdict is of this build, and where its "
    "functions happen to lie is a part of it",
}


def build_lines(plan: Plan) -> list[Line]:
    """The builds of a study, the layout they ran in, and what differs by name."""
    if not plan.variations:
        return []
    lines = [Line("Builds", "dim")]
    for found in plan.variations:
        lines += [Line(build_text(found)), Line(f"    {made_text(found)}", "dim")]
        if found.differs is not None:
            lines.append(Line(f"    {difference_text(found.differs)}"))
    layouts = dict.fromkeys(v.layout for v in plan.variations)
    return lines + [Line(layout_text(layout), "dim") for layout in layouts] + [Line("")]


def build_text(found: PlannedVariation) -> str:
    """Which arms ran it, and what it is of."""
    return f"{', '.join(found.arms)}: {found.program} {found.variation}, of {found.source}"


def made_text(found: PlannedVariation) -> str:
    """How it was made."""
    warnings = "no warning" if not found.warnings else f"{found.warnings} warnings"
    network = "" if found.without_network else "; its build could reach the network"
    return (
        f"{found.compiler}; {found.flags}; {found.size_bytes / 1e6:.1f} MB, built in "
        f"{found.build_s:.0f} s, {warnings}{network}; build id {found.mark[:12]}"
    )


def difference_text(found: PlannedDifference) -> str:
    """The functions and data in which a build differs from the baseline's."""
    touched = sum(found.counts.get(k, 0) for k in ("added", "removed", "changed"))
    parts = [f"differs in {touched} of {found.functions} functions"]
    for kind in ("changed", "added", "removed"):
        if names := getattr(found, kind):
            parts.append(f"{kind}: {_few(names, found.counts[kind])}")
    if found.numbers:
        numbers = _few(found.numbers, found.counts["numbers"])
        parts.append(f"in numbers alone, such as a constant or the number of a line: {numbers}")
    if found.data:
        parts.append(f"data: {_few(found.data, found.counts['data'])}")
    return "; ".join(parts)


def layout_text(layout: str) -> str:
    """What a verdict on builds is of."""
    return f"layout {layout}: {LAYOUTS[layout]}"


def _few(names: list[str], count: int) -> str:
    shown = ", ".join(names[:NAMES_SHOWN])
    more = count - min(len(names), NAMES_SHOWN)
    return f"{shown} and {more} more" if more > 0 else shown
