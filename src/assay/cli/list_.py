"""`assay list`: the studies, targets, workloads, changes, claims and prices that there are."""

from __future__ import annotations

import enum
import shutil
import textwrap
import tomllib
from collections.abc import Collection, Mapping
from typing import Any

import typer

from assay.changes import CATALOGUE, GENERIC
from assay.claims import shipped_claims
from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json
from assay.core.errors import ExitCode, InputError
from assay.core.parameters import Parameter, nearest
from assay.price import shipped_prices
from assay.report import Line
from assay.study import shipped
from assay.targets import TARGETS, Target, targets_of
from assay.workloads import WORKLOADS

Entry = dict[str, Any]
"""What is listed of one thing: `name`, `text`, and what its kind has besides, as JSON has it."""

ALWAYS = ("server",)
"""What stands in the list too, and not only under a name: whether a server is here."""

WIDE = 100


class Listed(enum.StrEnum):
    """What can be listed."""

    STUDIES = "studies"
    TARGETS = "targets"
    WORKLOADS = "workloads"
    CHANGES = "changes"
    CLAIMS = "claims"
    PRICES = "prices"


@guarded
def command(
    what: Listed = typer.Argument(Listed.STUDIES, help="What to list."),
    name: str = typer.Argument(None, help="One of them: all that is known of it."),
    target: str = typer.Option(None, help="With changes: only those of this target."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """List what a study, an audit or a price can name.

    Example: assay list changes engine.spin_hint
    """
    if target is not None and target not in TARGETS:
        raise InputError(
            f"{target!r} is not a target{nearest(target, TARGETS)}",
            next_step=f"use {', '.join(TARGETS)}",
        )
    entries = _LISTS[what](target)
    if name is not None:
        entries = [_named(entries, name, what)]
    if json:
        tell_json(entries)
        return None
    for entry in entries:
        tell(_lines(f"{entry['name']:24} {entry['text']}"))
        details = _details(entry, ALWAYS if name is None else None)
        tell(line for text in details for line in _lines(f"{'':24} {text}", "dim"))
    if name is None:
        story().print(f"details: assay list {what} NAME", style="dim")
    return None


def _named(entries: list[Entry], name: str, what: str) -> Entry:
    """The entry of that name. InputError if there is none."""
    known = {entry["name"]: entry for entry in entries}
    if name not in known:
        raise InputError(
            f"{name!r} is not one of the {what}{nearest(name, known)}",
            next_step=f"assay list {what}",
        )
    return known[name]


def _lines(text: str, style: str = "") -> list[Line]:
    """A text below its name, as wide as the terminal is, and never wider than is read well."""
    width = min(shutil.get_terminal_size((WIDE, 0)).columns, WIDE)
    wrapped = textwrap.wrap(
        text,
        max(width, 60),
        subsequent_indent=" " * 25,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [Line(line, style) for line in wrapped]


def _details(entry: Entry, keys: Collection[str] | None) -> list[str]:
    """What is known besides name and text: under these keys, or all of it."""
    found = []
    for key, value in entry.items():
        if key in ("name", "text") or not value or (keys is not None and key not in keys):
            continue
        if isinstance(value, dict):
            found += [f"{name}: {text}" for name, text in value.items()]
        else:
            found.append(f"{key}: {', '.join(value) if isinstance(value, list) else value}")
    return found


def _studies(_: str | None) -> list[Entry]:
    found = []
    for name, text in shipped().items():
        values = tomllib.loads(text)
        source = values.get("source", "")
        found.append({"name": name, "text": values["question"], "source": source})
    return found


def _allowed(parameters: Mapping[str, Parameter]) -> dict[str, str]:
    return {name: f"{p.text} ({p.allowed()}; {_default(p)})" for name, p in parameters.items()}


def _default(parameter: Parameter) -> str:
    return "no default" if parameter.default is None else f"default {parameter.default}"


def _targets(_: str | None) -> list[Entry]:
    return [
        {
            "name": t.kind,
            "text": t.text,
            **_of_server(t),
            "workloads": list(t.workloads),
            "stand-in": t.stand_in or "",
            "settings": _allowed(t.listed_settings),
        }
        for t in TARGETS.values()
    ]


def _of_server(target: Target) -> Entry:
    """Of a real server: whether it is here, and how many settings of its own it has."""
    if target.is_bundled:
        return {}
    own = target.own_settings
    told = "unknown until it is here" if own is None else f"{own}, by their own names"
    return {"server": target.found(), "server settings": told}


def _workloads(_: str | None) -> list[Entry]:
    return [
        {"name": w.kind, "text": w.text, "parameters": _allowed(dict(w.parameters))}
        for w in WORKLOADS.values()
    ]


def _changes(target: str | None) -> list[Entry]:
    found = [
        {
            "name": c.name,
            "text": c.text,
            "targets": targets_of(c),
            "levels": list(c.levels)
            or [f"any {'size' if c.sized else 'number'} allowed for {c.numeric_setting}"],
            "default": f"off {c.off}, on {c.on}",
            "needs": [f"{n}: {level.needs}" for n, level in c.levels.items() if level.needs],
            "effort": c.effort,
            "witness": type(c.witness).__name__,
            "dose": c.dose.unit if c.dose else "",
            "predicts": [f"{p.metric} {p.direction}" for p in c.signature],
        }
        for c in CATALOGUE.values()
        if target is None or c.fits(TARGETS[target])
    ]
    generic = [{"name": kind, "text": text} for kind, text in GENERIC.items()]
    return found + generic


def _claims(_: str | None) -> list[Entry]:
    found = {name: tomllib.loads(text) for name, text in shipped_claims().items()}
    return [{"name": n, "text": v["title"], "source": v["source"]} for n, v in found.items()]


def _prices(_: str | None) -> list[Entry]:
    return [
        {
            "name": p.machine,
            "text": f"{p.price:g} {p.currency} per {p.period}",
            "source": p.source or "",
        }
        for p in shipped_prices().values()
    ]


_LISTS = {
    Listed.STUDIES: _studies,
    Listed.TARGETS: _targets,
    Listed.WORKLOADS: _workloads,
    Listed.CHANGES: _changes,
    Listed.CLAIMS: _claims,
    Listed.PRICES: _prices,
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(command)
