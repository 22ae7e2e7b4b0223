"""`assay inspect`: the ARM readiness of binaries and source trees."""

from __future__ import annotations

import json as json_
from pathlib import Path

import typer

from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json
from assay.core.errors import ExitCode, InputError
from assay.readiness import Inspection, Machine, as_json, inspect, machine_from, saved_machine
from assay.readiness import baseline as baselines
from assay.report.terminal.inspection import finding_pages, inspection_lines

PATHS_ARGUMENT = typer.Argument(
    ..., help="ELF files, static libraries, folders, source trees, .deb, .rpm, .whl, tar archives."
)
AGAINST_OPTION = typer.Option([], "--against", help="The amd64 build of the same package.")


@guarded
def command(
    paths: list[Path] = PATHS_ARGUMENT,
    against: list[Path] = AGAINST_OPTION,
    for_host: bool = typer.Option(
        False,
        "--for-host",
        help="Judge for this machine, or for the one whose saved host.json is among the paths.",
    ),
    finding: str = typer.Option(
        "", "--finding", help="Only the pages of one rule, or of a fingerprint's beginning."
    ),
    facts: bool = typer.Option(True, "--facts/--no-facts", help="Show facts (severity I)."),
    sarif: Path = typer.Option(None, "--sarif", help="Write SARIF 2.1.0 for a code host."),
    html: Path = typer.Option(None, "--html", help="Write one offline HTML file."),
    baseline: Path = typer.Option(None, "--baseline", help="A file of accepted findings."),
    write_baseline: Path = typer.Option(
        None, "--write-baseline", help="Accept what is found now: write it to a file."
    ),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Find what would be slow on Arm, without running it, and the study that would measure it.

    Exit code 1 if findings of severity S1 or S2 are left that were not accepted.

    Example: assay inspect /usr/sbin/nginx --for-host
    """
    named, machine = _machine(paths, for_host)
    accepted = None if baseline is None else baselines.read(baseline)
    found = inspect(named, against, machine)
    if accepted is not None and (gone := baselines.accept(found, accepted)):
        story().print(f"{gone} accepted findings are gone: write the baseline anew")
    if write_baseline is not None:
        count = baselines.write(write_baseline, found.findings)
        story().print(f"{count} findings accepted in {write_baseline}")
        baselines.accept(found, baselines.read(write_baseline))
    _write(found, sarif, html, accepted is not None, ", ".join(map(str, named)))
    if json:
        tell_json(as_json(found))
    elif finding:
        pages = finding_pages(found, finding)
        if not pages:
            raise InputError(
                f"no finding begins with {finding!r}", next_step="take a name such as B05, or the "
                "letters in brackets of a finding"
            )  # fmt: skip
        tell(pages)
    else:
        tell(inspection_lines(found, facts))
    if found.is_empty:
        return ExitCode.USAGE
    return ExitCode.NO if found.is_grave else None


def _machine(paths: list[Path], for_host: bool) -> tuple[list[Path], Machine | None]:
    """The paths to inspect, and the host to judge for."""
    if not for_host:
        return paths, None
    saved = [path for path in paths if path.suffix == ".json"]
    if len(saved) > 1:
        raise InputError(
            f"--for-host: several hosts: {', '.join(map(str, saved))}", next_step="name one"
        )
    rest = [path for path in paths if path not in saved]
    if not rest:
        raise InputError(
            "there is nothing to inspect", next_step="name a file together with the host"
        )
    if saved:
        return rest, saved_machine(saved[0])
    from assay.host import host_facts

    return rest, machine_from(host_facts(), "this host")


def _write(
    found: Inspection, sarif: Path | None, html: Path | None, baseline: bool, title: str
) -> None:
    """The files that were asked for. What only they need is imported for them."""
    texts: dict[Path, str] = {}
    if sarif is not None:
        from importlib.metadata import version

        from assay.readiness.sarif import sarif_log

        log = sarif_log(found, version("assay"), baseline)
        texts[sarif] = json_.dumps(log, indent=1) + "\n"
    if html is not None:
        from assay.report.html.inspection import inspection_html

        texts[html] = inspection_html(found, title)
    for path, text in texts.items():
        try:
            path.write_text(text, "utf-8")
        except OSError as error:
            raise InputError(
                f"{path} cannot be written: {error.strerror}", next_step="name another file"
            ) from error


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("inspect")(command)
