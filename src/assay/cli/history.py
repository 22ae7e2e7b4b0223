"""`assay history`: one question over time, versions and machines; also `assay ledger history`."""

from __future__ import annotations

import typer

from assay.cli._output import JSON_OPTION, guarded, tell, tell_json, tell_tables
from assay.core.errors import ExitCode, InputError
from assay.report import Line


@guarded
def command(
    study: str = typer.Argument(..., help="The study whose answers are followed."),
    of: str = typer.Option("", help="One answer: an arm or a factor, as `assay show` names it."),
    case: str = typer.Option("", help="One case."),
    metric: str = typer.Option("", help="One metric."),
    request: str = typer.Option("", help="One kind of request, by its name."),
    level: bool = typer.Option(False, "--level", help="What arms did, instead of effects."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """One question over time, versions and machines, with change points.

    Example: assay history mariadb-spin --of delay-0
    """
    from assay.cli.display.ledger import history_view
    from assay.cli.ledger import opened
    from assay.ledger import histories

    with opened() as ledger:
        entries = ledger.entries(study)
    if not entries:
        raise InputError(f"the ledger has no bundle of {study!r}", next_step="assay ledger list")
    found = histories(entries, of=of, case=case, metric=metric, request=request, level=level)
    if json:
        tell_json([history.model_dump() for history in found])
    elif found:
        tell_tables(history_view(history) for history in found)
    else:
        tell([Line("no bundle of it has such an answer")])
    return None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("history")(command)
