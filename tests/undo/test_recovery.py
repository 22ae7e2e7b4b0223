"""The one recovery: everything abandoned is tried, whatever becomes of the rest."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from assay.core.errors import RestoreError
from assay.undo import places
from assay.undo.journal import Journal
from assay.undo.recovery import Abandoned, recover


def _fails(error: Exception) -> bool:
    raise error


def test_every_journal_is_tried_in_its_order() -> None:
    """One that fails, one that another process was faster with, and a kind that cannot look."""
    back: list[str] = []

    def brought(name: str) -> bool:
        back.append(name)
        return True

    def one() -> Iterator[Abandoned]:
        yield Abandoned("a", partial(brought, "a"))
        yield Abandoned("b", lambda: _fails(RestoreError("b is damaged", next_step="look")))
        yield Abandoned("c", lambda: False)
        yield Abandoned("d", lambda: _fails(OSError("no disk")))

    def blind() -> Iterator[Abandoned]:
        raise RestoreError("cannot look")

    def other() -> Iterator[Abandoned]:
        yield Abandoned("e", partial(brought, "e"))

    found = recover(one, blind, other)
    assert found.done == back == ["a", "e"]
    messages = [str(error) for error in found.failed]
    assert messages == ["b is damaged", "d could not be brought back: no disk", "cannot look"]
    with pytest.raises(RestoreError, match="b is damaged; d could not"):
        found.require_all()


def test_nothing_left_is_a_cheap_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is not complete yet is nothing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(places, "TRANSACTIONS", str(tmp_path / "txn"))
    assert not places.has_journals()
    places.attached().mkdir(parents=True)
    (places.attached() / ".x.journal.1").touch()
    assert not places.has_journals()
    (places.attached() / "x.journal").touch()
    assert places.has_journals()


def test_a_transaction_that_has_ended_is_nothing_to_bring_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays for `assay host status`, and costs the other commands no time."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(places, "TRANSACTIONS", str(tmp_path / "txn"))
    folder = tmp_path / "txn" / "1"
    folder.mkdir(parents=True)
    assert places.has_journals(), "it has no journal: it may have been cut short"
    journal = Journal.create(folder / "log", "begun", owner=None)
    journal.reserve(4096)
    for event in ("writing", "applied", "confirmed", "rolling-back", "rolled-back"):
        journal.append(event)
        assert places.has_journals() == (event not in ("confirmed", "rolled-back"))
    with (folder / "log").open("r+b") as file:
        file.truncate((folder / "log").read_bytes().rstrip(b"\0").rindex(b"\n"))
    assert places.has_journals(), "the line that says so was not written whole"


def test_a_folder_that_may_not_be_looked_into_holds_nothing_of_this_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home of somebody else is no traceback."""
    monkeypatch.setattr(places, "TRANSACTIONS", str(tmp_path / "txn"))
    monkeypatch.setattr(places, "attached", lambda: Forbidden(tmp_path))
    assert not places.has_journals()


class Forbidden(type(Path())):  # type: ignore[misc]
    """A folder of another user; root may look into any."""

    def glob(self, pattern: str) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied", str(self))
