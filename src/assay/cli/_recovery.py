"""What a killed `assay` left behind is brought back before the next command does anything."""

from __future__ import annotations

from assay.bench.recovery import take_back as taken_back
from assay.cli._output import complain, story


def take_back() -> None:
    """Changes to this host and to running servers; says what was brought back and what was not."""
    found = taken_back()
    for what in found.done:
        story().print(f"brought back: {what}", style="dim")
    for error in found.failed:
        complain(error.message, error.next_step)
