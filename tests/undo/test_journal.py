"""The journal of a change: whole lines, in order, of a file that nobody else may write."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from assay.core.errors import RestoreError
from assay.undo import journal as journal_module
from assay.undo.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """One with two events."""
    made = Journal.create(tmp_path / "log", "begun", owner="1:2")
    made.append("writing", item=0)
    return made


def names(journal: Journal) -> list[str]:
    return [event["event"] for event in journal.events()]


def test_events_come_back_as_they_were_written(journal: Journal) -> None:
    """With their fields, in order; a journal that is not there has none."""
    assert journal.events() == [
        {"event": "begun", "owner": "1:2"},
        {"event": "writing", "item": 0},
    ]
    journal.remove()
    assert journal.events() == []


def test_a_journal_is_created_once_and_whole(journal: Journal) -> None:
    """A second one finds the first, and leaves nothing beside it."""
    with pytest.raises(FileExistsError):
        Journal.create(journal.path, "begun")
    assert names(journal) == ["begun", "writing"]
    assert list(journal.path.parent.iterdir()) == [journal.path]


def test_a_torn_last_line_has_not_happened(journal: Journal) -> None:
    """At whichever byte it was torn; the next line takes its place."""
    whole = journal.path.read_bytes()
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole)):
        journal.path.write_bytes(whole[:length])
        assert names(journal) == ["begun"], length
        journal.append("next")
        assert names(journal) == ["begun", "next"], length


def test_any_damaged_byte_before_the_last_line_is_said(journal: Journal) -> None:
    """A journal is never guessed at."""
    whole = journal.path.read_bytes()
    for at in range(whole.index(b"\n")):
        journal.path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(RestoreError, match="line 1: damaged"):
            journal.events()


def test_reserved_room_is_filled_and_is_no_event(journal: Journal) -> None:
    """The file does not grow while there is room in it."""
    journal.reserve(4096)
    size = journal.path.stat().st_size
    for number in range(20):
        journal.append("writing", item=number)
    assert journal.path.stat().st_size == size
    assert names(journal) == ["begun", *["writing"] * 21]


def test_a_full_disk_is_said_with_what_to_do(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No error of the system's own comes out."""

    def full(descriptor: int, data: bytes, at: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journal_module, "_write", full)
    with pytest.raises(RestoreError, match="No space left") as caught:
        journal.append("writing", item=1)
    assert "make room" in caught.value.next_step


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.chmod(0o666),
        lambda path: path.chmod(0o664),
        lambda path: os.truncate(path, 65 << 20),
        _link,
        _pipe,
    ],
    ids=["others write", "group writes", "too large", "link", "pipe"],
)
def test_a_file_that_others_may_have_written_is_not_obeyed(journal: Journal, spoil) -> None:
    """What it says is not read, and nothing is added to it."""
    spoil(journal.path)
    with pytest.raises(RestoreError):
        journal.events()
    with pytest.raises(RestoreError):
        journal.append("writing", item=1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_obeyed(journal: Journal) -> None:
    """Root obeys nobody's journal but its own."""
    os.chown(journal.path, 65534, 65534)
    with pytest.raises(RestoreError, match="belongs to user 65534"):
        journal.events()
