"""The command line: one thin file per command, and the only place that prints or exits."""

from __future__ import annotations

import signal

import typer

from assay._errors import AssayError
from assay.cli import (
    audit,
    decide,
    explain,
    host,
    inspect,
    list_,
    load,
    pilot,
    price,
    report,
    run,
    serve,
    show,
    verify,
)
from assay.cli._output import complain, story
from assay.host.transaction import recover
from assay.host.tree import Tree
from assay.targets import TARGETS
from assay.targets.served.attached_settings import restore_abandoned
from assay.targets.served.target import ServedTarget

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Does a low-level change make your data server faster: how much, how surely, why.",
    epilog="Exit codes: 0 fine; 1 the answer is no; 2 wrong use or bad input; 3 something "
    "needed is missing here; 4 the measurement is void; 5 the host could not be restored; "
    "130 interrupted, what was done is kept.",
)
for command in (
    run,
    pilot,
    show,
    report,
    explain,
    verify,
    decide,
    load,
    serve,
    list_,
    host,
    inspect,
    price,
    audit,
):
    command.register(app)


@app.callback()
def _put_in_order() -> None:
    """What a killed `assay` left of its changes to this host or a running server is taken back
    first; where that fails it is said, and tried again next time."""
    kinds = {t.kind: t.adapter.attachable for t in TARGETS.values() if isinstance(t, ServedTarget)}
    try:
        for found in recover(Tree()):
            story().print(f"taken back: host transaction {found.name}, which was cut short or over")
        for line in restore_abandoned({k: a for k, a in kinds.items() if a is not None}):
            story().print(line, style="dim")
    except AssayError as error:
        complain(error.message, error.next_step)


def main() -> None:
    """The `assay` command."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    app(prog_name="assay")
