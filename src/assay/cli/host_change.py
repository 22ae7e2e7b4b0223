"""`assay host plan`, `apply`, `confirm`, `rollback`, `status`: changes that can be taken back."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from assay._errors import ExitCode, InputError
from assay._units import parse_duration
from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json
from assay.host.check import View, findings
from assay.host.transaction import (
    Item,
    Plan,
    Status,
    Tree,
    apply,
    confirm,
    lease,
    roll_back,
    statuses,
    tree_at,
    value_item,
)
from assay.report import Line

ROOT_OPTION = typer.Option(
    Path("/"), "--root", help="A folder that stands for the host: everything happens below it."
)
SET_OPTION = typer.Option(
    [], "--set", help="A value: vm.swappiness=10 or /sys/...=VALUE", metavar="KEY=VALUE"
)


@guarded
def plan(
    set_: list[str] = SET_OPTION,
    for_: str = typer.Option(
        None, "--for", help="The cures that `assay host check` knows for this server, or `any`."
    ),
    pid: int = typer.Option(None, help="The server's process."),
    out: Path = typer.Option(None, help="Where the plan is saved; without it it is only shown."),
    root: Path = ROOT_OPTION,
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Show what would be written and how it would be taken back; nothing is changed.

    Example: assay host plan --set vm.swappiness=10 --out plan.json
    """
    tree = tree_at(root)
    items = list(_items(tree, set_))
    if for_ is not None:
        items += _cures(View(tree, "" if for_ == "any" else for_, pid))
    found = Plan.of(items, tree)
    if not found.items:
        story().print("everything is so already: nothing to plan")
    if out is not None:
        out.write_text(found.text())
        story().print(f"next: assay host apply {out} --try 10m", style="dim")
    if json:
        tell_json(found.model_dump())
    else:
        tell(Line(text) for item in found.items for text in _shown(item))
    return None


@guarded
def apply_(
    file: Path = typer.Argument(help="A plan that `assay host plan --out` saved."),
    try_: str = typer.Option(
        None, "--try", help="Take it back after this time, such as 10m, unless it is confirmed."
    ),
    root: Path = ROOT_OPTION,
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Write a plan's values, each announced on disk before and looked at after.

    Example: assay host apply plan.json --try 10m
    """
    tree, seconds = tree_at(root), None if try_ is None else parse_duration(try_)
    found = apply(Plan.load(file), tree, lease_s=seconds)
    if seconds is not None:
        how = lease.arm(tree, found.name, seconds)
        story().print(f"taken back in {try_} by {how}, unless: assay host confirm {found.name}")
    _tell([found], json)
    return None


@guarded
def confirm_(
    name: str = typer.Argument(None, help="The transaction; the last one by default."),
    root: Path = ROOT_OPTION,
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Keep what was applied on trial.

    Example: assay host confirm
    """
    tree = tree_at(root)
    _tell([confirm(tree, name or _last(tree))], json)
    return None


@guarded
def rollback(
    name: str = typer.Argument(None, help="The transaction; the last one by default."),
    root: Path = ROOT_OPTION,
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Bring back what a transaction changed; what somebody changed since is left alone, and said.

    Example: assay host rollback
    """
    tree = tree_at(root)
    _tell([roll_back(tree, name or _last(tree))], json)
    return None


@guarded
def status(root: Path = ROOT_OPTION, json: bool = JSON_OPTION) -> ExitCode | None:
    """List all transactions, and what became of each value.

    Example: assay host status
    """
    _tell(statuses(tree_at(root)), json)
    return None


@guarded
def wait(name: str = typer.Argument(), root: Path = ROOT_OPTION) -> ExitCode | None:
    """Wait for the end of a trial, and take it back unless it was confirmed."""
    lease.wait(tree_at(root), name)
    return None


def register(group: typer.Typer) -> None:
    """Add the commands to the group `host`."""
    group.command("plan")(plan)
    group.command("apply")(apply_)
    group.command("confirm")(confirm_)
    group.command("rollback")(rollback)
    group.command("status")(status)
    group.command("wait", hidden=True)(wait)


def _items(tree: Tree, values: Iterable[str]) -> Iterator[Item]:
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not value:
            raise InputError(f"--set {text}: no value", next_step="write --set vm.swappiness=10")
        item = value_item(tree, name, value, reason="asked for on the command line")
        if item is not None:
            yield item


def _cures(view: View) -> Iterator[Item]:
    for found in findings(view):
        for key, value in found.cure:
            item = value_item(view.tree, key, value, reason=found.reason, rule=found.rule)
            if item is not None and found.severity != "info":
                yield item


def _last(tree: Tree) -> str:
    found = [s for s in statuses(tree) if s.state != "rolled-back"]
    if not found:
        raise InputError("no transaction is applied", next_step="assay host status")
    return found[-1].name


def _shown(item: Item) -> Iterator[str]:
    old = "not there" if item.old is None else item.old.strip()
    if item.kind == "file":
        yield f"{item.path}: {'made' if item.old is None else 'written anew'}"
        yield from (f"    {line}" for line in item.new.splitlines())
    else:
        yield f"{item.path}: {old} -> {item.new}"
        for write in item.restore:
            yield f"    taken back by {write.value} to {write.path}"
    if item.reason:
        yield f"    {item.rule + ': ' if item.rule else ''}{item.reason}"


def _tell(found: list[Status], json: bool) -> None:
    if json:
        tell_json([_as_json(s) for s in found])
    else:
        tell(line for s in found for line in _lines(s))


def _lines(found: Status) -> Iterator[Line]:
    until = ""
    if found.until is not None and found.state == "applied":
        until = f", until {time.strftime('%H:%M:%S', time.localtime(found.until))}"
    yield Line(f"{found.name}  {found.state}{until}")
    for number, item in enumerate(found.plan.items):
        said = found.outcomes.get(number) or ("written" if number in found.got else "not written")
        style = "yellow" if said in ("drifted", "held") else ""
        yield Line(f"    {said:12} {item.path}", style)


def _as_json(found: Status) -> dict[str, object]:
    items = [
        {"path": item.path, "old": item.old, "new": item.new, "outcome": found.outcomes.get(number)}
        for number, item in enumerate(found.plan.items)
    ]
    return {"name": found.name, "state": found.state, "until": found.until, "items": items}
