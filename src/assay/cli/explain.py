"""`assay explain`: why the verdicts of a bundle are what they are."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from assay._errors import ExitCode
from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.explain import Explanation, explain
from assay.record import Bundle
from assay.report.explained import explanation_lines


@guarded
def command(
    bundle: Path = typer.Argument(..., help="The folder that `assay run` printed."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Why: what each change was to move and did, what it could gain at most, what limits next.

    Example: assay explain bundles/memscale-cache-20260101-120000
    """
    opened = Bundle.open(bundle)
    found = explain(opened)
    if json:
        tell_json([explanation_model(one) for one in found])
    else:
        tell(explanation_lines(opened.plan, found))
    return None


def explanation_model(one: Explanation) -> dict[str, Any]:
    """An explanation as JSON; numbers are fractions, predictions are rows of `verdicts.json`."""
    return {
        "verdict": one.verdict.model_dump(),
        "predictions": [row.model_dump() for row in one.predictions],
        "limits": [asdict(limit) for limit in one.limits],
        "bound": asdict(one.bound) if one.bound else None,
        "identity": asdict(one.identity) if one.identity else None,
    }


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(command)
