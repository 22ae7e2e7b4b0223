"""`assay host check`: what is wrong with this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.core.errors import ExitCode, InputError
from assay.host.rules import HostFinding, View, findings, not_judged
from assay.host.transaction import tree_at
from assay.report import Line
from assay.targets import traits_of

ROOT_OPTION = typer.Option(
    Path("/"), "--root", help="A folder that stands for the host: everything is read below it."
)
FOR_OPTION = typer.Option("", "--for", help="A server: mariadb, postgresql, redis, ...")
STYLES = {"S1": "red", "S2": "yellow"}


@guarded
def check(
    for_: str = FOR_OPTION,
    pid: int = typer.Option(None, help="The server's process, of which limits and memory count."),
    root: Path = ROOT_OPTION,
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Judge this machine by rules: what is found, why it matters, and what cures it.

    Example: assay host check --for redis
    """
    view = View(tree_at(root), for_, pid, traits_of(for_))
    if pid is not None and view.server is None:
        raise InputError(f"there is no process {pid}", next_step="see `ps -e`")
    found, unjudged = findings(view), list(not_judged(view))
    if json:
        told = [{"rule": rule.id, "text": rule.text, "why": why} for rule, why in unjudged]
        tell_json({"findings": [_as_json(f) for f in found], "not_judged": told})
    else:
        tell(line for f in found for line in _lines(f))
        tell(Line(f"not judged: {rule.id} {rule.text}: {why}", "dim") for rule, why in unjudged)
        tell([Line("nothing found" if not found else f"{len(found)} found")])
    return ExitCode.NO if any(f.severity != "info" for f in found) else None


def register(group: typer.Typer) -> None:
    """Add the command to the group `host`."""
    group.command("check")(check)


def _lines(found: HostFinding) -> Iterator[Line]:
    yield Line(f"{found.rule} {found.severity}  {found.evidence}", STYLES.get(found.severity, ""))
    yield Line(f"    why   {found.reason} ({found.source})")
    yield Line(f"    cure  {found.advice}")
    for key, value in found.cure:
        yield Line(f"          assay host plan --set {key}={value}")


def _as_json(found: HostFinding) -> dict[str, object]:
    return {
        "rule": found.rule,
        "severity": found.severity,
        "evidence": found.evidence,
        "reason": found.reason,
        "source": found.source,
        "advice": found.advice,
        "cure": dict(found.cure),
    }
