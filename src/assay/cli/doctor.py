"""`assay doctor`: what to try first on a server that runs, and the most that it can give."""

from __future__ import annotations

from pathlib import Path

import typer
from pydantic import TypeAdapter

from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json
from assay.cli._quantities import read_fraction, read_seconds
from assay.core import password
from assay.core.errors import ExitCode, InputError
from assay.diagnosis import Diagnosis, diagnose, find_subject, gather, write_studies
from assay.report.terminal.diagnosed import diagnosis_lines


@guarded
def command(
    server: str = typer.Argument("", help="Its PID or its name; left out with --attach."),
    attach: str = typer.Option(
        "", "--attach", metavar="URL", help="Its address, for its own statistics: user@host:port."
    ),
    for_: str = typer.Option("60s", "--for", help="How long to look."),
    smallest: str = typer.Option("2%", help="The smallest gain worth trying for."),
    study: Path = typer.Option(None, help="A folder to write the studies of candidates into."),
    html: Path = typer.Option(None, help="Write one HTML file that needs no network."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """What to try first on a running server, and the most that it can give. Changes nothing.

    Exit code 1 if something stands out.

    Example: assay doctor postgres --for 60s --study studies
    """
    seconds, least = read_seconds("--for", for_), read_fraction("--smallest", smallest)
    if seconds < 1:
        raise InputError("--for: a second is the least", next_step="--for 60s")
    password.take()
    subject = find_subject(server, attach)
    found = diagnose(gather(subject, seconds, tell=story().print), least)
    if html is not None:
        from assay.report.html.diagnosis import diagnosis_html

        try:
            html.write_text(diagnosis_html(found), "utf-8")
        except OSError as error:
            raise InputError(
                f"{html} cannot be written: {error.strerror}", next_step="name another file"
            ) from error
    if study is not None:
        for path in write_studies(found.candidates, study):
            story().print(f"wrote {path}")
    if json:
        tell_json(TypeAdapter(Diagnosis).dump_python(found, mode="json"))
    else:
        tell(diagnosis_lines(found))
    return ExitCode.NO if found.stands_out else None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(command)
