"""`assay decide`: verdicts for anybody's runs."""

from __future__ import annotations

import enum
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from assay._errors import ExitCode
from assay._units import format_percent
from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.report import Line
from assay.report.text import STYLES
from assay.verdict import Decision, decide
from assay.verdict.table_file import read_csv


class Better(enum.StrEnum):
    """The direction in which the value improves."""

    HIGHER = "higher"
    LOWER = "lower"


@guarded
def command(
    file: Path = typer.Argument(..., help="CSV with columns block,arm,value[,metric][,order]."),
    baseline: str = typer.Option(..., help="The arm that others are compared with."),
    better: Better = typer.Option(Better.HIGHER, help="Whether a higher or a lower value is good."),
    smallest: str = typer.Option("2%", help="The smallest effect worth having."),
    margin: str = typer.Option("2%", help="The largest difference that counts as none."),
    alpha: float = typer.Option(0.05, help="Chance of any false helps or hurts."),
    planned: int = typer.Option(None, help="Blocks planned beforehand, if you look on the way."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Decide on runs that were measured with any tool: one row per run.

    Example: assay decide runs.csv --baseline old --better lower
    """
    decisions = {
        name: decide(
            rows,
            baseline=baseline,
            smallest=smallest,
            margin=margin,
            alpha=alpha,
            better=better.value,
            planned=planned,
        )
        for name, rows in read_csv(file).items()
    }
    if json:
        tell_json({name: _plain(decision) for name, decision in decisions.items()})
        return None
    for name, decision in decisions.items():
        tell(_lines(name, decision))
    return None


def _plain(decision: Decision) -> dict[str, Any]:
    return {
        "baseline": decision.baseline,
        "blocks": decision.blocks,
        "planned": decision.planned,
        "verdicts": [asdict(v) for v in decision.verdicts.values()],
        "warnings": decision.warnings,
    }


def _lines(name: str, decision: Decision) -> list[Line]:
    lines = [Line(f"{name}, against {decision.baseline}", "bold")]
    width = max(len(arm) for arm in decision.verdicts)
    for arm, verdict in decision.verdicts.items():
        low = "-inf" if verdict.low is None else format_percent(verdict.low)
        high = "+inf" if verdict.high is None else format_percent(verdict.high)
        text = (
            f"{arm:{width}}   {verdict.word:13}   [{low}, {high}]   "
            f"estimate {format_percent(verdict.estimate)}   {verdict.blocks} blocks"
        )
        lines += [Line(text, STYLES[verdict.word]), Line(f"    why  {verdict.reason}")]
    return [*lines, *(Line(f"warning: {w}", "yellow") for w in decision.warnings)]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("decide")(command)
