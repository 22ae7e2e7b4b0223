"""Redis as a target: real servers, started and ended by the tests."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from assay.changes import CATALOGUE
from assay.core.errors import MissingError, RunError
from assay.targets.servers.framework.target import ServerTarget
from assay.targets.servers.redis import REDIS
from server_kit import KEYS, Forgetful, Unread, launch, own_folders, redis

__all__ = ["own_folders"]


def judged(change: str, level: str, evidence) -> bool:
    """Whether the change's witness holds."""
    found = CATALOGUE[change].level(level)
    return CATALOGUE[change].witness.judge(found.name, found.application.settings, evidence).held


def run(target: ServerTarget, made, log: Path):
    """One run: what was read back, measured and seen."""
    server = target.start(made, log)
    try:
        return server.read_back(), server.measure(lambda done, spent: None), server.evidence()
    finally:
        server.stop()


def test_a_run_finds_every_key_and_says_what_the_server_itself_cost(tmp_path: Path) -> None:
    """Its counters are the window's, and its CPU time its own process's."""
    _, measured, evidence = run(redis(), launch(), tmp_path / "log")
    assert measured.complete
    assert measured.errors == 0
    counters, operations = measured.counters, measured.operations
    assert counters["keyspace_misses"] == 0
    assert counters["calls.get"] == pytest.approx(operations, rel=0.5)
    assert counters["calls.get"] <= counters["requests"] + operations
    assert measured.metrics["cpu_per_operation"] * operations == pytest.approx(
        counters["server.cpu_s"] * 1e9
    )
    told = counters["used_cpu_sys"] + counters["used_cpu_user"]
    assert counters["server.cpu_s"] == pytest.approx(told, rel=0.5)
    assert measured.metrics["resident_bytes"] > 1 << 20
    assert counters["reset_s"] > 0
    assert evidence.operations == operations
    assert "assay: reset" in (tmp_path / "log").read_text()


def test_data_are_made_once_and_no_run_sees_what_another_wrote(tmp_path: Path) -> None:
    """The second run starts from the same copy, without what the first has written."""
    folder = tmp_path / "cache" / "assay" / "data"
    target, log = redis(), tmp_path / "log"
    made = launch("redis-set", {**KEYS, "keys": 50})
    server = target.start(made, log)
    try:
        server._started.ask("SET mine 1", "SAVE")
        assert server._started.ask("DBSIZE") == [[["51"]]]
    finally:
        server.stop()
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    server = target.start(made, log)
    try:
        assert server._started.ask("DBSIZE") == [[["50"]]]
    finally:
        server.stop()
    assert before == {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    assert len([p for p in folder.iterdir() if p.name != ".turn"]) == 1


def test_with_an_append_only_file_the_data_are_there_too(tmp_path: Path) -> None:
    """It shapes the data: they are made with it."""
    made = launch("redis-set", appendonly=True, appendfsync="always")
    read, measured, _ = run(redis(), made, tmp_path / "log")
    assert read["appendfsync"] == "always"
    assert measured.operations > 0
    server = redis().start(made, tmp_path / "log")
    try:
        assert server._started.ask("DBSIZE") == [[[str(KEYS["keys"])]]]
    finally:
        server.stop()


def test_ycsb_finds_its_records(tmp_path: Path) -> None:
    """Records are part of the prepared data."""
    small = {"mix": "c", "records": 1000, "fields": 2}
    _, measured, _ = run(redis(), launch("ycsb", small), tmp_path / "log")
    assert measured.errors == 0
    assert measured.counters["keyspace_misses"] == 0
    assert measured.counters["keyspace_hits"] > 0


def test_a_mix_that_redis_cannot_do_is_refused_before_anything_starts() -> None:
    """And so are settings that the server itself refuses, and those it does not have."""
    with pytest.raises(Exception, match=r"mix is e"):
        redis().check(launch("ycsb", {"mix": "e"}))
    with pytest.raises(MissingError, match=r"modified Jemalloc|argument"):
        redis().check(launch(io_threads=100_000))
    with pytest.raises(Exception, match="has no setting io-thread"):
        redis().check(launch(io_thread=2))
    redis().check(launch(io_threads=2))


@pytest.mark.parametrize(
    ("change", "level", "other"),
    [
        ("redis.io_threads", "2", "1"),
        ("redis.appendfsync", "always", "everysec"),
        ("redis.appendfsync", "none", "no"),
        ("redis.thp", "on", "off"),
    ],
)
def test_a_witness_holds_with_its_level_and_not_with_another(
    change: str, level: str, other: str, tmp_path: Path
) -> None:
    """What was set is seen, and nothing else is."""
    settings = CATALOGUE[change].level(level).application.settings
    given = {n.replace("-", "_"): v for n, v in settings.items()}
    _, _, evidence = run(redis(), launch("redis-set", **given), tmp_path / "log")
    assert judged(change, level, evidence)
    assert not judged(change, other, evidence)


def test_a_witness_fails_when_the_setting_was_taken_out_by_hand(tmp_path: Path) -> None:
    """Even if the server were believed to have been told: the thread is not there."""
    lying = ServerTarget(Unread("io-threads", "io-threads-do-reads"))
    settings = {"io_threads": 2, "io_threads_do_reads": "yes"}
    _, _, evidence = run(lying, launch(**settings), tmp_path / "log")
    assert evidence.read_back["io-threads"] == 2
    assert not judged("redis.io_threads", "2", evidence)
    _, _, evidence = run(redis(), launch(**settings), tmp_path / "log")
    assert judged("redis.io_threads", "2", evidence)


def test_a_setting_that_the_server_reports_otherwise_fails_the_run(tmp_path: Path) -> None:
    """With both values."""
    server = ServerTarget(Forgetful("maxmemory")).start(launch(maxmemory="80mb"), tmp_path / "log")
    try:
        with pytest.raises(RunError, match=r"maxmemory = '0', but was given '80mb'"):
            server.read_back()
    finally:
        server.stop()


def test_sizes_and_flags_are_compared_by_meaning(tmp_path: Path) -> None:
    """Redis reports bytes and yes; a study may write otherwise."""
    made = launch(maxmemory="80mb", activerehashing=False, slowlog_max_len=129)
    server = redis().start(made, tmp_path / "log")
    try:
        found = server.read_back()
    finally:
        server.stop()
    assert found["maxmemory"] == "80mb"
    assert found["activerehashing"] is False
    assert found["slowlog-max-len"] == 129


def test_a_server_that_hangs_is_killed_at_the_end(tmp_path: Path) -> None:
    """It is asked, and then it is not asked any more."""
    server = redis().start(launch(), tmp_path / "log")
    os.kill(server._started.process.pid, signal.SIGSTOP)
    assert not server._started.process.stop(patience_s=0.1)
    server.stop()


def test_what_it_counts_are_counters_and_no_levels() -> None:
    """Numbers that go up and down would make nonsense of a difference."""

    def ask(*asks: str):
        lines = {
            "INFO stats": "a:5\r\ninstantaneous_ops_per_sec:7\r\n",
            "INFO cpu": "used_cpu_sys:0.5\r\nversion:x\r\n",
            "INFO commandstats": "cmdstat_get:calls=3,usec=9,usec_per_call=3.0\r\n",
        }
        return [[[lines[a]]] for a in asks]

    assert REDIS.counters(ask) == {"a": 5, "used_cpu_sys": 0.5, "calls.get": 3, "us.get": 9}


def test_a_stop_in_the_window_leaves_an_incomplete_run(tmp_path: Path) -> None:
    """As Ctrl-C does, of which the load hears and the server does not."""
    made = launch()
    made = type(made)(**{**made.__dict__, "window_s": 20.0, "interval_s": 0.1})
    server = redis().start(made, tmp_path / "log")
    try:
        loads = threading.Thread(target=_end_load, args=(os.getpid(),))
        loads.start()
        measured = server.measure(lambda done, spent: None)
        loads.join()
    finally:
        server.stop()
    assert not measured.complete


def _end_load(parent: int) -> None:
    """Ends `assayer load` once it runs: a child of this process by that name."""
    while True:
        time.sleep(0.2)
        for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"assayer") and words[1] == b"load":
                time.sleep(0.5)
                os.kill(int(pid), signal.SIGTERM)
                return
