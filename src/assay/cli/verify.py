"""`assay verify`: recompute every verdict of a bundle from its raw runs."""

from __future__ import annotations

from pathlib import Path

import typer

from assay.bisection import SearchBundle, found_differences, is_search
from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.core.errors import ExitCode, StudyError
from assay.record import Bundle, differences
from assay.record.signature import require_signer
from assay.report import Line
from assay.study.derivation import other_arms, planned_study, underived

UNPROVEN = Line("The bundle agrees with itself, which is no proof of who measured it.", "dim")
WITHOUT_END = Line(
    "It is older than the record of a study's end: runs may lack after the last.", "dim"
)


@guarded
def command(
    bundle: Path = typer.Argument(..., help="The folder that `assay run` printed."),
    signer: Path = typer.Option(
        None, help="Public keys of OpenSSH, one of which must have signed."
    ),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Recompute a bundle; exit 1 if anything differs, naming the run that was altered.

    Example: assay verify bundles/quickstart-20260101-120000
    """
    if is_search(bundle):
        return _verify_search(bundle, json)
    opened = Bundle.open(bundle)
    found = differences(opened) + underived(opened.plan, opened.study)
    unread = ""
    try:
        found += other_arms(opened.plan, planned_study(opened.plan, opened.study))
    except StudyError as error:
        unread = error.problems[0].message
    verdicts = opened.verdicts()
    if signer is not None:
        require_signer(opened, signer)
    if json:
        told = {"verified": not found, "runs": verdicts.runs, "differences": found}
        told |= {"signed": signer is not None, "ended": bool(verdicts.end)}
        tell_json(told | {"arms_derived": not unread})
    elif found:
        tell(Line(text, "red") for text in found)
    else:
        count = f"{len(verdicts.verdicts)} verdicts from {verdicts.runs} runs"
        tell([Line(f"verified: {count} recompute to what the bundle says", "green")])
        tell([UNPROVEN if signer is None else Line(f"signed by a key of {signer}", "green")])
        if unread:
            tell([Line(f"Its arms were not held against its study: {unread}", "dim")])
        if not verdicts.end:
            tell([WITHOUT_END])
    return ExitCode.NO if found else None


def _verify_search(folder: Path, json: bool) -> ExitCode | None:
    """Recompute a search."""
    opened = SearchBundle.open(folder)
    found, runs = found_differences(opened), opened.found().runs
    if json:
        tell_json({"verified": not found, "runs": runs, "differences": found})
    elif found:
        tell(Line(text, "red") for text in found)
    else:
        tell([Line(f"verified: {runs} runs recompute to what the search found", "green"), UNPROVEN])
    return ExitCode.NO if found else None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(command)
