"""`assay decide`: verdicts for anybody's runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import typer

from assay._errors import DataError, ExitCode, InputError
from assay._parameters import nearest
from assay.cli._decided import decision_lines, warning_lines
from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.cli._waiting import Waiting
from assay.metrics import METRICS, Better, metric
from assay.verdict import Decision, decide
from assay.verdict.decision import listed
from assay.verdict.runs import Columns
from assay.verdict.table_file import read_files

BASELINE = "baseline"
DIRECTIONS = get_args(Better)


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
    with Waiting() as waiting:
        runs = read_files(files, waiting.reading)
        directions = _directions(better, list(runs))
        against = _default_baseline(runs) if baseline is None else baseline
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


def _default_baseline(runs: Mapping[str, Columns]) -> str:
    arms = [arm for columns in runs.values() for arm in columns.arms]
    return BASELINE if BASELINE in arms else arms[0]


def _directions(given: Sequence[str], metrics: Sequence[str]) -> dict[str, tuple[Better, bool]]:
    """Metric -> the direction in which it improves, and whether that is only assumed."""
    said: dict[str, Better] = {}
    for text in given:
        name, _, direction = text.rpartition("=")
        if direction not in DIRECTIONS:
            raise InputError(
                f"--better is {text!r}", next_step="say higher, lower, or METRIC=higher|lower"
            )
        if name and name not in metrics:
            raise InputError(
                f"--better {text}: there is no metric {name!r}{nearest(name, metrics)}",
                next_step=f"name one of {listed(metrics)}",
            )
        if said.setdefault(name, direction) != direction:
            raise InputError(f"--better {text} contradicts another --better", next_step="drop one")
    found: dict[str, tuple[Better, bool]] = {}
    for name in metrics:
        known = said.get(name) or said.get("") or _known(name)
        found[name] = (known or "higher", known is None)
    return found


def _known(name: str) -> Better | None:
    if name.partition(".")[0] not in METRICS:
        return None
    with suppress(ValueError):
        return metric(name).better
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
        "doubts": [asdict(doubt) for doubt in decision.doubts],
        "warnings": decision.warnings,
    }


def _title(name: str, better: Better, assumed: bool, against: str, chosen: bool) -> str:
    direction = f"{better} is better" + (" (assumed: see --better)" if assumed else "")
    first = chosen and against != BASELINE
    arm = against + (" (the first arm: see --baseline)" if first else "")
    return f"{name}: {direction}, against {arm}"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("decide")(command)
