"""Which server is meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.core.errors import InputError, MissingError
from assay.diagnosis import find_subject
from assay.diagnosis import subject as module


def test_a_number_is_a_process() -> None:
    """This one has its threads and is no target."""
    found = find_subject(str(os.getpid()))
    assert found.pid == os.getpid()
    assert found.threads >= 1
    assert found.kind == ""
    assert "python" in found.executable


@pytest.mark.parametrize(
    ("who", "url", "match"),
    [
        ("", "", "which server"),
        ("999999999", "", "no process 999999999"),
        ("no-such-server", "", "no process is called no-such-server"),
        ("", "no://where", "not the address of a server"),
        ("1", "redis://:secret@127.0.0.1:6379", "--attach: attach holds a password"),
    ],
)
def test_what_is_not_there_is_said(who: str, url: str, match: str) -> None:
    """With what to give in its place."""
    with pytest.raises(InputError, match=match) as error:
        find_subject(who, url)
    assert error.value.next_step


def test_an_address_on_another_machine_has_no_process_here() -> None:
    """And one at which nobody listens neither."""
    with pytest.raises(MissingError, match="on another machine"):
        find_subject("", "redis://db.example:6379")
    with pytest.raises(MissingError, match="cannot be seen"):
        find_subject("", "redis://127.0.0.1:1")


def test_a_name_is_the_first_of_those_that_descend_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A postmaster and its backends are one server; two postmasters are asked about."""
    parents = {10: 1, 11: 10, 12: 10, 20: 1}
    monkeypatch.setattr(module, "_processes", lambda: [10, 11, 12])
    monkeypatch.setattr(module, "_comm", lambda pid: "postgres")
    monkeypatch.setattr(module, "_exe", lambda pid: "postgres")
    monkeypatch.setattr(module, "parent", parents.__getitem__)
    assert module._named("postgres") == 10
    assert module._named("postgresql") == 10
    monkeypatch.setattr(module, "_processes", lambda: list(parents))
    with pytest.raises(InputError, match="2 servers are called postgres") as error:
        module._named("postgres")
    assert "10, 20" in error.value.next_step


def test_where_a_process_listens_is_seen_by_its_sockets(tmp_path: Path) -> None:
    """Ports of TCP, and Unix sockets with a path."""
    import socket

    from assay.linux.procfs import listening

    path = str(tmp_path / "s")
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        unix.bind(path)
        unix.listen()
        found = listening(os.getpid())
        assert tcp.getsockname()[1] in found.ports
        assert path in found.sockets
