"""`assay explain`: why the verdicts of a bundle are what they are."""

from __future__ import annotations

from pathlib import Path

import typer
from pydantic import TypeAdapter

from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.core.errors import ExitCode
from assay.explain import Everything, explain
from assay.explain.study_explanation import everything
from assay.record import Bundle
from assay.report import profile_lines
from assay.report.terminal.explained import explanation_lines


@guarded
def command(
    bundle: Path = typer.Argument(..., help="The folder that `assay run` printed."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Why: what each change was to move and did, what it could gain at most, what limits next.

    Example: assay explain bundles/memscale-cache-20260101-120000
    """
    opened = Bundle.open(bundle)
    if json:
        tell_json(TypeAdapter(Everything).dump_python(everything(opened), mode="json"))
        return None
    tell(explanation_lines(opened.plan, explain(opened)))
    tell(profile_lines(opened, opened.verdicts()))
    return None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(command)
