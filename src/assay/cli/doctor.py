"""`assay doctor`: what to try first on a server that runs, and the most that it can give."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer
from pydantic import TypeAdapter

from assay.api import default_folder, measure_candidates
from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json
from assay.cli._quantities import read_fraction, read_seconds
from assay.cli.run import watcher_of
from assay.core import password
from assay.core.errors import ExitCode, InputError
from assay.diagnosis import (
    Diagnosis,
    Examined,
    ExaminedServer,
    diagnose,
    find_subject,
    gather,
    write_studies,
)
from assay.report.terminal.diagnosed import diagnosis_lines
from assay.report.words.diagnosed import answer
from assay.report.words.trials import news


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
    and_measure: bool = typer.Option(
        False, "--and-measure", help="Run the studies of the first candidates, too."
    ),
    most: int = typer.Option(1, min=1, max=20, help="How many candidates to measure."),
    budget: str = typer.Option("15min", help="Time that their studies may take together."),
    on: str = typer.Option(
        "copy", help="copy: servers of Assay's own; attached: the examined server itself."
    ),
    restart: str = typer.Option(
        "", metavar="WORDS", help="With --on attached: the command that starts the server again."
    ),
    settings_file: str = typer.Option(
        "", metavar="FILE", help="With --on attached: a file of its settings that Assay may write."
    ),
    watch: int = typer.Option(
        None, "--watch", min=1, metavar="N", help="Look N times, and say what changed in between."
    ),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """What to try first on a running server, and the most that it can give.

    Nothing is changed, unless --and-measure --on attached asks for it. Exit code 1 if something
    stands out.

    Example: assay doctor postgres --for 60s --study studies
    """
    seconds, least = read_seconds("--for", for_), read_fraction("--smallest", smallest)
    if seconds < 1:
        raise InputError("--for: a second is the least", next_step="--for 60s")
    examined = _examined(on, attach, restart, settings_file) if and_measure else None
    budget_s = read_seconds("--budget", budget)
    password.take()
    subject = find_subject(server, attach)
    found = _looked(subject, seconds, least, watch or 1)
    if study is not None:
        for path in write_studies(found.candidates, study):
            story().print(f"wrote {path}")
    if and_measure:
        found = measure_candidates(
            found,
            study or default_folder(f"doctor-{subject.name}"),
            budget_s=budget_s,
            most=most,
            examined=examined,
            watcher=watcher_of(),
        )
    if html is not None:
        _write_page(html, found)
    if json:
        tell_json(TypeAdapter(Diagnosis).dump_python(found, mode="json"))
    else:
        tell(diagnosis_lines(found))
    return ExitCode.NO if found.stands_out else None


def _looked(subject: ExaminedServer, seconds: float, least: float, times: int) -> Diagnosis:
    """The last of so many looks; what changed from one to the next is told meanwhile."""
    last: Diagnosis | None = None
    for place in range(1, times + 1):
        found = diagnose(gather(subject, seconds, tell=story().print), least)
        if times > 1:
            story().print(f"look {place} of {times}: {answer(found)}")
        for line in news(last, found) if last is not None else ():
            story().print(f"  {line}")
        last = found
    assert last is not None
    return last


def _examined(on: str, attach: str, restart: str, settings_file: str) -> Examined | None:
    """The server itself where it is to be measured; None for a copy."""
    if on not in ("copy", "attached"):
        raise InputError(f"--on {on}: copy or attached", next_step="--on copy")
    if on == "copy":
        if restart or settings_file:
            raise InputError(
                "--restart and --settings-file are of the examined server itself",
                next_step="add --on attached",
            )
        return None
    if not attach:
        raise InputError(
            "to measure the examined server itself, its address is needed",
            next_step="add --attach URL",
        )
    return Examined(attach, shlex.split(restart), settings_file)


def _write_page(html: Path, found: Diagnosis) -> None:
    from assay.report.html.diagnosis import diagnosis_html

    try:
        html.write_text(diagnosis_html(found), "utf-8")
    except OSError as error:
        raise InputError(
            f"{html} cannot be written: {error.strerror}", next_step="name another file"
        ) from error


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(command)
