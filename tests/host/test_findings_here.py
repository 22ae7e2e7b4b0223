"""Findings provoked on this very machine, by real settings and real servers, and taken back.

Each is looked for before it is provoked as well: a rule that always speaks proves nothing.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.bench.host_values import in_force
from assay.core.errors import RunError
from assay.host.rules import View, findings
from assay.host.transaction import HostPlan, HostTree, apply, file_item, forget, roll_back
from assay.targets import TARGETS, Launch, traits_of
from assay.targets.servers.memory_figure import figure_at, figure_of
from assay.workloads import WORKLOADS
from server_kit import left_in

HOST = HostTree()
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"

THP_IS_ALWAYS = View(HOST).thp() == "always"

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not HOST.may_write(THP) or not HOST.may_write(POOL),
    reason="only root of a host may change its settings",
)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that any user may enter: these servers refuse root."""
    made = Path(tempfile.mkdtemp(prefix="findings-"))
    made.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(made / "cache"))
    monkeypatch.setenv("TMPDIR", str(made))
    monkeypatch.setattr(tempfile, "tempdir", None)
    try:
        yield made
        assert left_in(made) == []
    finally:
        shutil.rmtree(made)


def found(kind: str = "", pid: int | None = None) -> set[tuple[str, str]]:
    """What is found here now: rule and evidence."""
    return {(one.rule, one.evidence) for one in findings(View(HOST, kind, pid, traits_of(kind)))}


def of(rule: str, seen: set[tuple[str, str]]) -> str:
    """The evidence of a rule; empty where it is silent."""
    return "; ".join(sorted(evidence for name, evidence in seen if name == rule))


def pool() -> int:
    return int(HOST.read(POOL) or 0)


@contextmanager
def serving(kind: str, folder: Path, **settings: Any) -> Iterator[Any]:
    """A server with little data, as it was started."""
    workload = "oltp-point-select"
    parameters = {n: p.default for n, p in WORKLOADS[workload].parameters.items()}
    parameters |= {"tables": 1, "table_size": 1000}
    made = Launch(settings, workload, parameters, 3, 0.05, 0.2, interval_s=0.1)
    server = TARGETS[kind].start(made, folder / "log")
    try:
        yield server._started
    finally:
        server.stop()


def test_a_pool_that_nobody_uses_is_a_waste() -> None:
    before = found()
    with in_force({POOL: str(pool() + 96)}):
        assert "pages of 2 MiB are unused" in of("H03", found() - before)
    assert found() == before


def test_a_postgresql_that_fell_back_to_small_pages_is_seen(folder: Path) -> None:
    """huge_pages = try, and a pool that is too small for it: not a word in its answers."""
    settings = {"huge_pages": "try", "shared_buffers": "256MB"}
    with serving("postgresql", folder, **settings) as server:
        seen = found("postgresql", server.process.pid)
        assert "maps none of them" in of("H01", seen)
    with in_force({POOL: str(pool() + 200)}), serving("postgresql", folder, **settings) as server:
        assert of("H01", found("postgresql", server.process.pid)) == ""


def test_a_mariadb_that_may_not_lock_what_it_asks_for_is_seen(folder: Path) -> None:
    """The limit is the one that the process has, not the one that a file promises."""
    settings = {"large_pages": True, "innodb_buffer_pool_size": "64MiB"}
    with in_force({POOL: str(pool() + 96)}), serving("mariadb", folder, **settings) as server:
        pid = server.process.pid
        assert f"process {pid} may lock" in of("H07", found("mariadb", pid))


@pytest.mark.parametrize(
    ("kind", "settings", "slack"),
    [
        ("postgresql", {"huge_pages": "on", "shared_buffers": "96MB"}, 1.0),
        (
            "mariadb",
            {
                "large_pages": True,
                "innodb_buffer_pool_size": "100MiB",
                "innodb_buffer_pool_chunk_size": "64MiB",
                "key_buffer_size": "3MiB",
                "aria_pagecache_buffer_size": "16MiB",
            },
            1.3,
        ),
    ],
)
def test_a_servers_own_figure_is_what_it_then_maps(
    folder: Path, kind: str, settings: dict[str, Any], slack: float
) -> None:
    """PostgreSQL's to the page; of MariaDB's an upper bound that wastes little."""
    with in_force({POOL: str(pool() + 160)}), serving(kind, folder, **settings) as server:
        asked = figure_at(url_of(server)).asked(2 << 20)
        mapped = mapped_huge(server.process.pid)
    assert mapped <= asked <= slack * mapped


def url_of(server: Any) -> str:
    """Where the load goes, with its password."""
    where, place = server.adapter.url(server.place), server.place
    return where.replace("load@", f"load:{place.secrets.load}@")


def mapped_huge(pid: int) -> int:
    """Bytes that a process maps of pools, touched or not."""
    found = size = 0
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == "Size":
            size = int(rest.split()[0]) * 1024
        elif name == "KernelPageSize" and int(rest.split()[0]) > 4:
            found += size
    return found


def test_a_postgresql_that_does_not_run_is_asked_by_its_data(folder: Path) -> None:
    """The same figure as of the one that runs, and an error while it does."""
    with serving("postgresql", folder, shared_buffers="96MB") as server:
        (data,) = folder.glob("assay-postgresql-*/data")
        with pytest.raises(RunError, match="postgres"):
            figure_of(data)
        (data / "postmaster.pid").rename(data / "kept.pid")
        try:
            default = figure_of(data)
        finally:
            (data / "kept.pid").rename(data / "postmaster.pid")
        running = figure_at(url_of(server))
    assert default.source == running.source == "shared_memory_size"
    assert default.asked(2 << 20) > running.asked(2 << 20) // 2


def test_always_huge_pages_and_redis_do_not_go_together() -> None:
    before = found("redis")
    if THP_IS_ALWAYS:
        pytest.skip("THP is always on here as it is")
    with in_force({THP: "always"}):
        assert "suffers from it" in of("H08", found("redis") - before)
        assert of("H08", found("postgresql")) == ""


def test_a_receive_mask_of_another_machine_is_seen() -> None:
    """One CPU of several, as the first bits of a mask for more."""
    queue = next(
        (
            f"/sys/class/net/{name}/queues/{queues[0]}/rps_cpus"
            for name, queues in View(HOST).queues.items()
            if queues
        ),
        None,
    )
    if queue is None or View(HOST).cpus < 2:
        pytest.skip("one CPU, or no network but loopback")
    before = found()
    with in_force({queue: "2"}):
        assert queue in of("H18", found() - before)
    assert found() == before


def test_a_fragment_that_a_later_one_overrides_is_seen() -> None:
    """Both are files of ours, and both go."""
    places = [f"/etc/sysctl.d/{n}-assay-test.conf" for n in (60, 61)]
    texts = [f"# assay test\nvm.swappiness = {value}\n" for value in (10, 60)]
    items = [file_item(HOST, place, text) for place, text in zip(places, texts, strict=True)]
    plan = HostPlan.of([item for item in items if item is not None], HOST)
    before = found()
    apply(plan, HOST, owner=os.getpid())
    try:
        assert places[1] in of("H29", found() - before)
    finally:
        roll_back(HOST, plan.id)
        forget(HOST, plan.id)
    assert not any(HOST.place(place).exists() for place in places)
