"""`assay export`: a bundle as tables and charts for other tools."""

from __future__ import annotations

import io
from pathlib import Path

import typer

from assay.cli._output import guarded, story, tell
from assay.core.errors import ExitCode, InputError
from assay.export import TABLES, draw, markdown_of, table_of, write_csv, write_parquet
from assay.record import Bundle
from assay.report import Line

KINDS = ("csv", "parquet", "markdown", "svg", "png")


@guarded
def command(
    bundle: Path = typer.Argument(..., help="The folder that `assay run` printed."),
    to: str = typer.Option("csv", help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}."),
    table: str = typer.Option(
        None, help=f"One table to stdout, as CSV: {', '.join(TABLES)}; all of them by default."
    ),
    out: Path = typer.Option(
        None, help="Folder of what is written; BUNDLE-export by default. Markdown goes to stdout."
    ),
) -> ExitCode | None:
    """Export a bundle: tables of runs, intervals, verdicts and curves, Markdown, or its charts.

    Example: assay export bundles/quickstart-20260101-120000 --to svg --out charts
    """
    if to not in KINDS:
        raise InputError(f"--to {to}: there is no such form", next_step=f"--to {KINDS[0]}")
    opened = Bundle.open(bundle)
    if table is not None:
        _one_table(opened, table, to)
    elif to == "markdown" and out is None:
        tell(Line(line) for line in markdown_of(opened).splitlines())
    else:
        folder = out or Path(f"{bundle.resolve().name}-export")
        for path in _written(opened, to, folder):
            story().print(str(path), style="dim")
    return None


def _one_table(bundle: Bundle, table: str, to: str) -> None:
    if table not in TABLES or to != "csv":
        raise InputError(
            f"--table {table} --to {to}: one table goes to stdout as CSV",
            next_step=f"--table {next(iter(TABLES))}",
        )
    text = io.StringIO()
    write_csv(table_of(bundle, table), text)
    tell(Line(line) for line in text.getvalue().splitlines())


def _written(bundle: Bundle, to: str, folder: Path) -> list[Path]:
    if to in ("svg", "png"):
        return draw(bundle, folder, to)
    folder.mkdir(parents=True, exist_ok=True)
    if to == "markdown":
        path = folder / "verdicts.md"
        path.write_text(markdown_of(bundle), encoding="utf-8")
        return [path]
    tables = {name: table_of(bundle, name) for name in TABLES}
    paths = []
    for name, table in tables.items():
        if not table:
            continue  # no curves without an axis
        paths.append(folder / f"{name}.{to}")
        if to == "parquet":
            write_parquet(table, paths[-1])
        else:
            with paths[-1].open("w", encoding="utf-8", newline="") as file:
                write_csv(table, file)
    return paths


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(command)
