"""Servers made sick on purpose, and a healthy one: doctor names the sickness first.

Numbers are not looked at: other processes may be at work while tests run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.counters import profilable
from assay.diagnosis import Diagnosis, diagnose, find_subject, gather
from assay.host import host_facts
from assay.linux.own_user import give, own_user
from assay.load import Load, ask, parse_url, prepare, run_load
from assay.study import read
from assay.targets.servers.framework.process import as_user, free_port
from attach_kit import data_of, theirs
from rights_kit import as_nobody

pytestmark = pytest.mark.server

SECONDS = 4.0

SPINNER = """
#include <pthread.h>
#include <stdint.h>
static volatile int held;
static volatile uint64_t total;
__attribute__((noinline)) void take(void) { while (__sync_lock_test_and_set(&held, 1)) { } }
__attribute__((noinline)) void work(void) { for (int i = 0; i < 2000; i++) total += i; }
static void *run(void *unused) {
    for (;;) { take(); work(); __sync_lock_release(&held); }
    return unused;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, run, 0);
    return pthread_join(threads[0], 0);
}
"""


@pytest.fixture(scope="module", autouse=True)
def samples_here() -> None:
    """Without samples there are no bounds."""
    possible = profilable(host_facts())
    if not possible.event:
        pytest.skip("; ".join(possible.absent.values()))


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    """A folder that any user may enter."""
    made = Path(tempfile.mkdtemp(prefix="sick-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def data(base: Path) -> Mapping[str, Path]:
    """Empty data of the servers of SQL."""
    (base / "data").mkdir()
    return data_of(base / "data")


@contextlib.contextmanager
def loaded(url: str, workload: str, options: Mapping[str, Any], connections: int) -> Iterator[None]:
    """A load on a server that lasts longer than anybody looks."""
    load = Load(
        parse_url(url, {}), workload, options, connections, time_s=SECONDS + 20, warmup_s=0.1
    )
    prepare(load)
    thread = threading.Thread(target=_run, args=(load,), daemon=True)
    thread.start()
    time.sleep(0.5)
    yield


def _run(load: Load) -> None:
    with contextlib.suppress(Exception):  # its server ends before it does
        run_load(load)


def checked(found: Diagnosis) -> Diagnosis:
    """The studies of what stands out are read back, and its bounds are numbers."""
    for candidate in found.stands_out:
        assert candidate.most is not None
        assert candidate.most.low is not None
        if candidate.study:
            read(candidate.name, candidate.study, Path.cwd())
    assert found.cpus
    assert found.threads
    return found


def test_a_bare_spin_loop_is_named_first(tmp_path: Path) -> None:
    """A program that nobody knows: by its code."""
    (tmp_path / "spinner.c").write_text(SPINNER)
    program = tmp_path / "spinner"
    subprocess.run(
        ["gcc", "-O2", "-pthread", "-o", str(program), str(tmp_path / "spinner.c")], check=True
    )
    with subprocess.Popen([str(program)]) as process:
        try:
            found = checked(assay.doctor(process.pid, seconds=SECONDS))
        finally:
            process.kill()
    assert found.candidates[0].name == "B05 take"
    assert found.candidates[0].kind == "build"
    assert "ydb-spinlock" in found.candidates[0].study


def test_redis_in_transparent_huge_pages_is_said_to_be(base: Path) -> None:
    """Its allocator asks for them, and it saves while it is written to."""
    folder, port = base / "redis", free_port()
    folder.mkdir()
    user = own_user()
    give(folder, user)
    words = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    words += ["--save", "1 1", "--disable-thp", "no"]
    env = {**os.environ, "MALLOC_CONF": "thp:always"}
    url = f"redis://127.0.0.1:{port}"
    with subprocess.Popen(as_user(words, user), env=env, stdout=subprocess.DEVNULL) as process:
        try:
            _wait(url)
            with loaded(url, "redis-set", {"keys": 200_000, "value_bytes": 500}, 4):
                found = checked(assay.doctor(attach=url, seconds=SECONDS))
        finally:
            process.kill()
    assert found.subject.kind == "redis"
    first = found.candidates[0]
    assert first.name in ("host.thp", "redis.thp")
    assert first.levels in (("never",), ("off",))


def _wait(url: str) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with contextlib.suppress(Exception):
            ask(url, "PING")
            return
        time.sleep(0.05)
    pytest.fail("redis did not start")


READS = {"tables": 1, "table_size": 100_000, "distribution": "uniform"}


def test_postgresql_with_tiny_buffers_is_named_first(base: Path, data: Mapping[str, Path]) -> None:
    """Most pages are read from files again."""
    options = ("-c", "shared_buffers=1MB")
    with (
        theirs("postgresql", base / "tiny", data, options) as server,
        loaded(server.url, "oltp-read-only", READS, 8),
    ):
        found = checked(assay.doctor(server.pid, attach=server.url, seconds=SECONDS))
    first = found.candidates[0]
    assert first.name == "postgresql.shared_buffers"
    assert first.now == "1024kB"
    assert first.study


def test_nothing_stands_out_of_postgresql_whose_data_fit(
    base: Path, data: Mapping[str, Path]
) -> None:
    """The same load on a pool that holds it all."""
    options = ("-c", "shared_buffers=256MB")
    with (
        theirs("postgresql", base / "well", data, options) as server,
        loaded(server.url, "oltp-read-only", READS, 8),
    ):
        found = checked(assay.doctor(server.pid, attach=server.url, seconds=SECONDS))
    assert found.stands_out == []
    assert found.waits or found.candidates


def test_mariadb_with_a_long_spin_delay_is_named_first(
    base: Path, data: Mapping[str, Path]
) -> None:
    """Many connections update few hot rows."""
    options = ("--innodb-spin-wait-delay=96", "--innodb-flush-log-at-trx-commit=0")
    hot = {"tables": 1, "table_size": 1000, "distribution": "special"}
    with theirs("mariadb", base / "spin", data, options) as server:
        ask(server.url, "CREATE DATABASE IF NOT EXISTS hot")
        with loaded(f"{server.url}/hot", "oltp-update-index", hot, 32):
            found = checked(assay.doctor(server.pid, attach=server.url, seconds=SECONDS))
    named = {c.name for c in found.stands_out[:2]}
    assert "mariadb.spin_wait_delay" in named
    delay = next(c for c in found.candidates if c.name == "mariadb.spin_wait_delay")
    assert delay.now == "96"
    assert delay.study


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_sees_less_of_anothers_server_and_is_told_what() -> None:
    """No samples, no pages, no statistics: each with its reason; CPUs and threads are seen."""
    with subprocess.Popen(["sleep", "30"]) as process:
        try:
            assert _seen_by_nobody(process.pid)  # by root; it also imports what nobody may not
            said = as_nobody(lambda: _seen_by_nobody(process.pid))
        finally:
            process.kill()
    assert "where the CPU time goes: no profile" in said
    assert "pages of its memory" in said
    assert said.endswith(f"{os.cpu_count()} CPUs, 1 threads, []")


def _seen_by_nobody(pid: int) -> str:
    found = diagnose(gather(find_subject(str(pid)), 1.0))
    unseen = "; ".join(u.what for u in found.unseen)
    return f"{unseen}; {len(found.cpus)} CPUs, {len(found.threads)} threads, {found.stands_out}"
