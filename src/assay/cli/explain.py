"""`assay explain`: why the verdicts of a bundle are what they are."""

from __future__ import annotations

from pathlib import Path

import typer
from pydantic import TypeAdapter

from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.core.errors import ExitCode
from assay.explain import Everything, everything, explanations, stalls_of
from assay.record import Bundle, checked_verdicts, counted_runs
from assay.report import profile_lines
from assay.report.terminal.explained import explanation_lines
from assay.report.terminal.stalls import stall_lines


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
    verdicts = checked_verdicts(opened)
    tell(explanation_lines(opened.plan, explanations(opened.plan, opened.runs(), verdicts)))
    tell(stall_lines(opened.plan, stalls_of(opened.plan, counted_runs(opened))))
    tell(profile_lines(opened, verdicts))
    return None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(command)
