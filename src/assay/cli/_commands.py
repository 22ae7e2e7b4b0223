"""Which commands there are. What one of them needs is imported when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

MODULES = {"list": "list_", "perf-stat": "perf_stat"}
"""Files that are not called as their command is."""

COMMANDS = {
    "run": "Run a study and give a verdict on each of its changes.",
    "new": "Write a study to begin with: at most four questions, none that an option answers.",
    "bisect": "Search which commit, or which level of a factor, made a server slower.",
    "pilot": "Find out how long runs of a study must warm up, and how long they are best measured.",
    "compare": "Compare commands: which one is faster, by how much, how surely.",
    "show": "Show the verdicts of a bundle.",
    "report": "Write the report of a bundle: one HTML file that needs no network.",
    "export": "Export a bundle: tables of runs, intervals, verdicts and curves, Markdown, or its "
    "charts.",
    "explain": "Why: what each change was to move and did, what it could gain at most, what limits "
    "next.",
    "verify": "Recompute a bundle; exit 1 if anything differs, naming the run that was altered.",
    "decide": "Decide on runs that were measured with any tool: one row per run.",
    "ledger": "All bundles, later: what is known about a change, how an answer moved, what agrees.",
    "history": "One question over time, versions and machines, with change points.",
    "ui": "Serve a local page: studies, bundles, a study while it runs, the ledger, diagnoses.",
    "load": "Put load on a server and say what it did, and whether the client was the limit.",
    "serve": "Be a small server on loopback until interrupted; its addresses go to stdout.",
    "list": "List what a study, an audit or a price can name.",
    "inspect": "Find what would be slow on Arm, without running it, and the study that would "
    "measure it.",
    "doctor": "What to try first on a running server, and the most that it can give.",
    "perf-stat": "Read counts of `perf stat`: events that were counted throughout, and what "
    "follows from them.",
    "price": "Work per money of an arm against its baseline, or of two bundles, with intervals.",
    "audit": "Recompute every statement of a claim; exit 1 if anything does not follow.",
    "host": "The machine itself.",
    "fleet": "Several machines.",
}
"""Every command in the order of `assay --help`, with the first sentence of its own help."""


def real(name: str) -> Any:
    """A command itself; imports what it needs."""
    alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    import_module(f"assay.cli.{MODULES.get(name, name)}").register(alone)
    alone.callback()(lambda: None)
    return get_group(alone).commands[name]


class _Later(TyperCommand):
    """A command of which name and first sentence are known; used, it is the real one."""

    def make_context(self, *given: Any, **named: Any) -> Any:
        return real(str(self.name)).make_context(*given, **named)


class Commands(TyperGroup):
    """The group of all commands."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands.update({n: _Later(n, help=text) for n, text in COMMANDS.items()})
