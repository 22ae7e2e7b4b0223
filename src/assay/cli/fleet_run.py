"""`assay fleet run`: many studies on the hosts of a fleet."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from assay.cli._fleet import AS_OPTION, FILE, joined
from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json, warn
from assay.cli.run import SET_OPTION, overrides_of
from assay.core.errors import ExitCode, InputError
from assay.core.units import format_duration
from assay.fleet.queue import QueuedOutcome, QueuedStudy, StudyQueue
from assay.fleet.transport import PresentHost
from assay.ledger import entered
from assay.record import Bundle
from assay.report import Line
from assay.report.html.page import report_html
from assay.study import locate

WHERE_OPTION = typer.Option(
    [], "--where", help="Only hosts with this label, again for more.", metavar="LABEL=VALUE"
)
CODES = {
    "failed": ExitCode.USAGE,
    "lost": ExitCode.MISSING,
    "waiting": ExitCode.MISSING,
    "void": ExitCode.VOID,
}
"""The exit code is that of the first state here which a study has."""


@guarded
def run(
    file: Path = FILE,
    studies: list[str] = typer.Argument(..., help="Study files, or names of shipped studies."),
    where: list[str] = WHERE_OPTION,
    set_: list[str] = SET_OPTION,
    budget: str = typer.Option(None, help="Time that each study may take, such as 10m."),
    full: bool = typer.Option(False, "--full", help="Run every planned block of every arm."),
    seed: int = typer.Option(None, help="Seed of each study's run order; drawn by default."),
    out: Path = typer.Option(Path("bundles"), help="Folder of the bundles, one for each study."),
    as_: str = AS_OPTION,
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Run studies, each whole on one host, one at a time on a host; again, it goes on.

    Example: assay fleet run lab.toml quickstart --where arch=aarch64 --out bundles
    """
    queued = list(_queued(studies, overrides_of(set_, budget), full, seed, out))
    with joined(file, as_) as (hosts, inventory):
        fitting = [host.name for host in hosts.present() if _fits(host, _labels(where))]
        if not fitting:
            raise InputError(
                "no host that has joined has these labels",
                next_step=f"`assay fleet status {file}` shows hosts and labels",
            )

        outcomes = StudyQueue(queued, fitting, hosts, inventory.lease_s, _Lines()).run()
    for outcome in outcomes:
        _keep(outcome)
    if json:
        tell_json([outcome.model_dump() for outcome in outcomes])
    else:
        tell(line for outcome in outcomes for line in _lines(outcome))
    states = {outcome.state for outcome in outcomes}
    return next((code for state, code in CODES.items() if state in states), None)


def _queued(
    studies: Sequence[str], overrides: dict[str, str], full: bool, seed: int | None, out: Path
) -> Iterator[QueuedStudy]:
    names: set[str] = set()
    for asked in studies:
        _, text, _ = locate(asked)
        plain = Path(asked).stem
        if plain in names:
            raise InputError(
                f"two studies would have the bundle {out / plain}", next_step="give each its name"
            )
        names.add(plain)
        yield QueuedStudy(plain, text, out / plain, seed, overrides, full)


def _labels(where: Sequence[str]) -> dict[str, str]:
    found = {}
    for pair in where:
        key, equals, value = pair.partition("=")
        if not (key and equals and value):
            raise InputError(f"--where {pair}: write LABEL=VALUE", next_step="--where arch=aarch64")
        found[key] = value
    return found


def _fits(host: PresentHost, labels: dict[str, str]) -> bool:
    return all(host.labels.get(key) == value for key, value in labels.items())


class _Lines:
    """A line for each event, from whichever thread."""

    def __init__(self) -> None:
        self._lock, self._console = threading.Lock(), story()

    def begins(self, study: str, host: str) -> None:
        self._say(f"{host}: {study} begins")

    def ended(self, outcome: QueuedOutcome) -> None:
        where = outcome.host or "nowhere"
        self._say(f"{where}: {outcome.study} {outcome.state} {outcome.why}".rstrip())

    def _say(self, text: str) -> None:
        with self._lock:
            self._console.print(text, style="dim")


def _keep(outcome: QueuedOutcome) -> None:
    """Enter a bundle into the ledger, and write its report."""
    folder = Path(outcome.folder)
    if not (folder / "plan.json").exists():
        return
    with entered(folder, warn):
        bundle = Bundle.open(folder)
    if bundle.has_verdicts:
        bundle.write_report(report_html(bundle))


def _lines(outcome: QueuedOutcome) -> Iterator[Line]:
    took = format_duration(outcome.seconds)
    is_fine = outcome.state == "finished"
    words = (f"{outcome.study:24}", f"{outcome.state:9}", f"{outcome.host or '-':16}", took)
    yield Line("  ".join((*words, outcome.folder)), "" if is_fine else "yellow")
    if outcome.why:
        yield Line(f"    {outcome.why}", "yellow")
    if outcome.next_step:
        yield Line(f"    next  {outcome.next_step}")
