"""Questions to real servers, and what a load says of the server's own processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
import servers

from assay import native
from assay.core.errors import InputError, MissingError, RunError
from assay.load import Load, ask, clean, parse_url, prepare


@pytest.fixture(scope="module")
def mariadb() -> Iterator[servers.Server]:
    """A MariaDB."""
    with servers.mariadb() as server:
        yield server


@pytest.fixture(scope="module")
def postgresql() -> Iterator[servers.Server]:
    """A PostgreSQL."""
    with servers.postgresql() as server:
        yield server


def test_mariadb_answers_with_texts_and_nulls(mariadb: servers.Server):
    """Several questions over one connection, also such as no prepared statement could be."""
    one, variables, none = ask(
        mariadb.url,
        "SELECT 1, -2.50, NULL, '', REPEAT('ä', 300)",
        "SHOW VARIABLES LIKE 'port'",
        "SELECT 1 FROM DUAL WHERE 1 = 0",
    )
    assert one == [["1", "-2.50", None, "", "ä" * 300]]
    assert variables == [["port", str(mariadb.port)]]
    assert none == []
    with pytest.raises(RunError, match="1064"):
        ask(mariadb.url, "SELEC 1")


def test_postgresql_answers_with_texts_and_nulls(postgresql: servers.Server):
    """Booleans, numbers and arrays are as the server writes them."""
    one, settings, done = ask(
        postgresql.url,
        "SELECT 1, -2.50, NULL, true, ARRAY[1,2], ''",
        "SHOW port",
        "SET work_mem = '5MB'",
    )
    assert one == [["1", "-2.50", None, "t", "{1,2}", ""]]
    assert settings == [[str(postgresql.port)]]
    assert done == []
    with pytest.raises(RunError, match="42601"):
        ask(postgresql.url, "SELEC 1")


def test_redis_answers_with_a_row_for_each_element(redis: servers.Server):
    """Commands are typed as to redis-cli, and connections keep their order."""
    said = ask(redis.url, "SET 'a b' \"1\\n\"", "GET 'a b'", "GET none", "CONFIG GET port")
    assert said == [[["OK"]], [["1\n"]], [[None]], [["port", str(redis.port)]]]
    with pytest.raises(RunError, match="unknown command"):
        ask(redis.url, "NOSUCH")
    with pytest.raises(InputError, match="not a command"):
        ask(redis.url, "GET 'open")


def test_a_web_server_answers_with_the_body(nginx: servers.Server):
    """And a file that is not there is an error."""
    assert ask(nginx.url, "/file", "/file") == [[["x" * 512]], [["x" * 512]]]
    with pytest.raises(RunError, match="404"):
        ask(nginx.url, "/nowhere")


def test_where_nobody_listens_the_server_is_missing():
    """Not the question is at fault."""
    port = servers.free_port()
    with pytest.raises(MissingError):
        ask(f"redis://127.0.0.1:{port}", "PING")


def test_keys_of_single_commands_are_made_and_taken_away(redis: servers.Server):
    """All of them, and no other."""
    load = Load(parse_url(redis.url), "redis-get", {"keys": 2345, "value_bytes": 7})
    ask(redis.url, "FLUSHALL", "SET other 1")
    assert prepare(load).rows == 2345
    assert ask(redis.url, "DBSIZE", "STRLEN key:000000002344") == [[["2346"]], [["7"]]]
    clean(load)
    assert ask(redis.url, "DBSIZE") == [[["1"]]]


def run(server: servers.Server, **more: object) -> tuple[native.Health, native.RunResult]:
    """A short load that is told of processes."""
    load = Load(parse_url(server.url), "redis-get", connections=8, time_s=0.5, warmup_s=0.1)
    session = native.Session("load", {**load.request(), **more})
    try:
        found = {type(message): message for message in session.messages()}
    finally:
        session.stop()
    return found[native.Health], found[native.RunResult]


def test_a_servers_work_is_told_from_everybody_elses(redis: servers.Server):
    """Busy CPUs are the client's, the server's and foreign ones; only the last disturb."""
    for field in ({"server_pid": redis.pid}, {"beside_pids": [redis.pid]}):
        before = _used(redis)
        health, result = run(redis, **field)
        used = _used(redis) - before
        busy = sum(cpu.busy for cpu in result.cpus) * result.window_s
        client = sum(thread.cpu_s for thread in result.threads)
        server = used if result.server is None else result.server.cpu_s
        assert server > 0.02
        assert used >= 0.9 * server
        foreign = max(busy - client - server, 0.0) / result.window_s
        assert health.foreign_cpu == pytest.approx(foreign, abs=0.3)
        assert (result.server is None) == ("beside_pids" in field)


def _used(redis: servers.Server) -> float:
    lines = ask(redis.url, "INFO cpu")[0][0][0].splitlines()
    found = dict(line.split(":") for line in lines if ":" in line)
    return float(found["used_cpu_sys"]) + float(found["used_cpu_user"])


def test_a_server_of_many_processes_is_all_of_them(postgresql: servers.Server):
    """A process a connection; shared memory counts once in the proportional share."""
    load = Load(parse_url(postgresql.url), "oltp-point-select", connections=5, time_s=0.5)
    prepare(replace(load, options={"table_size": 1000}))
    request = replace(load, options={"table_size": 1000}).request()
    session = native.Session("load", {**request, "server_pid": postgresql.pid})
    *_, result = session.messages()
    session.stop()
    assert isinstance(result, native.RunResult)
    assert result.server is not None
    assert result.server.processes >= 6
    assert result.server.cpu_s > 0
    if result.server.pss_bytes is not None:
        assert result.server.pss_bytes < result.server.rss_bytes


def test_a_process_that_is_not_there_is_missing(redis: servers.Server):
    """Said before anything is measured."""
    with pytest.raises(MissingError, match="server_pid: there is no process"):
        run(redis, server_pid=_free_pid())


def _free_pid() -> int:
    return next(pid for pid in range(2, 1 << 22) if not os.path.exists(f"/proc/{pid}"))
