"""`assay audit`: do published statements follow from the tables they were made from?"""

from __future__ import annotations

import typer

from assay.claims import audit
from assay.cli._output import JSON_OPTION, guarded, tell, tell_json, tell_tables
from assay.core.errors import ExitCode
from assay.report import Line
from assay.report.terminal.audited import audit_tables
from assay.report.words.audited import counted


@guarded
def command(
    claims: list[str] = typer.Argument(
        None, help="Claim files, folders of them, or shipped names; all that ship by default."
    ),
    contradicted: bool = typer.Option(
        False, "--contradicted", help="Show only what does not follow or is of the wrong kind."
    ),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Recompute every statement of a claim; exit 1 if anything does not follow.

    Example: assay audit mariadb-arm
    """
    rows = audit(claims or ())
    if json:
        tell_json([row.row() for row in rows if row.is_contradicted or not contradicted])
    else:
        tell_tables(audit_tables(rows, contradicted=contradicted))
        tell([Line(counted(rows), "bold")])
    return ExitCode.NO if any(row.is_contradicted for row in rows) else None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit")(command)
