"""`assay host`: what this machine is, and what can be measured on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import typer

from assay.cli import host_change, host_check, host_noise, host_size
from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.core.errors import ExitCode, MissingError
from assay.counters import GROUPS, asked, callgrind, probe, profilable
from assay.host import host_facts, limits
from assay.report import Line
from assay.report.words.unprofiled import absent_lines


@guarded
def command(json: bool = JSON_OPTION) -> ExitCode | None:
    """Show the facts of this machine, and what it cannot do or count.

    Example: assay host show
    """
    facts = host_facts()
    if json:
        tell_json(facts)
        return None
    plain = ("cpu_model", "arch", "cpus", "memory_bytes", "kernel", "distribution")
    tell(Line(f"{name:16} {facts[name]}") for name in plain)
    hints = ", ".join(f"{h['name']} {h['ns']:.1f} ns" for h in facts["hints"])
    tell([Line(f"{'spin hints':16} {hints}"), Line("")])
    tell(Line(f"not here: {limit}", "yellow") for limit in limits(facts))
    tell(_counters(facts))
    tell(_profile(facts))
    return None


def _counters(facts: dict[str, Any]) -> Iterator[Line]:
    """The groups that a study may ask for, what is lacking of them, and what can stand in."""
    absent = probe(asked(list(GROUPS), facts), os.getpid())
    here = [name for name in GROUPS if name not in absent]
    yield Line(f"{'counters':16} {', '.join(here)}")
    for name, why in absent.items():
        yield Line(f"not counted: {name}: {why}", "yellow")
    if not facts["can"]["pmu"]["ok"]:
        try:
            yield Line(f"{'instead':16} {callgrind.LABEL}: {callgrind.find()}")
        except MissingError as error:
            yield Line(f"not instead: callgrind: {error.message}", "yellow")


def _profile(facts: dict[str, Any]) -> Iterator[Line]:
    """Whether servers can be sampled here, by what, and which right is missing."""
    possible = profilable(facts)
    if possible.event:
        yield Line(f"{'profile':16} by {possible.event}")
    yield from absent_lines(possible.absent)


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The machine itself.")
    group.command("show")(command)
    host_check.register(group)
    host_size.register(group)
    host_noise.register(group)
    host_change.register(group)
    group.callback()(lambda: None)
    app.add_typer(group, name="host")
