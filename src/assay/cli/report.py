"""`assay report`: one self-contained HTML file of a bundle."""

from __future__ import annotations

from pathlib import Path

import typer

from assay.bisection import SearchBundle, is_search
from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.core.errors import ExitCode
from assay.record import Bundle
from assay.report import Line
from assay.report.html.bisection import search_html
from assay.report.html.page import report_html


@guarded
def command(
    bundle: Path = typer.Argument(..., help="The folder that `assay run` printed."),
    out: Path = typer.Option(None, help="Where to write; report.html in the bundle by default."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Write the report of a bundle: one HTML file that needs no network.

    Example: assay report bundles/quickstart-20260101-120000 --out verdict.html
    """
    opened: Bundle | SearchBundle
    if is_search(bundle):
        opened = SearchBundle.open(bundle)
        html = search_html(opened)
    else:
        opened = Bundle.open(bundle)
        html = report_html(opened)
    if out is None:
        out = opened.write_report(html)
    else:
        out.write_text(html, "utf-8")
    tell_json({"report": str(out)}) if json else tell([Line(str(out))])
    return None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(command)
