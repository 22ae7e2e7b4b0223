"""A short run of every target, a temporary folder that must be empty at the end, a disk to fill."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.targets import TARGETS, Launch
from assay.workloads import WORKLOADS
from server_kit import left_in, servers_in, wait_for

ROWS = {"tables": 1, "table_size": 1000}
RUNS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "mariadb": ("oltp-point-select", ROWS),
    "postgresql": ("oltp-point-select", ROWS),
    "nginx": ("http-proxy", {}),
    "redis": ("redis-get", {"keys": 100}),
    "valkey": ("redis-get", {"keys": 100}),
    "memcached": ("memcached-get", {"keys": 100}),
    "duckdb": ("aggregate", {"rows": 10_000, "sums": 2}),
    "chdb": ("aggregate", {"rows": 10_000, "sums": 2}),
    "rocksdb": ("ycsb", {"records": 1000, "fields": 1}),
    "sqlite": ("ycsb", {"records": 1000, "fields": 1}),
    "engine": ("ycsb", {"records": 1000, "fields": 1}),
    "micro": ("lock", {}),
}
"""A workload of each target, with little data, that waits for no disk."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared data, made once for all tests here."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def temporary(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder that any user may enter; nothing may be left in it at the end."""
    made = Path(tempfile.mkdtemp(prefix="faults-"))
    made.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("TMPDIR", str(made))
    monkeypatch.setattr(tempfile, "tempdir", None)
    segments = shared_segments()
    try:
        yield made
        assert wait_for(lambda: servers_in(made) == [])
        assert wait_for(lambda: left_in(made) == [])
        assert wait_for(lambda: shared_segments() <= segments)
    finally:
        shutil.rmtree(made)


def shared_segments() -> set[str]:
    """Segments of System V shared memory that no process has any more."""
    rows = [row.split() for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {row[1] for row in rows if row[6] == "0"}


def launch(kind: str, window_s: float = 0.2, **given: Any) -> Launch:
    """A short run; settings with underscores."""
    known = TARGETS[kind].settings
    workload, parameters = RUNS[kind]
    settings = {n: p.default for n, p in known.items() if p.default is not None}
    settings |= {n: v for n, v in WORKLOADS[workload].settings.items() if n in known}
    takes = WORKLOADS[workload].parameters_for(kind)
    whole = {n: p.default for n, p in takes.items()} | dict(parameters)
    settings |= {"connections": 4} if "connections" in known else {}
    settings |= given
    return Launch(settings, workload, whole, 3, 0.05, window_s, interval_s=0.1)


@pytest.fixture
def small_disk(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A disk of its own for temporary folders, which a test can fill."""
    disk = temporary / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600m,mode=755", "assay", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    monkeypatch.setenv("TMPDIR", str(disk))
    monkeypatch.setattr(tempfile, "tempdir", None)
    try:
        yield disk
        assert left_in(disk) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
        disk.rmdir()


def fill(disk: Path) -> None:
    """Leaves no room on a disk."""
    with (disk / "filler").open("ab", buffering=0) as filler:
        try:
            while filler.write(b"x" * (1 << 20)):
                pass
        except OSError:
            return
