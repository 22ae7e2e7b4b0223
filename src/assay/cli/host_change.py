"""`assay host plan`, `apply`, `confirm`, `rollback`, `status`: changes that can be taken back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import typer

from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json
from assay.cli._quantities import read_bytes, read_seconds
from assay.core.errors import ExitCode, InputError
from assay.host.persistence import boot, boot_command, persistent
from assay.host.persistence import memlock as memlock_item
from assay.host.rules import View, findings
from assay.host.transaction import (
    HostPlan,
    HostTree,
    Item,
    Status,
    apply,
    confirm,
    lease,
    new_id,
    path_of,
    roll_back,
    statuses,
    tree_at,
    value_item,
)
from assay.report import Line
from assay.targets import traits_of

ROOT_OPTION = typer.Option(
    Path("/"), "--root", help="A folder that stands for the host: everything happens below it."
)
MEMLOCK_OPTION = typer.Option(
    [], help="What a unit, or user:NAME, may lock: mariadb.service=8GiB.", metavar="WHOSE=SIZE"
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
    persist: str = typer.Option(
        None, help="Files of Assay's give the values at every boot too, called so.", metavar="NAME"
    ),
    memlock: list[str] = MEMLOCK_OPTION,
    boot_: str = typer.Option(
        None, "--boot", help="Words for the kernel's command line.", metavar="WORDS"
    ),
    out: Path = typer.Option(None, help="Where the plan is saved; without it it is only shown."),
    root: Path = ROOT_OPTION,
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Show what would be written and how it would be taken back; nothing is changed.

    Example: assay host plan --set vm.swappiness=10 --out plan.json
    """
    tree, name = tree_at(root), new_id()
    asked = [_asked(text) for text in set_]
    if for_ is not None:
        kind = "" if for_ == "any" else for_
        asked += _cures(View(tree, kind, pid, traits_of(kind)))
    files: list[Item | None] = []
    if persist is not None:
        values = [(path_of(tree, one.key), one.value) for one in asked]
        files += persistent(tree, values, persist, name)
    files += [_locked(tree, text, name) for text in memlock]
    if boot_ is not None:
        files.append(_boot(tree, boot_, name))
    items = [value_item(tree, o.key, o.value, reason=o.reason, rule=o.rule) for o in asked]
    found = HostPlan.of([item for item in [*items, *files] if item is not None], tree, name)
    for word in _after(found):
        story().print(word, style="dim")
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
    tree, lease_s = tree_at(root), None if try_ is None else read_seconds("--try", try_)
    asked = HostPlan.load(file)
    for text in (text for item in asked.items for text in _shown(item)):
        story().print(text, style="dim")
    if lease_s is None:
        found = apply(asked, tree)
    else:
        with lease.armed(tree, asked.id, lease_s) as how:
            found = apply(asked, tree, lease_s=lease_s)
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


@dataclass(frozen=True)
class _Asked:
    """A value for a path or key, and who wants it."""

    key: str
    value: str
    reason: str = "asked for on the command line"
    rule: str = ""


def _asked(text: str) -> _Asked:
    key, equals, value = text.partition("=")
    if not equals or not value:
        raise InputError(f"--set {text}: no value", next_step="write --set vm.swappiness=10")
    return _Asked(key, value)


def _cures(view: View) -> Iterator[_Asked]:
    for found in findings(view):
        if found.severity != "info":
            for key, value in found.cure:
                yield _Asked(key, value, found.reason, found.rule)


def _locked(tree: HostTree, text: str, plan: str) -> Item | None:
    whose, equals, limit = text.rpartition("=")
    if not equals:
        raise InputError(f"--memlock {text}: no size", next_step="write mariadb.service=8GiB")
    return memlock_item(tree, whose, read_bytes(f"--memlock {text}", limit), plan)


def _boot(tree: HostTree, words: str, plan: str) -> Item | None:
    command = boot_command(tree, words)
    if not command:
        return boot(tree, words, plan)
    story().print("--boot is not in this plan: this machine's boot loader reads no file of Assay's")
    tell([Line(command)])
    return None


def _after(plan: HostPlan) -> Iterator[str]:
    """What files of ours need to be in force, besides being there."""
    for item in plan.items:
        if item.path.startswith("/etc/systemd/system/"):
            unit = item.path.split("/")[-2].removesuffix(".d")
            yield f"in force after: systemctl daemon-reload && systemctl restart {unit}"
        elif item.path.startswith("/etc/default/grub.d/"):
            yield "in force after: update-grub, and a reboot; `assay host check` looks then (H04)"


def _last(tree: HostTree) -> str:
    found = [s for s in statuses(tree) if s.state not in ("rolled-back", "damaged")]
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
    if found.fault is not None:
        yield Line(f"    {found.fault.message}", "yellow")
        return
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
