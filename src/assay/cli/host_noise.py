"""`assay host noise`: how this machine's speed wanders, and what a study on it will take.

What needs the statistics is imported when the command runs: the other commands of `host` do not.
"""

from __future__ import annotations

import typer

from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json
from assay.cli._quantities import read_seconds
from assay.core.errors import ExitCode


@guarded
def noise(
    for_: str = typer.Option("2min", "--for", help="How long to look: 10s, 2min."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Watch this machine's speed, CPU by CPU and together: which design, and how long it takes.

    Every CPU is busy meanwhile. The record is kept by machine, and shown before a study.

    Example: assay host noise --for 30s
    """
    from assay.bench.machine_noise import keep, machine_noise
    from assay.report.terminal.machine_noise import noise_lines

    console = story()
    seconds = read_seconds("--for", for_)
    with console.status("starting") as status:
        found = machine_noise(
            seconds,
            tell=lambda what, left_s: status.update(f"{what}: {left_s:.0f} s left"),
        )
    path = keep(found)
    if json:
        tell_json(found.model_dump())
    else:
        tell(noise_lines(found))
    console.print(f"kept as {path}", style="dim", highlight=False)
    return None


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("noise")(noise)
