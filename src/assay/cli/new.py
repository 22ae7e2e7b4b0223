"""`assay new`: a study to begin with, for what is found on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

from assay.changes import CATALOGUE, Change
from assay.cli._output import guarded, story
from assay.cli._quantities import read_seconds
from assay.core.errors import InputError
from assay.core.parameters import nearest
from assay.core.units import format_duration
from assay.linux.processes import read as read_file
from assay.linux.processes import read_folder
from assay.study import read
from assay.study.template import Sketch, least_s, template
from assay.targets import TARGETS, Target


@guarded
def command(
    target: str = typer.Option(None, help="The server; asked for, or one that runs or is here."),
    workload: str = typer.Option(None, help="The load on it; asked for, or its first one."),
    change: str = typer.Option(None, help="What is switched; asked for, or its first change."),
    budget: str = typer.Option(None, help="Time that the study may take; 10min by default."),
    out: Path = typer.Option(None, help="The file; NAME.toml in this folder by default."),
) -> None:
    """Write a study to begin with: at most four questions, none that an option answers.

    Example: assay new --target engine --change engine.spin_hint
    """
    kinds = _found()
    kind = _chosen("target", target, [k for k, t in TARGETS.items() if not t.is_named], kinds)
    server = TARGETS[kind]
    load = _chosen("workload", workload, server.workloads, server.workloads)
    changes = {c.name: c for c in CATALOGUE.values() if _fits(c, server, load)}
    if not changes:
        raise InputError(
            f"the catalogue has no change of {kind} under {load}",
            next_step="docs/studies.md: your own change, without code",
        )
    name = _chosen("change", change, changes, changes)
    time = budget or _asked("budget", ["10min"], "10min")
    read_seconds("--budget", time)
    text = template(Sketch(server, load, changes[name], time))
    study = read("the new study", text, Path.cwd())
    path = out or Path(f"{study.name}.toml")
    if path.exists():
        raise InputError(f"{path} is there already", next_step="give another one with --out")
    path.write_text(text)
    least = format_duration(least_s(study))
    story().print(
        f"{path}: checked; the first answer is possible after about {least}, "
        f"and it takes {format_duration(study.budget_s)} at most\nnext: assay run {path}"
    )


def _fits(change: Change, target: Target, workload: str) -> bool:
    """Whether a change is this target's own, and does something under the load."""
    own = target.kind in change.targets and not change.requires
    return own and (not change.workloads or workload in change.workloads)


def _found() -> list[str]:
    """Targets that are here: those that run, then those that are installed, then our own."""
    running = {read_file(place / "comm").strip() for place in read_folder(Path("/proc"))}
    kinds = [t for t in TARGETS.values() if not t.is_named]
    here = [t.kind for t in kinds if t.is_bundled or not t.found().startswith("not here")]

    def rank(kind: str) -> int:
        if any(name.startswith(kind) for name in running):
            return 0
        return 2 if TARGETS[kind].is_bundled else 1

    return sorted(here, key=rank)


def _chosen(what: str, given: str | None, allowed: Iterable[str], offered: Iterable[str]) -> str:
    """What an option or an answer says; InputError if it is none of those that may be."""
    listed, choices = list(allowed), list(offered)
    said = given or _asked(what, choices, choices[0])
    if said not in listed:
        raise InputError(
            f"{said!r} is no {what} here{nearest(said, listed)}",
            next_step=f"one of {', '.join(listed)}",
        )
    return said


def _asked(what: str, choices: Sequence[str], default: str) -> str:
    """The answer of somebody at a terminal; elsewhere the default."""
    if not sys.stdin.isatty():
        return default
    from rich.prompt import Prompt

    story().print(f"{what}: {', '.join(choices)}", style="dim")
    return Prompt.ask(what, default=default, console=story())


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("new")(command)
