"""What other work on this machine means for a study, said before its first run."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console

from assay.bench.machine_noise import kept
from assay.host import busy_cpus
from assay.report.terminal.machine_noise import advice
from assay.verdict.observations import FOREIGN_CPUS

SAMPLE_S = 0.5


def say_noise(console: Console) -> None:
    """What is known of this machine's speed, if `assay host noise` has looked at it."""
    found = kept()
    if found is not None:
        console.print(f"looked at on {found.made[:10]}: {advice(found)}", style="dim")


def say_disturbance(console: Console, busy: Callable[[float], float] = busy_cpus) -> None:
    """One line where others take more CPUs than a run may be measured beside."""
    found = busy(SAMPLE_S)
    if found > FOREIGN_CPUS:
        console.print(
            f"this machine is disturbed: other work takes {found:.1f} CPUs; arms that take turns "
            "share that, and decide later; other runs are made again when it is quieter, and "
            "count as they are if it never is",
            style="yellow",
        )
