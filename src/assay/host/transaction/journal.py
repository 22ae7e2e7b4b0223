"""What was done to a host, on disk before it is done: a folder for each transaction.

    /var/lib/assay/txn/ID/plan.json   the plan
                          log         one line an event: its CRC-32, a space, its JSON

Each line is on the disk before what it announces happens. A line that was not written
whole can only be the last one, and what it would have announced has not happened.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.core.errors import InputError, RestoreError
from assay.host.transaction.plan import Plan
from assay.linux.tree import Tree, sync_folder
from assay.undo.places import TRANSACTIONS

Event = dict[str, Any]


class Journal:
    """The journal of one transaction. `after_write` is called after each line: a seam for tests."""

    def __init__(
        self, folder: Path, plan: Plan, after_write: Callable[[], None] | None = None
    ) -> None:
        self.folder, self.plan = folder, plan
        self._after_write = after_write

    @classmethod
    def begin(
        cls, tree: Tree, plan: Plan, after_write: Callable[[], None] | None = None
    ) -> Journal:
        """A new one, with its plan; InputError if the plan was applied before."""
        folder = tree.place(TRANSACTIONS) / plan.id
        try:
            folder.mkdir(parents=True)
        except FileExistsError as error:
            raise InputError(
                f"plan {plan.id} was applied before", next_step="`assay host plan` makes another"
            ) from error
        _write(folder / "plan.json", plan.text())
        for parent in (folder, *list(folder.parents)[:3]):
            sync_folder(parent)
        return cls(folder, plan, after_write)

    @classmethod
    def open(cls, tree: Tree, name: str, after_write: Callable[[], None] | None = None) -> Journal:
        """One that is there; RestoreError if its plan cannot be read."""
        folder = tree.place(TRANSACTIONS) / name
        try:
            plan = Plan.parse((folder / "plan.json").read_text())
        except (OSError, ValueError) as error:
            raise RestoreError(
                f"{folder} has no readable plan: {error}",
                next_step="what it changed cannot be known; compare by hand",
            ) from error
        return cls(folder, plan, after_write)

    def write(self, event: str, **fields: Any) -> None:
        """Append an event; it is on the disk when this returns."""
        text = json.dumps({"event": event, **fields}, sort_keys=True)
        line = f"{zlib.crc32(text.encode()):08x} {text}\n"
        with (self.folder / "log").open("ab") as file:
            # A torn line before it would hide this one.
            kept = self._whole_bytes()
            if kept != file.tell():
                os.ftruncate(file.fileno(), kept)
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        if self._after_write is not None:
            self._after_write()

    def events(self) -> list[Event]:
        """All that were written whole, in order; RestoreError if one before the last is damaged."""
        lines = _lines(self.folder)
        found = [_parse(line) for line in lines]
        damaged = [number for number, event in enumerate(found) if event is None]
        if damaged and damaged != [len(found) - 1]:
            raise RestoreError(
                f"{self.folder / 'log'}, line {damaged[0] + 1}: damaged",
                next_step="compare the values in its plan.json with the host by hand",
            )
        return [event for event in found if event is not None]

    def _whole_bytes(self) -> int:
        lines = _lines(self.folder)
        if lines and _parse(lines[-1]) is None:
            lines.pop()
        return sum(map(len, lines))


def journals(tree: Tree) -> list[str]:
    """The names of all transactions, the oldest first."""
    folder = tree.place(TRANSACTIONS)
    if not folder.is_dir():
        return []
    return sorted(p.name for p in folder.iterdir() if (p / "plan.json").is_file())


def unbegun(tree: Tree) -> list[Path]:
    """Folders of transactions that never began: without a plan, or without a whole first event,
    nothing can have been changed."""
    folder = tree.place(TRANSACTIONS)
    if not folder.is_dir():
        return []
    return [p for p in folder.iterdir() if p.is_dir() and not _has_begun(p)]


def _has_begun(folder: Path) -> bool:
    lines = _lines(folder)
    is_torn = len(lines) == 1 and _parse(lines[0]) is None
    return (folder / "plan.json").is_file() and bool(lines) and not is_torn


def _lines(folder: Path) -> list[bytes]:
    try:
        return (folder / "log").read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []


def _parse(line: bytes) -> Event | None:
    if not line.endswith(b"\n"):
        return None
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    if checksum != f"{zlib.crc32(text):08x}".encode():
        return None
    return json.loads(text)


def _write(path: Path, text: str) -> None:
    """There whole or not at all: a folder without it is of a transaction that never began."""
    partial = path.with_suffix(".partial")
    with partial.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)
