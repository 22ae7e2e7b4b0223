"""What real servers wait for: counted or sampled, told per operation, and found by a study."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.changes import CATALOGUE
from assay.core.errors import MissingError, RunError, StudyError
from assay.study import read
from assay.targets import TARGETS, Launch, Measured
from assay.targets.servers.mariadb import MARIADB
from assay.targets.servers.nginx import NGINX
from assay.targets.servers.postgresql import POSTGRESQL
from assay.targets.servers.postgresql_waits import Sampler
from assay.workloads import WORKLOADS

HOT = {"tables": 1, "table_size": 100, "distribution": "special"}
"""Three quarters of all updates meet one row."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared data, made once for all tests here."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


def run(kind: str, log: Path, workload: str, parameters: Mapping[str, Any], **given: Any):
    """One run: what was measured, and the evidence."""
    known = TARGETS[kind].settings
    settings = {n: p.default for n, p in known.items() if p.default is not None}
    takes = WORKLOADS[workload].parameters_for(kind)
    whole = {n: p.default for n, p in takes.items()} | dict(parameters)
    made = Launch({**settings, "connections": 8, **given}, workload, whole, 3, 0.1, 1.0)
    TARGETS[kind].check(made)
    server = TARGETS[kind].start(made, log)
    try:
        server.read_back()
        return server.measure(lambda done, spent: None), server.evidence()
    finally:
        server.stop()


def of_family(measured: Measured, family: str) -> dict[str, float]:
    """Members of a family of metrics, without zeros."""
    prefix = f"{family}."
    return {
        name.removeprefix(prefix): value
        for name, value in measured.metrics.items()
        if name.startswith(prefix) and value
    }


def test_a_mariadb_tells_acquisitions_and_waits_of_each_lock_per_operation(tmp_path: Path) -> None:
    """With its performance schema on, and nothing at all with it off."""
    log, on = tmp_path / "log", {"performance_schema": True}
    measured, _ = run("mariadb", log, "oltp-update-non-index", HOT, **on)
    taken = of_family(measured, "acquisitions_per_operation")
    waited = of_family(measured, "waited_per_operation")
    assert taken["innodb/index_tree_rw_lock"] > 0.5
    assert waited["innodb/lock_latch"] > 0
    assert taken["all"] == pytest.approx(sum(v for k, v in taken.items() if k != "all"))
    raw = {n: v for n, v in measured.counters.items() if n.startswith("waits.wait/synch/")}
    whole = sum(v for n, v in raw.items() if "/cond/" not in n)
    assert taken["all"] == pytest.approx(whole / measured.operations)
    measured, _ = run("mariadb", log, "oltp-update-non-index", HOT)
    assert not of_family(measured, "acquisitions_per_operation")
    assert not of_family(measured, "waited_per_operation")


def test_a_postgresql_is_looked_at_as_a_window_goes_on(tmp_path: Path) -> None:
    """Updates of one row wait for each other and for the log; without looks nothing is told."""
    log = tmp_path / "log"
    measured, evidence = run(
        "postgresql", log, "oltp-update-non-index", HOT, wait_samples=50, fsync=True
    )
    waited = of_family(measured, "waited_per_operation")
    assert waited["all"] == pytest.approx(sum(v for k, v in waited.items() if k != "all"))
    assert any(event.startswith(("Lock/", "LWLock/", "IO/")) for event in waited)
    # No more than all connections all the time; some of a closed loop's time is waiting.
    most = 8e9 * (measured.window_s + 1) / measured.operations
    assert 0 < waited["all"] < most
    assert 2 <= measured.counters["wait_samples"] <= 50 * 60
    assert measured.counters["sampler.busy_s"] > 0
    assert evidence.read_back["wait_samples"] == 50
    measured, _ = run("postgresql", log, "oltp-update-non-index", HOT, wait_samples=0)
    assert not of_family(measured, "waited_per_operation")
    assert "wait_samples" not in measured.counters


def test_a_postgresql_with_the_extension_is_looked_at_by_it(tmp_path: Path) -> None:
    """In the same metrics; ours does not look then. The witness tells who does."""
    change = CATALOGUE["postgresql.wait_sampling"]
    applied = {n: level.application.settings for n, level in change.levels.items()}
    measured, evidence = run(
        "postgresql", tmp_path / "log", "oltp-update-non-index", HOT, **applied["extension"]
    )
    assert of_family(measured, "waited_per_operation")["all"] > 0
    assert "sampler.busy_s" not in measured.counters
    for name, settings in applied.items():
        assert change.witness.judge(name, settings, evidence).held == (name != "assay")


def test_a_library_that_is_not_here_is_named_before_anything_starts(tmp_path: Path) -> None:
    """With the package that has it."""
    given = {"shared_preload_libraries": "pg_stat_statements, pg_of_nobody"}
    with pytest.raises(MissingError, match="the library pg_of_nobody is not here") as caught:
        run("postgresql", tmp_path / "log", "oltp-update-non-index", HOT, **given)
    assert caught.value.next_step.endswith("-pg-of-nobody")
    assert POSTGRESQL.lacks({"shared_preload_libraries": "pg_stat_statements"}) is None


def test_locks_that_were_not_used_are_zero_and_conditions_are_no_locks() -> None:
    """So that arms can be compared; idle threads wait for conditions."""
    counted = {
        "waits.wait/synch/mutex/sql/LOCK_open": 4.0,
        "wait_ps.wait/synch/mutex/sql/LOCK_open": 8000.0,
        "waits.wait/synch/cond/sql/COND_server_started": 1.0,
        "wait_ps.wait/synch/cond/sql/COND_server_started": 1e12,
        "Innodb_log_waits": 3.0,
    }
    found = MARIADB.waits(counted)
    assert found["waited_per_operation"]["sql/LOCK_open"] == 8.0
    assert found["waited_per_operation"]["all"] == 8.0
    assert found["acquisitions_per_operation"]["innodb/lock_latch"] == 0.0
    assert MARIADB.waits({"Innodb_log_waits": 3.0}) == {}


def test_rounds_of_waiting_of_an_nginx_are_waits() -> None:
    """By lock function, where the kernel counts them."""
    counted = {"contended.ngx_rwlock_wlock": 3.0, "contended.ngx_shmtx_lock": 1.0, "contention": 9}
    found = NGINX.waits(counted)["waits_per_operation"]
    assert found == {"all": 4.0, "ngx_rwlock_wlock": 3.0, "ngx_shmtx_lock": 1.0}
    assert NGINX.waits({}) == {}


STUDY = """
name = "s"
question = "?"
[target]
kind = "postgresql"
[workload]
kind = "tpcc"
[measure]
primary = "throughput"
window = "1s"
also = ["waited_per_operation.{event}"]
[[factor]]
name = "placebo"
change = "postgresql.placebo"
[design]
kind = "one-at-a-time"
[decide]
budget = "30min"
"""


def test_a_study_names_an_event_and_is_told_of_one_that_is_none() -> None:
    """With those that there are."""
    study = read("s", STUDY.format(event="IO/WALSync"), Path("."))
    assert study.also == ("waited_per_operation.IO/WALSync",)
    with pytest.raises(StudyError, match=r"counts no 'IO/WALSink'; did you mean 'IO/WALSync'"):
        read("s", STUDY.format(event="IO/WALSink"), Path("."))


class Stub:
    """Speaks PostgreSQL's protocol to one client: each look finds what it is told."""

    def __init__(self, path: Path, looks: list[dict[str, int]], refuses: bool = False) -> None:
        self.looks, self.refuses = looks, refuses
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        client, _ = self.server.accept()
        with client:
            client.recv(4096)
            if self.refuses:
                client.sendall(_message(b"E", b"SFATAL\0Mno such user\0\0"))
                return
            client.sendall(_message(b"R", struct.pack("!i", 0)) + _message(b"Z", b"I"))
            for look in self.looks:
                if not client.recv(4096):
                    return
                rows = b"".join(_message(b"D", _columns(e, str(n))) for e, n in look.items())
                client.sendall(rows + _message(b"Z", b"I"))


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", 4 + len(body)) + body


def _columns(*texts: str) -> bytes:
    parts = (struct.pack("!i", len(t)) + t.encode() for t in texts)
    return struct.pack("!h", len(texts)) + b"".join(parts)


def test_a_statement_seen_waiting_in_each_look_waited_all_the_time(tmp_path: Path) -> None:
    """Two of them twice the time; one that runs is not waiting."""
    looks = [{"IO/WALSync": 2, "running": 1}] * 1000
    stub = Stub(tmp_path / "s", looks)
    begun = time.monotonic()
    sampler = Sampler(tmp_path / "s", "load", "postgres", 100)
    time.sleep(0.2)
    found = sampler.stop()
    spent = 1e9 * (time.monotonic() - begun)
    assert sampler.stop() == found
    assert 0 < found["wait_ns.IO/WALSync"] <= 2 * spent
    assert found["wait_ns.IO/WALSync"] == pytest.approx(2 * found["running_ns"])
    assert found["wait_samples"] >= 1
    assert "wait_ns.running" not in found
    stub.server.close()


def test_a_server_that_goes_away_tells_no_waits(tmp_path: Path) -> None:
    """The run fails by itself; half of a window's samples would be wrong."""
    stub = Stub(tmp_path / "s", [{"IO/WALSync": 2}])
    sampler = Sampler(tmp_path / "s", "load", "postgres", 100)
    stub.thread.join()
    while sampler._thread.is_alive():
        time.sleep(0.01)
    assert sampler.stop() == {}
    stub.server.close()


def test_a_server_that_refuses_to_be_looked_at_is_an_error_with_its_words(tmp_path: Path) -> None:
    """Not a run without waits."""
    stub = Stub(tmp_path / "s", [], refuses=True)
    with pytest.raises(RunError, match="waits cannot be sampled: no such user"):
        Sampler(tmp_path / "s", "load", "postgres", 100)
    stub.server.close()


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_the_trade_desk_runs_on_real_servers(kind: str, tmp_path: Path) -> None:
    """Its users are connections, and its temporary tables real ones."""
    desk = {"accounts": 100, "instruments": 5, "catalogue_share": 1.0}
    measured, _ = run(kind, tmp_path / "log", "trade-desk", desk)
    assert measured.operations > 0
    assert measured.errors == 0
    assert "aborts_per_operation" in measured.metrics
    assert "users" not in WORKLOADS["trade-desk"].parameters_for(kind)
    assert json.dumps(dict(measured.counters))
