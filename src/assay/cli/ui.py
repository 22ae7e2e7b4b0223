"""`assay ui`: a local page about the bundles of a folder."""

from __future__ import annotations

from pathlib import Path

import typer

from assay.cli._output import guarded, story, tell, warn
from assay.core.errors import ExitCode, MissingError
from assay.ledger import ledger_place
from assay.report import Line


@guarded
def command(
    folder: Path = typer.Argument(Path("."), help="Where bundles and studies are."),
    port: int = typer.Option(0, min=0, max=65535, help="Port on loopback; 0: a free one."),
    no_token: bool = typer.Option(
        False, "--no-token", help="Ask for none: every user of this machine may come."
    ),
) -> ExitCode | None:
    """Serve a local page: studies, bundles, a study while it runs, the ledger, diagnoses.

    Its link, with a token, goes to stdout; it ends with Ctrl-C.

    Example: assay ui bundles
    """
    try:
        from assay.ui import Access, UiServer, app
    except ModuleNotFoundError as error:
        raise MissingError(
            f"the page needs the package {error.name}", next_step="pip install 'assay[ui]'"
        ) from error
    server = UiServer(port)
    name = f"assay-ui-{server.port}"
    access = Access(token="", name=name) if no_token else Access(name=name)
    page = app(folder, access=access, ledger=ledger_place())
    if no_token:
        warn("no token: every user of this machine may read, stop and extend")
    tell([Line(f"{server.address}/{f'?token={access.token}' if access.token else ''}")])
    story().print("the link is for this machine only; Ctrl-C ends the page", style="dim")
    server.run(page)
    return None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ui")(command)
