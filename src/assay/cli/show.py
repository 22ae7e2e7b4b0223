"""`assay show`: the verdicts of a bundle, in the terminal."""

from __future__ import annotations

from pathlib import Path

import typer

from assay._errors import ExitCode
from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.record import Bundle
from assay.report import verdict_lines


@guarded
def command(
    bundle: Path = typer.Argument(..., help="The folder that `assay run` printed."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Show the verdicts of a bundle.

    Example: assay show bundles/quickstart-20260101-120000
    """
    opened = Bundle.open(bundle)
    verdicts = opened.verdicts()
    if json:
        tell_json(verdicts.model_dump())
    else:
        tell(verdict_lines(verdicts, opened.plan))
    return None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show")(command)
