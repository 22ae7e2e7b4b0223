"""`assay ledger`: what all bundles said, found again, compared, and followed over time."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import typer

from assay.cli import history
from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json, tell_tables
from assay.cli.display.ledger import (
    comparison_view,
    entries_view,
    found_view,
    rebuilt_lines,
)
from assay.core.errors import AssayError, ExitCode, InputError
from assay.ledger import (
    FoundAnswer,
    Ledger,
    LedgerEntry,
    LedgerQuery,
    ListedBundle,
    compare_entries,
    entry_of,
    ledger_place,
    rebuild,
    remember,
)
from assay.ledger.places import LedgerPlace
from assay.ledger.rebuilding import bundles_under
from assay.ledger.store import whereabouts
from assay.report import Line

HELP = "All bundles, later: what is known about a change, how an answer moved, what agrees."
STUDY_OPTION = typer.Option("", help="Of this study only.")


@guarded
def add(
    bundles: list[Path] = typer.Argument(..., help="Bundles, or folders with bundles below them."),
) -> ExitCode | None:
    """Enter bundles, each recomputed first; exit 1 if one does not give what it says.

    Example: assay ledger add bundles
    """
    folders = [folder for given in bundles for folder in bundles_under(given)]
    if not folders:
        raise InputError(f"no bundle is in {', '.join(map(str, bundles))}")
    code = ExitCode.OK
    with opened() as ledger:
        for folder in folders:
            try:
                entry = entry_of(folder)
            except AssayError as error:
                tell([Line(f"{folder}: left out: {error.message}", "red")])
                code = max(code, error.exit_code)
                continue
            remember(folder)
            found = ledger.add(entry)
            moved = f"; it was in {found.moved}" if found.moved else ""
            told = f"is in the ledger already, from {found.copy}" if found.copy else "entered"
            tell([Line(f"{folder}: {told}{moved}")])
    return code


@guarded
def list_(
    study: str = STUDY_OPTION,
    limit: int = typer.Option(40, help="So many of the newest."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """List bundles, the newest first, and whether each is still in its folder.

    Example: assay ledger list --study quickstart
    """
    with opened() as ledger:
        found = [
            ListedBundle(bundle=n, where=whereabouts(e.folder, e.node, e.identity), entry=e)
            for n, e in ledger.entries(study, limit)
        ]
        total = ledger.count()
    if json:
        tell_json([listed.model_dump() for listed in found])
        return None
    tell_tables([entries_view(found)])
    if len(found) < total:
        tell([Line(f"{len(found)} of {total} bundles; --limit shows more", "dim")])
    return None


@guarded
def query(
    words: list[str] = typer.Argument(None, help="Words that an answer is about: spin hints."),
    study: str = STUDY_OPTION,
    target: str = typer.Option("", help="Of this target, as `assay list targets` names it."),
    workload: str = typer.Option("", help="Of this workload."),
    metric: str = typer.Option("", help="Of this metric."),
    word: str = typer.Option("", help="helps, hurts, 'no difference', undecided or invalid."),
    machine: str = typer.Option("", help="Of the machine with this short digest."),
    since: str = typer.Option("", help="Of bundles begun at this date or later: 2026-01-31."),
    kinds: bool = typer.Option(False, "--kinds", help="Answers by kind of request, too."),
    leads: bool = typer.Option(False, "--leads", help="What only suggests, too."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Find answers of all bundles by what they are about.

    Example: assay ledger query spin hints --word helps
    """
    asked = LedgerQuery(
        words or (), study, target, workload, metric, word, machine, since, kinds, leads
    )
    with opened() as ledger:
        found = ledger.rows(asked)
    if json:
        tell_json([row.model_dump() for row in found])
        return None
    gone = {row.bundle: where for row in found
            if (where := whereabouts(row.folder, row.node, row.identity)) != "here"}  # fmt: skip
    tell_tables([found_view(found, gone)])
    return None


@guarded
def compare(
    first: str = typer.Argument(..., help="A bundle's folder, or its number in the ledger."),
    second: str = typer.Argument(..., help="Another one of the same study."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Compare two bundles of one study; exit 1 if an answer contradicts another.

    Example: assay ledger compare bundles/quickstart-20260101-120000 17
    """
    found = compare_entries(_entry(first), _entry(second))
    if json:
        tell_json(found.model_dump())
    else:
        tell_tables([comparison_view(found)])
    contradicted = any(answer.relation == "contradict" for answer in found.answers)
    return ExitCode.NO if contradicted else None


@guarded
def export(
    to: str = typer.Option("csv", help="csv or json."),
    out: Path = typer.Option(None, help="A file; stdout by default."),
    study: str = STUDY_OPTION,
) -> ExitCode | None:
    """Export every answer as a row, leads too.

    Example: assay ledger export --to csv --out verdicts.csv
    """
    if to not in ("csv", "json"):
        raise InputError(f"--to {to}: write csv or json", next_step="--to csv")
    with opened() as ledger:
        found = ledger.rows(LedgerQuery(study=study, kinds=True, leads=True))
    lines = [_flat(row) for row in found]
    if to == "json" and out is None:
        tell_json(lines)
        return None
    text = _csv(lines) if to == "csv" else _json(lines)
    if out is None:
        tell(Line(line) for line in text.splitlines())
    else:
        out.write_text(text, encoding="utf-8")
        story().print(f"{len(lines)} answers in {out}", style="dim")
    return None


@guarded
def rebuild_(
    folders: list[Path] = typer.Argument(None, help="Folders in which more bundles are."),
    quick: bool = typer.Option(False, "--quick", help="Believe bundles; recompute none."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Make the ledger anew from the bundles; a damaged one is set aside.

    Example: assay ledger rebuild bundles
    """
    with story().status("reading bundles") as status:
        found = rebuild(
            _place(),
            folders or (),
            check=not quick,
            progress=lambda done, total: status.update(f"reading bundles: {done} of {total}"),
        )
    if json:
        tell_json(asdict(found))
    else:
        tell(rebuilt_lines(found))
    return ExitCode.NO if found.refused else None


@contextmanager
def opened() -> Iterator[Ledger]:
    """The user's ledger; LedgerError or InputError where there is none."""
    ledger = Ledger.open(_place())
    try:
        yield ledger
    finally:
        ledger.close()


def _place() -> LedgerPlace:
    place = ledger_place()
    if place is None:
        raise InputError("ASSAY_LEDGER is off", next_step="unset ASSAY_LEDGER")
    return place


def _entry(name: str) -> LedgerEntry:
    """A bundle by its folder, or by its number in the ledger."""
    if Path(name).is_dir() or not name.isdecimal():
        return entry_of(Path(name))
    with opened() as ledger:
        found = ledger.entry(int(name))
    if found is None:
        raise InputError(f"no bundle has number {name}", next_step="assay ledger list")
    return found


def _flat(found: FoundAnswer) -> dict[str, object]:
    row = found.row.model_dump()
    return {
        **found.model_dump(exclude={"row"}),
        **row,
        "changes": " ".join(found.row.changes),
    }


def _csv(lines: list[dict[str, object]]) -> str:
    text = io.StringIO()
    if lines:
        writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return text.getvalue()


def _json(lines: list[dict[str, object]]) -> str:
    import json

    return json.dumps(lines, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=HELP)
    for name, command in (("add", add), ("list", list_), ("query", query), ("compare", compare)):
        group.command(name)(command)
    group.command("history")(history.command)
    group.command("export")(export)
    group.command("rebuild")(rebuild_)
    group.callback()(lambda: None)
    app.add_typer(group, name="ledger")
