"""What was done to a host, on disk before it is done: a folder for each transaction.

/var/lib/assay/txn/ID/plan.json   the plan
                      log         its journal (`undo/journal.py`)
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from assay.core.errors import InputError, MissingError, RestoreError
from assay.host.transaction.plan import HostPlan
from assay.linux.tree import Tree
from assay.undo.files import MODE, read_trusted, sync_folder
from assay.undo.journal import Journal
from assay.undo.places import SHOWN, TRANSACTIONS

ITEM_BYTES, PLAN_BYTES = 2048, 8192
"""Room in a journal for the events of an item, and of a plan, applied and rolled back. They hold
the value that was read."""


class Transaction:
    """The folder of one transaction. `after_append` is called after each line of its journal."""

    def __init__(
        self, folder: Path, plan: HostPlan, after_append: Callable[[], None] | None = None
    ) -> None:
        self.folder, self.plan = folder, plan
        self.journal = Journal(folder / "log", after_append)

    @classmethod
    def begin(
        cls, tree: Tree, plan: HostPlan, after_append: Callable[[], None] | None = None
    ) -> Transaction:
        """A new one, with its plan and with room for its journal.

        InputError if the plan was applied before; MissingError if the disk has no room for it.
        """
        folder = tree.place(TRANSACTIONS) / plan.id
        found = cls(folder, plan, after_append)
        try:
            folder.mkdir(parents=True)
        except FileExistsError as error:
            raise InputError(
                f"plan {plan.id} was applied before", next_step="`assay host plan` makes another"
            ) from error
        except OSError as error:
            raise _no_room(folder, error.strerror or "") from error
        try:
            _write(folder / "plan.json", plan.text())
            for parent in (folder, *list(folder.parents)[:3]):
                sync_folder(parent)
            found.journal.reserve(PLAN_BYTES + ITEM_BYTES * len(plan.items))
        except (OSError, RestoreError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise _no_room(folder, str(error)) from error
        return found

    @classmethod
    def open(
        cls, tree: Tree, name: str, after_append: Callable[[], None] | None = None
    ) -> Transaction:
        """One that is there; RestoreError if its plan cannot be read."""
        folder = tree.place(TRANSACTIONS) / name
        try:
            plan = HostPlan.parse(read_trusted(folder / "plan.json").decode())
        except (OSError, ValueError) as error:
            raise RestoreError(
                f"{folder} has no readable plan: {error}",
                next_step="what it changed cannot be known; compare by hand, then remove it",
            ) from error
        return cls(folder, plan, after_append)


def names(tree: Tree) -> list[str]:
    """The names of all transactions, the oldest first."""
    return sorted(folder.name for folder in _folders(tree) if (folder / "plan.json").is_file())


def unbegun(tree: Tree) -> list[Path]:
    """Folders of transactions that never began: without a plan, or without a whole first event,
    nothing can have been changed."""
    return [folder for folder in _folders(tree) if not _has_begun(folder)]


def _folders(tree: Tree) -> list[Path]:
    place = tree.place(TRANSACTIONS)
    return [p for p in place.glob(SHOWN) if p.is_dir()] if place.is_dir() else []


def _has_begun(folder: Path) -> bool:
    """True where the journal cannot be read."""
    try:
        return (folder / "plan.json").is_file() and bool(Journal(folder / "log").events())
    except RestoreError:
        return True


def _write(path: Path, text: str) -> None:
    """A new file, on the disk when this returns and there whole or not at all."""
    partial = path.with_suffix(".partial")
    with partial.open("w") as file:
        os.fchmod(file.fileno(), MODE)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)


def _no_room(folder: Path, why: str) -> MissingError:
    return MissingError(
        f"{folder} cannot be made: {why}; nothing was changed",
        next_step="make room there; as a normal user, run it as root",
    )
