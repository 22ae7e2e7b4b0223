"""What every command shares: where output goes, and how an error becomes an exit code.

stdout is the result, stderr the story. Colour is used on a terminal only.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import typer

from assay.core.errors import AssayError, ExitCode
from assay.report.words.line import Line

if (
    TYPE_CHECKING
):  # rich takes longer to import than many answers to find, and JSON needs none of it
    from rich.console import Console, RenderableType

JSON_OPTION = typer.Option(False, "--json", help="Print the result as JSON (see docs/schema).")


def guarded(command: Callable[..., ExitCode | None]) -> Callable[..., None]:
    """The command, with every error turned into one complaint and one exit code."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            code = command(*args, **kwargs) or ExitCode.OK
            sys.stdout.flush()
        except AssayError as error:
            complain(error.message, error.next_step)
            code = error.exit_code
        except KeyboardInterrupt as stop:
            kept = "what was measured is kept; `assay run --resume` goes on"
            complain("interrupted", str(stop) or kept)
            code = ExitCode.INTERRUPTED
        except BrokenPipeError:
            # The reader had enough; what follows must not fail on the same pipe.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = ExitCode.OK
        raise typer.Exit(int(code))

    return run


def complain(message: str, next_step: str) -> None:
    """One error on stderr, and what to do next."""
    from rich.text import Text

    story().print(Text(f"assay: {message}", style="red"))
    if next_step:
        story().print(Text(f"next: {next_step}"))


def story() -> Console:
    """Where progress and remarks go."""
    from rich.console import Console

    return Console(stderr=True, soft_wrap=True, highlight=False)


def _stdout(soft_wrap: bool) -> Console:
    """stdout; a reader that leaves is told upwards as what it is, not as an exit of 1."""
    from rich.console import Console

    class Stdout(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Stdout(soft_wrap=soft_wrap, highlight=False)


def tell(lines: Iterable[Line]) -> None:
    """Print lines of a result."""
    from rich.text import Text

    console = _stdout(soft_wrap=True)
    for line in lines:
        console.print(Text(line.text, style=line.style))


WIDE = 150
"""Columns of a table where no terminal says how many there are."""


def tell_tables(tables: Iterable[RenderableType]) -> None:
    """Print tables of a result, as wide as the terminal is."""
    console = _stdout(soft_wrap=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDE
    for table in tables:
        console.print(table)


def tell_json(value: Any) -> None:
    """Print a result as JSON."""
    sys.stdout.write(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
