"""`assay decide`: verdicts for anybody's runs."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer

from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json
from assay.cli.display.waiting import Waiting
from assay.core.errors import DataError, ExitCode
from assay.core.metrics import Better
from assay.imports import Imported, read_results, recognised
from assay.reasons import Code
from assay.report.terminal.decided import decision_lines, warning_lines
from assay.report.words.line import Line
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
        "standard input. Without arm a file is one arm, called as the file. Or results of "
        "another tool: docs/decide.md lists them.",
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
        foreign = read_results(files) if recognised(files) else None
        runs = read_files(files, waiting.reading) if foreign is None else foreign.runs
        directions = _directions(better, list(runs), foreign)
        against = default_baseline(runs) if baseline is None else baseline
        decisions: dict[str, Decision] = {}
        for name, columns in runs.items():
            waiting.deciding(len(decisions) / len(runs))
            try:
                decision = decide(
                    columns,
                    baseline=against,
                    smallest=smallest,
                    margin=margin,
                    alpha=alpha,
                    better=directions[name][0],
                    planned=planned,
                )
                decisions[name] = decision if foreign is None else _warned(decision, foreign, json)
            except DataError as error:
                about = f"{name}: " if len(runs) > 1 else ""
                raise DataError(about + error.message, next_step=error.next_step) from None
    if json:
        tell_json({n: _plain(d, *directions[n], baseline is None) for n, d in decisions.items()})
        return None
    if foreign is not None:
        tell(_origin(foreign))
    for name, decision in decisions.items():
        tell(decision_lines(_title(name, *directions[name], against, baseline is None), decision))
    tell(warning_lines(decisions))
    return None


def _directions(
    better: list[str], metrics: list[str], foreign: Imported | None
) -> dict[str, tuple[Better, bool]]:
    """Which values of each metric are good, and whether that is only assumed: a tool knows."""
    found = directions_of(better, metrics)
    if foreign is None:
        return found
    return {
        n: (foreign.better[n], False) if assumed else (way, assumed)
        for n, (way, assumed) in found.items()
    }


def _warned(decision: Decision, foreign: Imported, in_json: bool) -> Decision:
    """The decision with what is known of the tool's order in place of what is not; as text that
    stands above all of them."""
    if foreign.design is None:
        return decision
    kept = (r for r in decision.warning_reasons if r.code != Code.ORDER_UNKNOWN)
    known = (foreign.design,) if in_json else ()
    return replace(decision, warning_reasons=(*known, *kept))


def _origin(foreign: Imported) -> list[Line]:
    """Where the runs are from, what a block of them is, and what their order cannot carry."""
    said = f"from {foreign.tool}: a block is {foreign.block}"
    if foreign.left_out:
        said += f"; not decided on, for zeros: {', '.join(foreign.left_out)}"
    lines = [Line(said, "dim")]
    if foreign.design is not None:
        lines.append(Line(f"warning: {foreign.design.text}", "yellow"))
    return [*lines, Line("")]


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
