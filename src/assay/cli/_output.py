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
from assay.core.printable import printable, printable_json
from assay.core.unforeseen import unforeseen
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
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as error:  # whatever a damaged file can lead to
            complain(*unforeseen(error))
            code = ExitCode.USAGE
        raise typer.Exit(int(code))

    return run


def complain(message: str, next_step: str) -> None:
    """One error on stderr, and what to do next."""
    from rich.text import Text

    story().print(Text(f"assay: {message}", style="red"))
    if next_step:
        story().print(Text(f"next: {next_step}"))


def warn(message: str) -> None:
    """One warning on stderr."""
    from rich.text import Text

    story().print(Text(f"warning: {message}", style="yellow"))


def story() -> Console:
    """Where progress and remarks go."""
    return clean_console()(stderr=True, soft_wrap=True, highlight=False, markup=False)


@functools.cache
def clean_console() -> type[Console]:
    """The console through which all goes that people read: no text in it can steer a terminal."""
    from rich.console import Console, ConsoleOptions
    from rich.segment import Segment

    class Clean(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                if segment.control:
                    yield segment
                else:
                    yield segment._replace(text=printable(segment.text, kept="\n\t"))

    return Clean


def _stdout(soft_wrap: bool) -> Console:
    """stdout; a reader that leaves is told upwards as what it is, not as an exit of 1."""

    class Stdout(clean_console()):  # type: ignore[misc]
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Stdout(soft_wrap=soft_wrap, highlight=False, markup=False)


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
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
    sys.stdout.write(printable_json(text) + "\n")
