"""`assay serve`: a small server, to try clients and proxies on."""

from __future__ import annotations

import signal

import typer

from assay.cli._output import guarded, story, tell
from assay.cli._quantities import read_seconds
from assay.core.errors import ExitCode, InputError
from assay.load.serve import SCHEMES, STAND_IN, serve
from assay.report import Line


@guarded
def command(
    kind: str = typer.Argument(..., help="What to be: http-file, http-proxy, resp or tpcc."),
    port: list[int] = typer.Option([0], help="Port on loopback, again for more servers; 0: free."),
    size: int = typer.Option(512, "--bytes", min=0, help="Bytes of each answer."),
    upstream: list[str] = typer.Option(
        [], help="Where a proxy passes requests on to.", metavar="HOST:PORT"
    ),
    stall: str = typer.Option("0s", help="Stall all answers for so long in each period."),
    period: str = typer.Option("1s", help="The period of stalls."),
    protocol: str = typer.Option(None, help="What tpcc speaks: postgresql or mysql."),
) -> ExitCode | None:
    """Be a small server on loopback until interrupted; its addresses go to stdout.

    tpcc answers TPC-C's terminals without data: for measuring a client, not a server.

    Example: assay serve resp --stall 100ms
    """
    if kind not in SCHEMES:
        raise InputError(f"{kind!r} is not one of {', '.join(SCHEMES)}")
    stall_ms = round(1000 * read_seconds("--stall", stall))
    period_ms = round(1000 * read_seconds("--period", period))
    with serve(kind, port, size, upstream, stall_ms, period_ms, protocol) as urls:
        if kind == STAND_IN:
            story().print("answers without data: for measuring a client, not a server")
        tell(Line(url) for url in urls)
        signal.pause()
    return None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(command)
