"""The command line: one thin file per command, and the only place that prints or exits."""

from __future__ import annotations

import os

import typer

from assay.cli._commands import COMMANDS, Commands
from assay.core import interrupt, password
from assay.undo import places

__all__ = ["COMMANDS", "app", "main"]

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Does a low-level change make your data server faster: how much, how surely, why.",
    epilog="Exit codes: 0 fine; 1 the answer is no; 2 wrong use or bad input; 3 something "
    "needed is missing here; 4 the measurement is void; 5 the host could not be restored; "
    "130 interrupted, what was done is kept.",
)


def _show_version(wanted: bool) -> None:
    """Print it and exit, before anything else is done."""
    if wanted:
        from importlib.metadata import version

        typer.echo(f"assay {version('assay')}")
        raise typer.Exit


@app.callback()
def _put_in_order(
    version: bool = typer.Option(
        False, "--version", is_eager=True, callback=_show_version, help="Print the version."
    ),
) -> None:
    """What a killed `assay` left of its changes to this host or a running server is taken back
    first; where that fails it is said, and tried again next time."""
    if places.has_journals():
        from assay.cli._recovery import take_back

        take_back()


def main() -> None:
    """The `assay` command."""
    interrupt.listen()
    password.take()
    # Looking through all installed packages for plugins takes longer than most answers.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    app(prog_name="assay")
