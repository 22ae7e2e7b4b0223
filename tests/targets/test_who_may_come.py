"""A private server is private: no other user of the machine gets in, and it has few rights itself.

The part of every target's contract that is about other users. The other user is simulated by
`setpriv`, so that needs root; that a login without the secret fails does not.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay import native
from assay.core.address import ServerAddress
from assay.core.errors import AssayError
from assay.linux.own_user import NUMBERS, may_read, own_user, write_own
from assay.targets import TARGETS
from assay.targets.servers.framework.process import as_user
from assay.targets.servers.framework.secret import mysql_hash, scram_verifier
from assay.targets.servers.framework.server import ServerRun
from fault_kit import cache, launch, temporary

__all__ = ["cache", "temporary"]

KINDS = [k for k, t in TARGETS.items() if t.protocol]
WITH_A_SECRET = ("mariadb", "postgresql", "redis", "valkey")
OF_NOBODY = 65533
"""A user of this machine who runs no server."""
ASKS = {"redis": "PING", "valkey": "PING", "memcached": "version", "nginx": "/file"}
REFUSED = {
    "mariadb": r"1045|Access denied|password",
    "postgresql": r"password|28P01|28000",
    "redis": r"NOAUTH|WRONGPASS|[Aa]uthentication|password",
    "valkey": r"NOAUTH|WRONGPASS|[Aa]uthentication|password",
    "memcached": r"[Pp]ermission denied",
    "duckdb": r"[Pp]ermission denied",
    "chdb": r"[Pp]ermission denied",
}
BEYOND = {
    "mariadb": [
        "SELECT 'x' INTO OUTFILE '{out}'",
        "SELECT * FROM mysql.global_priv",
        "CREATE USER another@localhost",
        "SET GLOBAL max_connections = 10",
    ],
    "postgresql": [
        "COPY (SELECT 1) TO PROGRAM 'touch {out}'",
        "COPY (SELECT 1) TO '{out}'",
        "SELECT pg_read_file('/etc/hostname')",
        "CREATE ROLE another",
        "ALTER SYSTEM SET work_mem = '1MB'",
    ],
    "redis": ["CONFIG SET dir /tmp", "ACL LIST", "FLUSHALL", "DEBUG SLEEP 0", "SAVE"],
    "valkey": ["CONFIG SET dir /tmp", "ACL LIST", "FLUSHALL", "DEBUG SLEEP 0", "SAVE"],
    "duckdb": [
        "SELECT content FROM read_text('/etc/hostname')",
        "COPY (SELECT 1) TO '{out}'",
        "SET enable_external_access = true",
        "SET threads = 1",
    ],
    "chdb": [
        "SELECT * FROM file('{closed}', 'LineAsString')",
        "INSERT INTO FUNCTION file('{out}', 'TabSeparated', 'a Int32') SELECT 1",
    ],
}
"""What is no business of the load's user, whoever knows the password."""


@pytest.fixture(autouse=True)
def here(request: pytest.FixtureRequest) -> None:
    """A library in a wheel may be left out of an installation."""
    kind = getattr(request.node, "callspec", None) and request.node.callspec.params.get("kind")
    if kind and TARGETS[kind].found().startswith("not here"):
        pytest.skip(TARGETS[kind].found())


@pytest.fixture
def server(kind: str, tmp_path: Path) -> Iterator[ServerRun]:
    """A private server of a kind, ready for its load."""
    found = TARGETS[kind].start(launch(kind), tmp_path / "log")
    try:
        yield found
    finally:
        found.stop()


def asked(target: ServerAddress, *asks: str, user: int | None = None) -> list[native.Rows]:
    """What a server answers to a user of this machine."""
    return native.ask_server(target.request(), asks, before=as_user([], user))


def other_user() -> int:
    """Somebody else."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    return OF_NOBODY


@pytest.mark.parametrize("kind", REFUSED)
def test_another_user_without_the_secret_is_refused(kind: str, server: ServerRun) -> None:
    """As the load's user and as Assay's own, with no password and with a wrong one."""
    user, started = other_user(), server._started
    for door in (started.target, started.admin):
        for password in (None, "a-guess") if kind in WITH_A_SECRET else (None,):
            with pytest.raises(AssayError, match=f"{REFUSED[kind]}|[Pp]ermission denied"):
                asked(replace(door, password=password), ASKS.get(kind, "SELECT 1"), user=user)


@pytest.mark.parametrize("kind", WITH_A_SECRET)
def test_a_login_without_the_secret_fails_for_everybody(kind: str, server: ServerRun) -> None:
    """Also for the user who started it, over TCP; with it, it works."""
    target = server._started.target
    assert asked(target, ASKS.get(kind, "SELECT 1"))
    for user, password in ((target.user, None), (target.user, "a-guess"), ("root", None)):
        with pytest.raises(AssayError, match=REFUSED[kind]):
            asked(replace(target, user=user, password=password), ASKS.get(kind, "SELECT 1"))


@pytest.mark.parametrize("kind", ["nginx"])
def test_of_nginx_another_user_gets_the_file_and_its_counts(kind: str, server: ServerRun) -> None:
    """It has no login: what it serves is made of x, and whoever is on the machine may have it."""
    (((body,),),) = asked(server._started.target, "/file", user=other_user())
    assert set(body or "") == {"x"}
    with pytest.raises(AssayError, match=r"40[04]"):
        asked(server._started.target, "/../nginx.conf", user=other_user())


@pytest.mark.parametrize("kind", KINDS)
def test_no_process_of_a_server_is_roots(kind: str, server: ServerRun) -> None:
    """Each is of a user that has no name and nothing else; without root it is ours."""
    server.read_back()
    users = {number for pid in tree(server.pid or 0) for number in users_of(pid)}
    if os.geteuid() == 0:
        assert len(users) == 1
        assert users <= set(NUMBERS)
    else:
        assert users == {os.geteuid()}


def tree(pid: int) -> list[int]:
    """A process and its children."""
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in below for one in tree(int(child)))]


def users_of(pid: int) -> set[int]:
    """The real, effective, saved and file system's user of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("Uid:")]
    return {int(word) for word in line.split()[1:]}


@pytest.mark.parametrize("kind", WITH_A_SECRET)
def test_the_secret_is_in_no_argument_environment_log_or_bundle(
    kind: str, server: ServerRun, tmp_path: Path
) -> None:
    """Of the server, of its load, and of what a run leaves; and it is another each time."""
    secrets = server._started.place.secrets
    seen: list[str] = []

    def look(done: int, spent: float) -> None:
        own = Path("/proc/self/task")
        children = [p for t in own.iterdir() for p in (t / "children").read_text().split()]
        for pid in {*map(int, children), *tree(server.pid or 0)}:
            for name in ("cmdline", "environ"):
                with contextlib.suppress(OSError):
                    seen.append(Path(f"/proc/{pid}/{name}").read_bytes().decode("utf-8", "replace"))

    server.measure(look)
    assert any("load" in text for text in seen)
    seen += [(tmp_path / "log").read_text(), json.dumps(server.evidence(), default=str)]
    seen.append(repr(server._started.place) + repr(server._started.target))
    for secret in (secrets.load, secrets.admin):
        assert not [text for text in seen if secret in text]
    again = TARGETS[kind].start(launch(kind), tmp_path / "again")
    again.stop()
    assert again._started.place.secrets != secrets


@pytest.mark.parametrize("kind", BEYOND)
def test_the_loads_user_has_rights_on_its_own_data_only(
    kind: str, server: ServerRun, temporary: Path, tmp_path: Path
) -> None:
    """What reaches files, accounts, settings or programs is refused, and nothing is written."""
    out = temporary / "out"
    temporary.chmod(0o777)
    closed = tmp_path / "closed"
    closed.write_text("a secret of root")
    closed.chmod(0o600)
    if kind == "chdb" and os.geteuid() != 0:
        pytest.skip("its functions of files have the rights of whoever runs it")
    if kind == "chdb":
        temporary.chmod(0o755)
    for ask in BEYOND[kind]:
        with pytest.raises(AssayError):
            asked(server._started.target, ask.format(out=out, closed=closed))
    assert not out.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_server_has_is_closed_to_others(kind: str, server: ServerRun) -> None:
    """Its folder, and in it the files that say who may come."""
    folder, place = server._started.folder, server._started.place
    assert folder is not None
    assert folder.stat().st_mode & 0o777 == 0o700
    for name in server._started.adapter.files(place):
        assert (folder / name).stat().st_mode & 0o777 == 0o600
    if os.geteuid() == 0:
        assert folder.stat().st_uid == place.user


def test_a_file_of_a_servers_own_is_written_through_no_link(tmp_path: Path) -> None:
    """What stands there is taken away, and never written to."""
    theirs = tmp_path / "theirs"
    theirs.write_text("kept")
    (tmp_path / "own").symlink_to(theirs)
    write_own(tmp_path / "own", "secret", own_user())
    assert theirs.read_text() == "kept"
    assert not (tmp_path / "own").is_symlink()


def test_a_program_below_a_closed_folder_is_known_as_such(tmp_path: Path) -> None:
    """As builds in root's cache are."""
    program = tmp_path / "program"
    program.write_text("")
    program.chmod(0o755)
    tmp_path.chmod(0o700)
    assert may_read(program, None)
    assert not may_read(program, OF_NOBODY)


def test_hashes_are_those_that_servers_document() -> None:
    """MySQL's manual has the first; PostgreSQL's has the form of the second."""
    assert mysql_hash("mypass") == "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4"
    parts: list[Any] = scram_verifier("x").split("$")
    assert parts[0] == "SCRAM-SHA-256"
    assert parts[1].startswith("1:")
