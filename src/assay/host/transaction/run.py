"""Transactions: applied whole or not at all, and brought back whatever happened meanwhile.

The state is not stored; it is derived from the journal:

    begun -> applying -> applied -> confirmed
                 \\-> rolling-back -> rolled-back      (held: a pool is still in use)

An item is announced before it is written. So recovery after a crash looks at each
announced item: as before (the write never happened, or was taken back), as written
(bring it back), or otherwise (another program changed it: left alone, and reported).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from assay.core.errors import AssayError, InputError, MissingError, RestoreError
from assay.host.transaction import steps
from assay.host.transaction.folder import Transaction, names, unbegun
from assay.host.transaction.plan import HostPlan, Item, current, identity
from assay.host.transaction.writable import HostTree
from assay.linux import processes
from assay.linux.tree import Tree
from assay.undo.journal import Event
from assay.undo.places import LOCK
from assay.undo.recovery import Abandoned

PATIENCE_S = 120.0
"""How long a transaction waits for another one: pools may take seconds to grow."""

State = Literal[
    "begun", "applying", "applied", "confirmed", "rolling-back", "rolled-back", "damaged"
]
OPEN: tuple[State, ...] = ("begun", "applying", "rolling-back")
"""States in which a transaction can only be rolled back."""


@dataclass(frozen=True)
class Status:
    """A transaction as its journal has it. `until` is when a lease ends, in seconds since 1970."""

    name: str
    plan: HostPlan
    """Without items if it cannot be read."""
    state: State
    until: float | None = None
    owner: str | None = None
    """The process for whose life it is meant, as `processes.identity` names it."""
    outcomes: dict[int, str] = field(default_factory=dict)
    """By item, how it was brought back."""
    got: dict[int, str | None] = field(default_factory=dict)
    """By announced item, what was read after it was written; None if it was never read."""
    begun: frozenset[int] = frozenset()
    """Items of which bringing back was announced: it may be half done."""
    fault: RestoreError | None = None
    """Why the state cannot be known; None unless it is "damaged"."""

    @property
    def is_over(self) -> bool:
        """Whether it is to be rolled back: its lease has ended without a word, or its owner."""
        if self.state == "applied" and self.until is not None and time.time() >= self.until:
            return True
        is_orphan = self.owner is not None and not processes.is_alive(self.owner)
        return is_orphan and self.state not in ("confirmed", "rolled-back", "damaged")

    @property
    def is_half(self) -> bool:
        """Whether it was cut short, unless a process still works on it."""
        return self.state in OPEN


def status(transaction: Transaction) -> Status:
    """What the journal of a transaction says; RestoreError if it is damaged."""
    try:
        return _status(transaction, transaction.journal.events())
    except (KeyError, TypeError, IndexError) as error:
        raise RestoreError(
            f"{transaction.journal.path} is no journal of a transaction: {error!r}",
            next_step="compare the values in its plan.json with the host by hand, then remove it",
        ) from error


def _status(transaction: Transaction, events: Sequence[Event]) -> Status:
    state: State = "begun"
    until: float | None = None
    owner: str | None = None
    outcomes: dict[int, str] = {}
    got: dict[int, str | None] = {}
    begun: set[int] = set()
    for event in events:
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
    plan = transaction.plan
    return Status(plan.id, plan, state, until, owner, outcomes, got, frozenset(begun))


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
    """All transactions, the oldest first; one that cannot be read is "damaged"."""
    return [_status_of(tree, name) for name in names(tree)]


def _status_of(tree: Tree, name: str) -> Status:
    plan = HostPlan(id=name, boot_id="", kernel="", items=[])
    try:
        transaction = Transaction.open(tree, name)
        plan = transaction.plan
        return status(transaction)
    except RestoreError as fault:
        return Status(name, plan, "damaged", fault=fault)


def apply(
    plan: HostPlan,
    tree: HostTree,
    *,
    lease_s: float | None = None,
    owner: int | None = None,
    after_append: Callable[[], None] | None = None,
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
        transaction = Transaction.begin(tree, plan, after_append)
        journal = transaction.journal
        try:
            journal.append("begun", owner=None if owner is None else processes.identity(owner))
            for number, item in enumerate(plan.items):
                journal.append("writing", item=number)
                journal.append("written", item=number, got=steps.put(tree, item))
            until = None if lease_s is None else time.time() + lease_s
            journal.append("applied", until=until)
        except AssayError as error:
            _roll_back(transaction, tree)
            raise MissingError(
                f"{error.message}; all else was brought back", next_step=error.next_step
            ) from error
        except KeyboardInterrupt:
            # A pool may take seconds to grow.
            _roll_back(transaction, tree)
            raise
        return status(transaction)


def confirm(tree: HostTree, name: str, after_append: Callable[[], None] | None = None) -> Status:
    """What was applied on trial stays; InputError if there is nothing to confirm."""
    with locked(tree):
        transaction = Transaction.open(tree, name, after_append)
        found = status(transaction)
        if found.state != "applied":
            raise InputError(f"{name} is {found.state}", next_step="only what is applied is")
        transaction.journal.append("confirmed")
        return status(transaction)


def roll_back(tree: HostTree, name: str, after_append: Callable[[], None] | None = None) -> Status:
    """Bring back what a transaction changed, the last item first; idempotent.

    RestoreError if a pool is still in use, a value is not taken or the journal cannot be written:
    what can be is brought back.
    """
    with locked(tree):
        transaction = Transaction.open(tree, name, after_append)
        found = status(transaction)
        return found if found.state == "rolled-back" else _roll_back(transaction, tree)


def forget(tree: HostTree, name: str) -> None:
    """Remove the journal of a transaction that was rolled back or never began; any other stays.
    None is fine."""
    with locked(tree):
        for folder in unbegun(tree):
            shutil.rmtree(folder)
        if name not in names(tree):
            return
        transaction = Transaction.open(tree, name)
        if status(transaction).state == "rolled-back":
            shutil.rmtree(transaction.folder)


def check(plan: HostPlan, tree: Tree) -> None:
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
    """One transaction at a time. MissingError if this user may not change the host, or if another
    transaction takes longer than PATIENCE_S; nobody but its owner can hold the lock."""
    place = tree.place(LOCK)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(place, flags, 0o600)
    except OSError as error:
        is_root = os.geteuid() == 0
        raise MissingError(
            f"{place} may not be written by this user: {error.strerror}",
            next_step=f"make {place.parent} writable" if is_root else "run as root",
        ) from error
    try:
        _wait_for_turn(descriptor, place)
        yield
    finally:
        os.close(descriptor)


def _wait_for_turn(descriptor: int, place: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace") or "?"
                raise MissingError(
                    f"process {holder} holds {place} since {PATIENCE_S:.0f} s",
                    next_step="wait for it, or end it: what it changed is then brought back",
                ) from None
            time.sleep(0.02)
            continue
        with suppress(OSError):  # a full disk stops no rollback
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        return


def abandoned(tree: HostTree) -> Iterable[Abandoned]:
    """Transactions that were cut short, or whose time or owner has ended, the latest first; and
    damaged ones, which only a person can judge. Folders of those that never began are removed."""
    if any(os.access(folder, os.W_OK) for folder in unbegun(tree)):
        with locked(tree):  # under which no transaction begins
            for folder in unbegun(tree):
                shutil.rmtree(folder)
    for found in reversed(statuses(tree)):
        if found.state == "damaged" or found.is_over or found.is_half:
            yield Abandoned(f"host transaction {found.name}", partial(_recovered, tree, found.name))


def _recovered(tree: HostTree, name: str) -> bool:
    """Under the lock no other process works, so what is half done was cut short."""
    found = _status_of(tree, name)
    if found.fault is not None:
        raise found.fault
    with locked(tree):
        found = _status_of(tree, name)
        if not (found.is_over or found.is_half):
            return False
        _roll_back(Transaction.open(tree, name), tree)
        return True


def _refuse_unfinished(tree: Tree) -> None:
    for found in statuses(tree):
        if found.state in OPEN and found.got:
            raise InputError(
                f"transaction {found.name} is {found.state}",
                next_step=f"`assay host rollback {found.name}` first",
            )


def _refuse_held(plan: HostPlan, tree: Tree) -> None:
    """What is changed for a while no other transaction changes meanwhile: whichever ended first
    would leave the other's value behind."""
    wanted = _paths(plan)
    for found in statuses(tree):
        held = sorted(wanted & _paths(found.plan))
        if not held or found.state != "applied":
            continue
        if found.owner is None:
            raise InputError(
                f"{held[0]} is changed by transaction {found.name}, which is not confirmed",
                next_step=f"`assay host confirm {found.name}` or `assay host rollback "
                f"{found.name}` first",
            )
        if processes.is_alive(found.owner):
            pid = found.owner.partition(":")[0]
            raise MissingError(
                f"{held[0]} is changed by another run, of process {pid}, until that is over",
                next_step="wait for it; one study at a time changes a machine",
            )


def _paths(plan: HostPlan) -> set[str]:
    return {path for item in plan.items for path in (item.path, *item.watch)}


class _Notes:
    """Events of a rollback. It goes on without a journal that cannot be written, since it looks at
    each value before it touches it."""

    def __init__(self, transaction: Transaction) -> None:
        self._journal = transaction.journal
        self.fault: RestoreError | None = None

    def add(self, event: str, **fields: Any) -> None:
        try:
            self._journal.append(event, **fields)
        except RestoreError as error:
            self.fault = self.fault or error


def _roll_back(transaction: Transaction, tree: HostTree) -> Status:
    found, plan, notes = status(transaction), transaction.plan, _Notes(transaction)
    notes.add("rolling-back")
    is_same_boot = plan.boot_id == identity(tree)[0]
    troubles = []
    for number in sorted(found.got, reverse=True):
        if found.outcomes.get(number, "held") != "held":
            continue
        item = plan.items[number]
        ours = [item.new, *filter(None, [found.got[number]])]
        if number in found.begun:
            ours.append(item.old or "")
        notes.add("taking-back", item=number)
        try:
            outcome = _outcome(tree, item, ours, is_same_boot)
        except AssayError as error:
            troubles.append(error.message)
            continue
        notes.add("taken-back", item=number, outcome=outcome)
        if outcome == "held":
            troubles.append(f"{item.path}: pages are still in use")
    if troubles:
        raise RestoreError(
            "; ".join(troubles),
            next_step=f"end what uses them, then `assay host rollback {plan.id}`",
        )
    notes.add("rolled-back")
    if notes.fault is not None:
        raise RestoreError(
            f"every value is back, but {notes.fault.message}", next_step=notes.fault.next_step
        )
    return status(transaction)


def _outcome(tree: HostTree, item: Item, ours: Sequence[str], is_same_boot: bool) -> str:
    """A kernel's values are gone with its boot; files of ours are not."""
    if item.kind != "file" and not is_same_boot:
        return "untouched"
    return steps.take_back(tree, item, ours)


def _shown(raw: str | None) -> str:
    return "not there" if raw is None else raw.strip() or "empty"
