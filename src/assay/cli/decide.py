"""`assay decide`: verdicts for anybody's runs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json
from assay.cli.display.waiting import Waiting
from assay.core.errors import DataError, ExitCode
from assay.core.metrics import Better
from assay.report.terminal.decided import decision_lines, warning_lines
from assay.stats import Decision, decide
from assay.stats.defaults import BASELINE, default_baseline
from assay.stats.defaults import directions as directions_of
from assay.stats.run_file import read_files


@guarded
def command(
    files: list[Path] = typer.Argument(
        ...,
        metavar="FILE",
        help="CSV with a column value, and arm, block, metric, order as far as known; - is "
        "standard input. Without arm a file is one arm, called as the file.",
    ),
    baseline: str = typer.Option(
        None, help="The arm that others are compared with: `baseline`, or else the first one."
    ),
    better: list[str] = typer.Option(
        [],
        metavar="higher|lower|METRIC=...",
        help="Which values are good; by default as the metric is known, or else higher.",
    ),
    smallest: str = typer.Option("2%", help="The smallest effect worth having."),
    margin: str = typer.Option("2%", help="The largest difference that counts as none."),
    alpha: float = typer.Option(0.05, help="Chance of any false helps or hurts."),
    planned: int = typer.Option(None, help="Blocks planned beforehand, if you look on the way."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Decide on runs that were measured with any tool: one row per run.

    A block is a set of runs, one of each arm, done close together in random order.

    Example: assay decide runs.csv --baseline old --better lower
    """
    with Waiting(story()) as waiting:
        runs = read_files(files, waiting.reading)
        directions = directions_of(better, list(runs))
        against = default_baseline(runs) if baseline is None else baseline
        decisions: dict[str, Decision] = {}
        for name, columns in runs.items():
            waiting.deciding(len(decisions) / len(runs))
            try:
                decisions[name] = decide(
                    columns,
                    baseline=against,
                    smallest=smallest,
                    margin=margin,
                    alpha=alpha,
                    better=directions[name][0],
                    planned=planned,
                )
            except DataError as error:
                about = f"{name}: " if len(runs) > 1 else ""
                raise DataError(about + error.message, next_step=error.next_step) from None
    if json:
        tell_json({n: _plain(d, *directions[n], baseline is None) for n, d in decisions.items()})
        return None
    for name, decision in decisions.items():
        tell(decision_lines(_title(name, *directions[name], against, baseline is None), decision))
    tell(warning_lines(decisions))
    return None


def _plain(decision: Decision, better: Better, assumed: bool, chosen: bool) -> dict[str, Any]:
    return {
        "baseline": decision.baseline,
        "baseline_by_default": chosen,
        "better": better,
        "better_by_default": assumed,
        "blocks": decision.blocks,
        "planned": decision.planned,
        "medians": decision.medians,
        "verdicts": [asdict(v) for v in decision.verdicts.values()],
        "warnings": decision.warnings,
        "warning_reasons": [reason.model_dump() for reason in decision.warning_reasons],
    }


def _title(name: str, better: Better, assumed: bool, against: str, chosen: bool) -> str:
    direction = f"{better} is better" + (" (assumed: see --better)" if assumed else "")
    first = chosen and against != BASELINE
    arm = against + (" (the first arm: see --baseline)" if first else "")
    return f"{name}: {direction}, against {arm}"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("decide")(command)
