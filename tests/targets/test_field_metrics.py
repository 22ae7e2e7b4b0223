"""Metrics of TPC-C, of loading and of storage: what makes them, and what makes them void."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from assay.linux.processes import written_bytes
from assay.targets import TARGETS, Launch
from assay.targets.servers.framework.data import bytes_on_disk
from assay.targets.servers.framework.load import EACH_RUN, load_time
from assay.targets.servers.framework.written import Written
from assay.workloads import WORKLOADS
from assay.workloads.promise import parse_promise
from assay.workloads.tpcc_conditions import KindOfRun, tpcc_metrics

MIX = {"new_order": 450, "payment": 430, "order_status": 40, "delivery": 40, "stock_level": 40}
KEPT = {name: KindOfRun(count, 1.0) for name, count in MIX.items()}
WAITING = {"waits": True, "warehouses": 20}


def test_new_orders_that_rolled_back_do_not_count() -> None:
    """445 in two minutes."""
    assert tpcc_metrics(KEPT, 5, 120.0, {}) == {"new_orders_per_minute": 222.5}


def test_tpmc_needs_waits_limits_and_mix() -> None:
    """Without any of them there are New-Orders per minute and no tpmC."""
    found = tpcc_metrics(KEPT, 5, 120.0, WAITING)
    assert found["tpmc"] == found["new_orders_per_minute"] == 222.5
    assert found["tpcc_efficiency"] == pytest.approx(222.5 / 257.2)
    slow = {**KEPT, "payment": KindOfRun(430, 5.1)}
    rare = {**KEPT, "delivery": KindOfRun(10, 1.0)}
    lacking = {name: kind for name, kind in KEPT.items() if name != "stock_level"}
    for kinds, options in (
        (KEPT, {"warehouses": 20}),
        (KEPT, {**WAITING, "wait_scale": 0.1}),
        (slow, WAITING),
        (rare, WAITING),
        (lacking, WAITING),
    ):
        assert tpcc_metrics(kinds, 5, 120.0, options).keys() == {"new_orders_per_minute"}


def test_a_stock_level_may_take_longer_than_the_others() -> None:
    """Its limit is twenty seconds."""
    kinds = {**KEPT, "stock_level": KindOfRun(40, 19.0)}
    assert "tpmc" in tpcc_metrics(kinds, 0, 60.0, WAITING)
    assert tpcc_metrics({}, 0, 60.0, WAITING) == {}


def test_loading_has_time_rate_and_size_where_the_run_loaded() -> None:
    """Of data that were copied there is nothing; in memory they take no disk."""
    times = {"reset_s": 0.1, "load_s": 2.0, "load_rows": 1000.0, "disk_bytes": 4096e3}
    assert load_time(times) == {
        "load_seconds": 2.0,
        "load_rows_per_s": 500.0,
        "bytes_per_row": 4096.0,
    }
    assert load_time({"load_s": 2.0, "load_rows": 10.0}).keys() == {
        "load_seconds",
        "load_rows_per_s",
    }
    assert load_time({"load_s": 2.0}) == {"load_seconds": 2.0}
    assert load_time({"reset_s": 0.1}) == {}


def test_bytes_on_disk_are_blocks_and_not_lengths(tmp_path: Path) -> None:
    """A file with a hole takes what was written of it."""
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(64 << 20)
        file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "small").write_bytes(b"x" * 5000)
    assert 1 << 20 <= bytes_on_disk(tmp_path) < 4 << 20


def test_what_a_process_wrote_counts_after_it_has_gone() -> None:
    """A server has a process for each connection; the last that was seen of each counts."""
    seen = iter([{1: 100, 2: 50}, {1: 150, 2: 90, 3: 10}, {1: 200}, {1: 220}])
    written = Written(1, lambda pid: next(seen))
    written.look()
    written.look()
    assert written.total() == 100 + 40 + 10
    written.look()
    assert written.total() == 120 + 40 + 10


def test_what_cannot_be_seen_is_no_number() -> None:
    """Of a server elsewhere, or of somebody else's."""
    assert Written(None).total() is None
    assert Written(1, lambda pid: {}).total() is None


@pytest.mark.skipif(not written_bytes(os.getpid()), reason="/proc/PID/io is not shown here")
def test_the_kernel_counts_what_this_process_writes(tmp_path: Path) -> None:
    """A megabyte that was forced to the disk, where there is a disk below."""
    before = written_bytes(os.getpid())[os.getpid()]
    with (tmp_path / "file").open("wb") as file:
        file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    grown = written_bytes(os.getpid())[os.getpid()] - before
    assert grown == 0 or grown >= 1 << 20


@pytest.mark.parametrize(
    ("workload", "parameters", "operations", "payload"),
    [
        ("ycsb", {"fields": 10, "field_bytes": 100}, {"read": 50, "update": 3, "rmw": 2}, 500.0),
        ("ycsb", {"fields": 10, "field_bytes": 100}, {"insert": 2}, 2000.0),
        ("redis-set", {"value_bytes": 64}, {"all": 10}, 640.0),
        ("tpcc", {}, {"new_order": 10}, None),
    ],
)
def test_a_workload_knows_how_large_what_it_writes_is(
    workload: str, parameters: Mapping[str, int], operations: Mapping[str, int], payload: float
) -> None:
    """Or says that it does not."""
    assert WORKLOADS[workload].payload(parameters, operations) == payload


def launch(kind: str, workload: str, parameters: Mapping[str, object], **more: object) -> Launch:
    """A short run, with what the workload has by default."""
    known = WORKLOADS[workload].parameters_for(kind)
    given = {name: p.default for name, p in known.items()} | dict(parameters)
    settings = {**WORKLOADS[workload].settings, **more.pop("settings", {})}
    return Launch(settings, workload, given, seed=1, warmup_s=0.2, window_s=1.0, **more)


def run(kind: str, asked: Launch, log: Path):
    """What one run measured."""
    server = TARGETS[kind].start(asked, log)
    try:
        return server.measure(lambda done, spent_s: None)
    finally:
        server.stop()


@pytest.mark.server
@pytest.mark.parametrize("kind", ["postgresql", "mariadb", "duckdb"])
def test_a_run_that_loads_its_rows_is_timed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand rows of 105 columns; without being asked for it has no such metric."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rows = {"rows": 10_000, "query": "q07"}
    asked = launch(kind, "hits", rows, settings={EACH_RUN: True})
    found = run(kind, asked, tmp_path / "log").metrics
    assert found["load_seconds"] > 0
    assert math.isclose(found["load_rows_per_s"], 10_000 / found["load_seconds"])
    assert 10 < found["bytes_per_row"] < 100_000
    copied = run(kind, launch(kind, "hits", rows), tmp_path / "log").metrics
    assert "load_seconds" not in copied


@pytest.mark.server
def test_a_real_server_has_its_highest_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis keeps half a second at any rate that it can answer."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    promise = parse_promise("p50<500ms")
    asked = launch("redis", "redis-get", {"keys": 500}, promise=promise)
    found = run("redis", asked, tmp_path / "log")
    assert found.counters["max_rate.kept"] <= found.metrics["max_rate"]
    assert found.metrics["max_rate"] <= found.counters["max_rate.broken"]
    assert found.health.asked_per_s == pytest.approx(found.counters["max_rate.kept"])


@pytest.mark.server
def test_what_a_real_server_writes_is_seen_where_the_kernel_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL writes its log for each update, and more of it than the field that was updated."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked = launch("postgresql", "ycsb", {"mix": "a", "records": 1000}, storage=True)
    found = run("postgresql", asked, tmp_path / "log").metrics
    if not written_bytes(os.getpid()):
        assert "written_per_operation" not in found
        return
    assert found["written_per_operation"] > 0
    assert found["write_amplification"] > 1
