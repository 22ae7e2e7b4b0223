"""`assay perf-stat`: what a recording of `perf stat` says, and what it cannot say."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.core.errors import ExitCode, InputError
from assay.core.parameters import nearest
from assay.counters import Model, model_here, models, recording
from assay.report.terminal.counted import recording_lines


@guarded
def command(
    file: Path = typer.Argument(
        ..., help="What `perf stat` printed, or wrote with -o; -x, -I and -A are fine."
    ),
    model: str = typer.Option(
        None, help="The table of the processor it was recorded on; this machine's by default."
    ),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Read counts of `perf stat`: events that were counted throughout, and what follows from them.

    What took turns with other events, was not counted or is not supported has a reason and never
    a number, and so has every figure that would be made of it.

    Example: assay perf-stat counts.txt --model broadwell
    """
    table = model_here() if model is None else _table(model)
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{file} cannot be read: {error}", next_step="record with `perf stat -o FILE`"
        ) from error
    try:
        found = recording(text, table)
    except InputError as error:
        raise InputError(f"{file}: {error.message}", next_step=error.next_step) from None
    if json:
        tell_json(asdict(found))
    else:
        tell(recording_lines(found))
    return None


def _table(name: str) -> Model:
    known = models()
    if name not in known:
        raise InputError(
            f"there is no table called {name!r}{nearest(name, known)}",
            next_step=f"use one of {', '.join(known)}",
        )
    return known[name]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("perf-stat")(command)
