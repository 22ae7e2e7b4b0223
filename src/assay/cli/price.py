"""`assay price`: what the throughput in a bundle is worth on machines that have a price."""

from __future__ import annotations

from pathlib import Path

import typer

from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.core.errors import ExitCode
from assay.price import find_price, of_arms, of_bundles, prices, worth
from assay.record import Bundle
from assay.report.terminal.priced import worth_lines


@guarded
def command(
    bundle: Path = typer.Argument(..., help="The folder that `assay run` printed."),
    other: Path = typer.Argument(
        None, help="A bundle of the same study, run on the machine to compare with."
    ),
    machine: str = typer.Option(
        ..., help="The machine of the arm (or of the first bundle), as a catalogue names it."
    ),
    against: str = typer.Option(
        None, help="The machine of the baseline (or of the second bundle); the same by default."
    ),
    arm: str = typer.Option(None, help="The arm, where there are several."),
    case: str = typer.Option(None, help="The case, where there are several; all by default."),
    catalogue: list[Path] = typer.Option(
        [], help="A TOML file with [[price]] rows; they go before those that ship."
    ),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Work per money of an arm against its baseline, or of two bundles, with intervals.

    Example: assay price bundles/mariadb-spin-20260101-120000 --machine bare-kunpeng-64
    --against bare-xeon-28
    """
    known = prices(catalogue)
    first = find_price(machine, known)
    second = find_price(against or machine, known)
    opened = Bundle.open(bundle)
    if other:
        found = of_bundles(opened, Bundle.open(other), arm, case)
    else:
        found = of_arms(opened, arm, case)
    answer = worth(found.ratio, first, second, found.warnings)
    if json:
        tell_json(answer.model(found.title))
    else:
        tell(worth_lines(found.title, answer))
    return None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("price")(command)
