"""`assay fleet`: several machines, each with an agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from assay.cli import fleet_run
from assay.cli._fleet import ADDRESS_OPTION, AS_OPTION, FILE, OPTIONAL_FILE, joined_either, which
from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json
from assay.core.errors import ExitCode
from assay.core.units import format_duration
from assay.fleet import nodes
from assay.fleet.checking import EMULATED, FleetFinding, FleetReport, HostReport
from assay.fleet.checking import check as check_hosts
from assay.fleet.checking import status as status_of
from assay.fleet.inventory import read_inventory
from assay.fleet.keys import make_keys, security
from assay.report import Line


@guarded
def keys(file: Path = FILE) -> ExitCode | None:
    """Draw the token and make the certificates of a fleet, in the folder that its inventory names.

    Example: assay fleet keys lab.toml
    """
    inventory = read_inventory(file)
    folder = make_keys(inventory)
    tell([Line(f"{folder} has a token and certificates for {', '.join(inventory.hosts)}")])
    tell([Line(f"next: copy {file} and {folder} to the same place on each host, by a safe way")])
    return None


@guarded
def up(file: Path = FILE, as_: str = AS_OPTION) -> ExitCode | None:
    """Start this machine's part of a fleet: the head first, then each host.

    Example: assay fleet up lab.toml
    """
    inventory = read_inventory(file)
    host = which(inventory, as_)
    log = nodes.start(inventory, host, security(inventory))
    tell([Line(f"{host.name} is up at {host.address}")])
    story().print(f"log {log}", style="dim")
    if host.name == inventory.head:
        others = [name for name in inventory.hosts if name != host.name]
        tell(Line(f"next, on {name}: assay fleet up {file} --as {name}") for name in others)
    return None


@guarded
def down(file: Path = FILE, as_: str = AS_OPTION) -> ExitCode | None:
    """End this machine's part of a fleet, and no other Ray. What agents changed is brought back.

    Example: assay fleet down lab.toml
    """
    inventory = read_inventory(file)
    host = which(inventory, as_)
    was = nodes.end(inventory, host)
    tell([Line(f"{host.name} has ended" if was else f"{host.name} did not run here")])
    return None


@guarded
def status(
    file: Path = OPTIONAL_FILE,
    address: str = ADDRESS_OPTION,
    as_: str = AS_OPTION,
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Show which hosts have joined; starts nothing on them. Exit 1 if one is absent.

    Example: assay fleet status lab.toml
    """
    with joined_either(file, address, as_) as (hosts, inventory):
        return _answer(status_of(hosts, inventory), json)


@guarded
def check(
    file: Path = OPTIONAL_FILE,
    address: str = ADDRESS_OPTION,
    as_: str = AS_OPTION,
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Ask each host and compare all; exit 1 if something speaks against measuring.

    Example: assay fleet check lab.toml
    """
    with joined_either(file, address, as_) as (hosts, inventory):
        report = check_hosts(
            hosts, inventory, lambda name: story().print(f"asking {name}", style="dim")
        )
    return _answer(report, json)


def _answer(report: FleetReport, json: bool) -> ExitCode | None:
    if json:
        tell_json(report.model_dump())
    else:
        tell(line for host in report.hosts for line in _host_lines(host))
        tell(line for finding in report.findings for line in _finding_lines(finding))
        tell(
            Line(f"differs: {d.fact}: " + ", ".join(f"{h} {v}" for h, v in d.values.items()), "dim")
            for d in report.differences
        )
        tell([Line(f"{len(report.findings) or 'nothing'} found")])
    return ExitCode.NO if report.findings else None


def _host_lines(host: HostReport) -> Iterator[Line]:
    labels = " ".join(f"{key}={value}" for key, value in host.labels.items())
    price = "" if host.price_per_hour is None else f"{host.price_per_hour:.4g} {host.currency}/h"
    here = "here" if host.is_present else "absent"
    words = (f"{host.name:16}", f"{here:7}", host.address, ",".join(host.roles), labels, price)
    yield Line("  ".join(word for word in words if word), "" if host.is_present else "yellow")
    if host.hello is not None:
        facts = host.hello.facts
        memory = f"{facts['memory_bytes'] / 2**30:.1f} GiB"
        what = f"{facts['arch']}, {facts['cpu_model']}, {facts['cpus']} CPUs, {memory}"
        yield Line(f"    {what}, Linux {facts['kernel']}", "dim")
    if host.is_emulated:
        yield Line(f"    {EMULATED}", "yellow")
    if host.after is not None:
        off, error = host.after.offset_s, host.after.error_s
        sign = "-" if off < 0 else "+"
        yield Line(
            f"    clock {sign}{format_duration(abs(off))}, known to {format_duration(error)}", "dim"
        )
    if host.idle is not None and host.stopped is not None:
        running, stopped = host.idle, host.stopped
        yield Line(
            f"    Ray, {running.processes} processes: {running.cpu_ms_per_s:.1f} ms of CPU and "
            f"{running.wakeups_per_s:.0f} wake-ups a second; stopped for a window "
            f"{stopped.cpu_ms_per_s:.1f} ms and {stopped.wakeups_per_s:.1f}",
            "dim",
        )


def _finding_lines(finding: FleetFinding) -> Iterator[Line]:
    yield Line(f"{finding.host}: {finding.kind}: {finding.text}", "yellow")
    yield Line(f"    next  {finding.advice}")


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Several machines.")
    for name, command in COMMANDS.items():
        group.command(name)(command)
    group.callback()(lambda: None)
    app.add_typer(group, name="fleet")


COMMANDS = {
    "keys": keys,
    "up": up,
    "down": down,
    "status": status,
    "check": check,
    "run": fleet_run.run,
}
