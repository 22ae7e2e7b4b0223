"""`assay show`: the verdicts of a bundle, in the terminal."""

from __future__ import annotations

from pathlib import Path

import typer

from assay.bisection import SearchBundle, checked_found, is_search
from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.core.errors import ExitCode, InputError
from assay.core.parameters import nearest
from assay.explain import explanations
from assay.record import Bundle, checked_verdicts, counted_runs
from assay.report import (
    limit_lines,
    measuring_lines,
    profile_lines,
    search_lines,
    sysmon_lines,
    verdict_lines,
)


@guarded
def command(
    bundle: Path = typer.Argument(..., help="The folder that `assay run` printed."),
    sysmon: bool = typer.Option(
        False, "--sysmon", help="Show locks, aborts and CPUs by arm, as a system monitor would."
    ),
    arm: str | None = typer.Option(None, help="With --sysmon: this arm only."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Show the verdicts of a bundle.

    Example: assay show bundles/quickstart-20260101-120000
    """
    if is_search(bundle) and not sysmon:
        search = SearchBundle.open(bundle)
        found = checked_found(search)
        tell_json(found.model_dump()) if json else tell(search_lines(search.plan, found))
        return None
    opened = Bundle.open(bundle)
    if sysmon:
        tell(sysmon_lines(opened.plan, counted_runs(opened), _arm(opened, arm)))
        return None
    verdicts = checked_verdicts(opened)
    if json:
        tell_json(verdicts.model_dump())
    else:
        why = explanations(opened.plan, opened.runs(), verdicts)
        tell(verdict_lines(verdicts, opened.plan, why))
        tell(limit_lines(opened.plan, counted_runs(opened)))
        tell(measuring_lines(counted_runs(opened)))
        tell(profile_lines(opened, verdicts))
    return None


def _arm(bundle: Bundle, name: str | None) -> str | None:
    known = [arm.name for arm in bundle.plan.arms]
    if name is not None and name not in known:
        raise InputError(
            f"{name!r} is not an arm of this study{nearest(name, known)}",
            next_step=f"its arms are {', '.join(known)}",
        )
    return name


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show")(command)
