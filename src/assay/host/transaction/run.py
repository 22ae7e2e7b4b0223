"""Transactions: applied whole or not at all, and brought back whatever happened meanwhile.

State is never kept but derived from the journal:

    begun -> applying -> applied -> confirmed
                 \\-> rolling-back -> rolled-back      (held: a pool is still in use)

An item is announced before it is written. So whoever comes after a crash looks at each
announced item: as before (the write never happened, or was taken back), as written
(bring it back), or otherwise (somebody else changed it: left alone, and said).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assay.core.errors import AssayError, InputError, MissingError, RestoreError
from assay.host.transaction import steps
from assay.host.transaction.journal import Event, Journal, journals, unbegun
from assay.host.transaction.plan import Item, Plan, current, identity
from assay.linux.tree import Tree

LOCK = "/run/assay.lock"

State = Literal["begun", "applying", "applied", "confirmed", "rolling-back", "rolled-back"]
OPEN: tuple[State, ...] = ("begun", "applying", "rolling-back")
"""States in which a transaction can only be rolled back."""


@dataclass(frozen=True)
class Status:
    """A transaction as its journal has it. `until` is when a lease ends, in seconds since 1970."""

    name: str
    plan: Plan
    state: State
    until: float | None = None
    owner: str | None = None
    """The process for whose life it is meant, as `owner_of` names it."""
    outcomes: dict[int, str] = field(default_factory=dict)
    """By item, how it was brought back."""
    got: dict[int, str | None] = field(default_factory=dict)
    """By announced item, what was read after it was written; None if nobody came to that."""
    begun: frozenset[int] = frozenset()
    """Items of which bringing back was announced: it may be half done."""

    @property
    def is_over(self) -> bool:
        """Whether it is to be rolled back: its lease has ended without a word, or its owner."""
        if self.state == "applied" and self.until is not None and time.time() >= self.until:
            return True
        is_orphan = self.owner is not None and not _lives(self.owner)
        return is_orphan and self.state not in ("confirmed", "rolled-back")

    @property
    def is_half(self) -> bool:
        """Whether it was cut short, if nobody is at it."""
        return self.state in OPEN


def status(journal: Journal) -> Status:
    """What a journal says."""
    state: State = "begun"
    until: float | None = None
    owner: str | None = None
    outcomes: dict[int, str] = {}
    got: dict[int, str | None] = {}
    begun: set[int] = set()
    for event in journal.events():
        state = _after(state, event)
        if event["event"] == "begun":
            owner = event["owner"]
        elif event["event"] == "applied":
            until = event["until"]
        elif event["event"] == "writing":
            got.setdefault(event["item"], None)
        elif event["event"] == "written":
            got[event["item"]] = event["got"]
        elif event["event"] == "taking-back":
            begun.add(event["item"])
        elif event["event"] == "taken-back":
            outcomes[event["item"]] = event["outcome"]
    return Status(
        journal.plan.id, journal.plan, state, until, owner, outcomes, got, frozenset(begun)
    )


_STATES: dict[str, State] = {
    "writing": "applying",
    "applied": "applied",
    "confirmed": "confirmed",
    "rolling-back": "rolling-back",
    "rolled-back": "rolled-back",
}


def _after(state: State, event: Event) -> State:
    return _STATES.get(event["event"], state)


def statuses(tree: Tree) -> list[Status]:
    """All transactions, the oldest first."""
    return [status(Journal.open(tree, name)) for name in journals(tree)]


def apply(
    plan: Plan,
    tree: Tree,
    *,
    lease_s: float | None = None,
    owner: int | None = None,
    after_write: Callable[[], None] | None = None,
) -> Status:
    """Write the items of a plan, each announced before and looked at after.

    With `lease_s` it is to be rolled back after so many seconds unless it is confirmed; with
    `owner`, a PID, when that process has ended. If one item is not taken all are brought back, and
    its error says so; so they are at Ctrl-C. InputError if the host is not as the plan found it;
    MissingError names the right that is missing; nothing was written then.
    """
    with locked(tree):
        _refuse_unfinished(tree)
        _refuse_held(plan, tree)
        check(plan, tree)
        journal = Journal.begin(tree, plan, after_write)
        try:
            journal.write("begun", owner=None if owner is None else owner_of(owner))
            for number, item in enumerate(plan.items):
                journal.write("writing", item=number)
                journal.write("written", item=number, got=steps.put(tree, item))
        except AssayError as error:
            _roll_back(journal, tree)
            raise MissingError(
                f"{error.message}; all else was brought back", next_step=error.next_step
            ) from error
        except KeyboardInterrupt:
            # A pool may take seconds to grow.
            _roll_back(journal, tree)
            raise
        until = None if lease_s is None else time.time() + lease_s
        journal.write("applied", until=until)
        return status(journal)


def confirm(tree: Tree, name: str, after_write: Callable[[], None] | None = None) -> Status:
    """What was applied on trial stays; InputError if there is nothing to confirm."""
    with locked(tree):
        journal = Journal.open(tree, name, after_write)
        found = status(journal)
        if found.state != "applied":
            raise InputError(f"{name} is {found.state}", next_step="only what is applied is")
        journal.write("confirmed")
        return status(journal)


def roll_back(tree: Tree, name: str, after_write: Callable[[], None] | None = None) -> Status:
    """Bring back what a transaction changed, the last item first; may be said again at any time.

    RestoreError if a pool is still in use or a value is not taken: what can be is brought back.
    """
    with locked(tree):
        journal = Journal.open(tree, name, after_write)
        found = status(journal)
        return found if found.state == "rolled-back" else _roll_back(journal, tree)


def forget(tree: Tree, name: str) -> None:
    """Remove the journal of a transaction that was rolled back or never began; any other stays.
    None is fine."""
    with locked(tree):
        for folder in unbegun(tree):
            shutil.rmtree(folder)
        if name not in journals(tree):
            return
        journal = Journal.open(tree, name)
        if status(journal).state == "rolled-back":
            shutil.rmtree(journal.folder)


def check(plan: Plan, tree: Tree) -> None:
    """Refuse a plan that was made for another boot, for other values, or for other rights."""
    if (plan.boot_id, plan.kernel) != identity(tree):
        raise InputError(
            f"plan {plan.id} was made before this machine was started anew",
            next_step="make the plan anew",
        )
    for item in plan.items:
        then = {item.path: item.old, **item.watch}
        for path, now in current(tree, item).items():
            if now != then[path]:
                raise InputError(
                    f"{path} was {_shown(then[path])} when the plan was made, "
                    f"and is {_shown(now)} now",
                    next_step="make the plan anew",
                )
    barred = [item.path for item in plan.items if not tree.may_write(item.path)]
    if barred:
        is_root = os.geteuid() == 0
        raise MissingError(
            f"{barred[0]} may not be written by this user",
            next_step="it is read-only here, as in a container: apply the plan on the host"
            if is_root
            else "run `assay host apply` as root",
        )


@contextmanager
def locked(tree: Tree) -> Iterator[None]:
    """One transaction at a time."""
    place = tree.place(LOCK)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except PermissionError as error:
        raise MissingError(
            f"{place} may not be written by this user", next_step="run as root"
        ) from error


def recover(tree: Tree) -> list[Status]:
    """Roll back whatever was cut short, or whose time or owner has ended; what was rolled back.

    Called before every command: what a killed process left behind stays no longer than that.
    RestoreError as for `roll_back`, once all were tried.
    """
    if any(os.access(folder, os.W_OK) for folder in unbegun(tree)):
        with locked(tree):  # under which nobody is about to begin
            for folder in unbegun(tree):
                shutil.rmtree(folder)
    if not any(found.is_over or found.is_half for found in statuses(tree)):
        return []
    done: list[Status] = []
    errors: list[AssayError] = []
    with locked(tree):
        # Under the lock nobody is at work, so what is half done was cut short.
        for found in reversed(statuses(tree)):
            if found.is_over or found.is_half:
                try:
                    done.append(_roll_back(Journal.open(tree, found.name), tree))
                except AssayError as error:
                    errors.append(error)
    if errors:
        raise errors[0]
    return done


def owner_of(pid: int) -> str:
    """A process, by its number and its start, so that another with the number is not it."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return f"{pid}:{stat[19]}"


def _lives(owner: str) -> bool:
    try:
        return owner_of(int(owner.partition(":")[0])) == owner
    except (OSError, ValueError):
        return False


def _refuse_unfinished(tree: Tree) -> None:
    for found in statuses(tree):
        if found.state in OPEN and found.got:
            raise InputError(
                f"transaction {found.name} is {found.state}",
                next_step=f"`assay host rollback {found.name}` first",
            )


def _refuse_held(plan: Plan, tree: Tree) -> None:
    """What one process has changed for its own life no other changes meanwhile: whichever ended
    first would leave the other's value behind."""
    wanted = {item.path for item in plan.items}
    for found in statuses(tree):
        if found.state != "applied" or found.owner is None or not _lives(found.owner):
            continue
        held = sorted(wanted & {item.path for item in found.plan.items})
        if held:
            pid = found.owner.partition(":")[0]
            raise MissingError(
                f"{held[0]} is changed by another run, of process {pid}, until that is over",
                next_step="wait for it; one study at a time changes a machine",
            )


def _roll_back(journal: Journal, tree: Tree) -> Status:
    found = status(journal)
    journal.write("rolling-back")
    is_same_boot = journal.plan.boot_id == identity(tree)[0]
    troubles = []
    for number in sorted(found.got, reverse=True):
        if found.outcomes.get(number, "held") != "held":
            continue
        item = journal.plan.items[number]
        ours = [item.new, *filter(None, [found.got[number]])]
        if number in found.begun:
            ours.append(item.old or "")
        journal.write("taking-back", item=number)
        try:
            outcome = _outcome(tree, item, ours, is_same_boot)
        except AssayError as error:
            troubles.append(error.message)
            continue
        journal.write("taken-back", item=number, outcome=outcome)
        if outcome == "held":
            troubles.append(f"{item.path}: pages are still in use")
    if troubles:
        raise RestoreError(
            "; ".join(troubles),
            next_step=f"end what uses them, then `assay host rollback {journal.plan.id}`",
        )
    journal.write("rolled-back")
    return status(journal)


def _outcome(tree: Tree, item: Item, ours: Sequence[str], is_same_boot: bool) -> str:
    """A kernel's values are gone with its boot; files of ours are not."""
    if item.kind != "file" and not is_same_boot:
        return "untouched"
    return steps.take_back(tree, item, ours)


def _shown(raw: str | None) -> str:
    return "not there" if raw is None else raw.strip() or "empty"
