"""What goes wrong with real servers: each is said clearly, and leaves nothing running or behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import BundleError, MissingError, RunError
from assay.study import read
from assay.targets import TARGETS, Launch
from assay.targets.servers.framework import server as server_module
from assay.targets.servers.framework.adapter import Adapter, Program
from assay.targets.servers.framework.process import free_port
from assay.targets.servers.framework.target import ServerTarget
from assay.targets.servers.mariadb import MARIADB
from assay.targets.servers.nginx import NGINX
from assay.targets.servers.postgresql import POSTGRESQL
from assay.targets.servers.redis import REDIS
from assay.workloads import WORKLOADS
from server_kit import left_in, servers_in, wait_for

LOOSE = Path(__file__).parent.parent / "loose.py"
ROWS = {"tables": 1, "table_size": 1000}
RUNS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "mariadb": ("oltp-point-select", ROWS),
    "postgresql": ("oltp-point-select", ROWS),
    "nginx": ("http-proxy", {}),
    "redis": ("redis-get", {"keys": 100}),
    "valkey": ("redis-get", {"keys": 100}),
}
"""A workload of each server, with little data, that waits for no disk."""
SERVERS = pytest.mark.parametrize("kind", RUNS)
PLACEBOS = {
    "mariadb": "mariadb.placebo",
    "postgresql": "postgresql.placebo",
    "nginx": "nginx.zone",
    "redis": "redis.io_threads",
    "valkey": "valkey.io_threads",
}


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
    settings |= {"connections": 4, **given}
    return Launch(settings, workload, whole, 3, 0.05, window_s, interval_s=0.1)


@SERVERS
def test_a_server_that_is_killed_fails_its_run_and_says_so(kind: str, tmp_path: Path) -> None:
    """kill -9 of its first process, in the middle of the window."""
    server = TARGETS[kind].start(launch(kind, window_s=60), tmp_path / "log")
    pid = server._started.process.pid
    try:
        with pytest.raises(RunError, match=rf"{kind} ended during the run: .*SIGKILL"):
            server.measure(lambda done, spent: os.kill(pid, signal.SIGKILL))
    finally:
        server.stop()


@SERVERS
def test_the_environment_of_an_arm_reaches_the_server(kind: str, tmp_path: Path) -> None:
    """Set, and taken out; nginx writes its title over it as soon as it runs."""
    made = replace(launch(kind), env={"ASSAY_X": "1", "LANG": None})
    server = TARGETS[kind].start(made, tmp_path / "log")
    try:
        server.measure(lambda done, spent: None)
        assert server.evidence()["environ"] == {"ASSAY_X": "1"}
    finally:
        server.stop()


@SERVERS
def test_a_client_that_is_killed_fails_its_run_and_says_so(kind: str, tmp_path: Path) -> None:
    """kill -9 of `assayer load`: it is not taken for the server's fault."""
    server = TARGETS[kind].start(launch(kind, window_s=60), tmp_path / "log")
    try:
        with pytest.raises(RunError, match=rf"the load on {kind} failed: assayer ended with code"):
            server.measure(lambda done, spent: kill_loads())
        assert server._started.process.ended() == ""
    finally:
        server.stop()


def kill_loads() -> None:
    """kill -9 of every `assayer load` that this process started."""
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"assayer") and words[1] == b"load":
                os.kill(int(pid), signal.SIGKILL)


STUDY = """
name = "study"
question = "?"
[target]
kind = "{kind}"
connections = 4
[workload]
kind = "{workload}"
{parameters}
[measure]
primary = "throughput"
warmup = "50ms"
window = "{window}"
[[factor]]
name = "change"
{change}
[design]
kind = "one-at-a-time"
[decide]
smallest = "50%"
margin = "50%"
budget = "3h"
"""


def study(kind: str, window: str = "200ms", change: str = "") -> str:
    workload, given = RUNS[kind]
    parameters = "\n".join(f"{n} = {v}" for n, v in given.items())
    change = change or f'change = "{PLACEBOS[kind]}"'
    return STUDY.format(
        kind=kind, workload=workload, parameters=parameters, window=window, change=change
    )


def assay(*words: str | Path) -> subprocess.Popen[bytes]:
    """The command, in a session of its own, where other work on the machine voids nothing."""
    return subprocess.Popen(
        [sys.executable, str(LOOSE), "run", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def runs_in(bundle: Path) -> int:
    """Runs that were made."""
    runs = bundle / "runs.jsonl"
    return runs.read_bytes().count(b"\n") if runs.exists() else 0


def until_runs(process: subprocess.Popen[bytes], bundle: Path, number: int) -> None:
    while runs_in(bundle) < number:
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.02)


@SERVERS
def test_a_study_that_is_killed_leaves_nothing_and_goes_on(kind: str, temporary: Path) -> None:
    """kill -9 of `assay` while a server runs; then --resume, and an orderly end."""
    (temporary / "s.toml").write_text(study(kind))
    bundle = temporary / "bundle"
    process = assay(temporary / "s.toml", "--out", bundle)
    until_runs(process, bundle, 1)
    assert wait_for(lambda: servers_in(temporary) != [])
    process.kill()
    process.communicate()
    assert wait_for(lambda: servers_in(temporary) == [])
    assert wait_for(lambda: left_in(temporary) == [])
    done = runs_in(bundle)
    process = assay("--resume", bundle)
    until_runs(process, bundle, done + 2)
    process.send_signal(signal.SIGTERM)
    _, story = process.communicate(timeout=60)
    assert process.returncode == 130, story.decode()
    runs = [json.loads(line) for line in (bundle / "runs.jsonl").read_text().splitlines()]
    assert [r["run"] for r in runs] == list(range(len(runs)))
    assert {r["status"] for r in runs} <= {"ok", "void"}, [r["reason"] for r in runs]
    assert subprocess.run([sys.executable, LOOSE, "verify", bundle], check=False).returncode == 0


@SERVERS
def test_a_taken_port_is_tried_again_and_then_said(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's free port may be somebody else's a moment later."""
    TARGETS[kind].start(launch(kind), tmp_path / "log").stop()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = [taken.getsockname()[1]]
        monkeypatch.setattr(
            server_module, "free_port", lambda: ports.pop(0) if ports else free_port()
        )
        TARGETS[kind].start(launch(kind), tmp_path / "log").stop()
        assert not ports
        monkeypatch.setattr(server_module, "free_port", lambda: taken.getsockname()[1])
        with pytest.raises(RunError, match=r"(?i)did not start: .*in use"):
            TARGETS[kind].start(launch(kind), tmp_path / "log")


def without(adapter: Adapter, program: Program) -> ServerTarget:
    """The target on a machine that lacks one program."""
    absent = replace(program, name=f"{program.name}-of-nobody")
    programs = tuple(absent if p == program else p for p in adapter.programs)
    kind = type("Lacking", (type(adapter),), {"programs": programs})
    return ServerTarget(kind())


@pytest.mark.parametrize(
    ("adapter", "program"),
    [(a, p) for a in (MARIADB, POSTGRESQL, NGINX, REDIS) for p in a.programs],
    ids=lambda v: getattr(v, "name", ""),
)
def test_a_missing_program_is_named_with_the_command_that_gets_it(
    adapter: Adapter, program: Program, tmp_path: Path
) -> None:
    """By `check`, by `start` and in the list, whichever of a server's programs it is."""
    target, made = without(adapter, program), launch(adapter.kind)
    for act in (target.check, lambda made: target.start(made, tmp_path / "log")):
        with pytest.raises(MissingError, match=f"{program.name}-of-nobody is not here") as caught:
            act(made)
        assert caught.value.next_step == f"sudo apt-get install {program.package}"
    assert target.found() == f"not here: sudo apt-get install {program.package}"


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


GROWING = {
    "mariadb": ("ycsb", {"mix": "d", "records": 1000, "operations": 1_000_000}),
    "postgresql": ("ycsb", {"mix": "d", "records": 1000, "operations": 1_000_000}),
    "redis": ("redis-set", {"keys": 100}),
}
"""Workloads whose data or log grow."""


@pytest.mark.parametrize("kind", GROWING)
def test_a_disk_that_fills_up_in_a_run_is_what_is_said(
    kind: str, small_disk: Path, tmp_path: Path
) -> None:
    """Not a crash, nor so many failed operations: it asks for room, and the study can go on."""
    given = {"appendonly": True, "appendfsync": "always"} if kind == "redis" else {}
    workload, parameters = GROWING[kind]
    made = launch(kind, window_s=60, **given)
    takes = WORKLOADS[workload].parameters_for(kind)
    whole = {n: p.default for n, p in takes.items()} | parameters
    made = replace(made, workload=workload, parameters=whole)
    server = TARGETS[kind].start(made, tmp_path / "log")
    try:
        with pytest.raises(MissingError, match="the disk is full") as caught:
            server.measure(lambda done, spent: fill(small_disk))
        assert "make room" in caught.value.next_step
    finally:
        server.stop()
    (small_disk / "filler").unlink()


@SERVERS
def test_a_disk_that_is_full_at_the_start_is_what_is_said(
    kind: str, small_disk: Path, tmp_path: Path
) -> None:
    """Whatever was being made there: a copy, a configuration, a socket."""
    TARGETS[kind].start(launch(kind), tmp_path / "log").stop()
    fill(small_disk)
    with pytest.raises(MissingError, match=r"No space left|disk is full") as caught:
        TARGETS[kind].start(launch(kind), tmp_path / "log")
    assert "make room" in caught.value.next_step
    (small_disk / "filler").unlink()


def test_a_study_whose_disk_is_full_says_how_to_go_on(small_disk: Path, temporary: Path) -> None:
    """Exit code 3, and the bundle goes on once there is room."""
    (temporary / "s.toml").write_text(study("redis"))
    bundle = temporary / "bundle"
    process = assay(temporary / "s.toml", "--out", bundle)
    until_runs(process, bundle, 2)
    while process.poll() is None:  # a server that ends makes room for the next one
        fill(small_disk)
    _, story = process.communicate(timeout=60)
    assert process.returncode == 3, story.decode()
    assert f"assay run --resume {bundle}" in story.decode().replace("\n", "")
    (small_disk / "filler").unlink()
    done = runs_in(bundle)
    process = assay("--resume", bundle)
    until_runs(process, bundle, done + 1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130


def of_another_version(kind: str, data: Path) -> None:
    """Makes prepared data such that the server takes them for another version's."""
    if kind == "postgresql":
        (data / "PG_VERSION").write_text("9\n")
        return
    with (data / "ib_logfile0").open("r+b") as file:
        header = b"\xff\xff\xff\xfe" + file.read(508)[4:]
        file.seek(0)
        file.write(header + crc32c(header).to_bytes(4, "big"))


def crc32c(data: bytes) -> int:
    """CRC-32C, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_data_of_another_version_are_named_and_how_to_get_new_ones(
    kind: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's own words, and the folder to remove."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    TARGETS[kind].start(launch(kind), tmp_path / "log").stop()
    (data,) = (tmp_path / "cache/assay/data").iterdir()
    of_another_version(kind, data)
    with pytest.raises(RunError, match=f"(?i)did not start: .*(incompat|unsupp).*remove {data}"):
        TARGETS[kind].start(launch(kind), tmp_path / "log")
    shutil.rmtree(data)
    TARGETS[kind].start(launch(kind), tmp_path / "log").stop()


def test_a_study_does_not_go_on_with_another_server(temporary: Path) -> None:
    """A binary that was replaced after the plan was made; put back, it goes on."""
    found = Path(shutil.which("redis-server") or "")
    other = temporary / "redis-of-mine"
    shutil.copy(found, other)
    with other.open("ab") as file:
        file.write(b"\0")
    change = f'change = "binary"\nlevels = {{ here = "{found}", mine = "{other}" }}'
    (temporary / "s.toml").write_text(study("redis", change=change))
    bundle = temporary / "bundle"
    process = assay(temporary / "s.toml", "--out", bundle)
    until_runs(process, bundle, 2)
    process.kill()
    process.communicate()
    whole = other.read_bytes()
    other.unlink()
    other.write_bytes(whole + b"\0")
    other.chmod(0o755)
    process = assay("--resume", bundle)
    _, story = process.communicate(timeout=60)
    assert process.returncode == BundleError("").exit_code
    assert "change=mine is not the server that the study began with" in story.decode()
    other.write_bytes(whole)
    done = runs_in(bundle)
    process = assay("--resume", bundle)
    until_runs(process, bundle, done + 1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_a_plan_names_the_servers_that_it_was_made_with(temporary: Path) -> None:
    """Of the target, with its version and digest."""
    from assay.bench.builds import servers_of

    (found,) = servers_of(read("s", study("postgresql"), Path(".")), TARGETS)
    assert found.of == "target postgresql"
    assert found.version.startswith("postgres (PostgreSQL)")
    assert len(found.sha256) == 64


def test_a_copy_goes_with_whoever_was_making_it(temporary: Path) -> None:
    """kill -9 before there is any server: its folder goes too."""
    owner = """
import sys
from assay.targets.private_folder import own_folder
with own_folder("redis") as (made, _):
    (made / "data").mkdir()
    print(made, flush=True)
    sys.stdin.read()
"""
    pipe = subprocess.PIPE
    started = subprocess.Popen([sys.executable, "-c", owner], stdin=pipe, stdout=pipe, text=True)
    made = Path(started.stdout.readline().strip())
    assert (made / "data").is_dir()
    assert made.parent == temporary
    started.kill()
    started.communicate()
    assert wait_for(lambda: not made.exists())


INTERRUPTED = """
import os, sys
from assay.targets import private_folder as owned

def interrupted_at(line):
    left = line
    def trace(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename != owned.__file__:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace
    sys.settrace(trace)
    with owned.own_folder("redis") as (made, _):
        (made / "data").mkdir()

for line in range(1, 100):
    pid = os.fork()
    if not pid:
        try:
            interrupted_at(line)
        except KeyboardInterrupt:
            os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1] == 0:
        print(line)
        break
"""


def test_an_interrupt_at_any_line_leaves_no_folder(temporary: Path) -> None:
    """Ctrl-C comes when it likes: at each line of what makes a folder, one after the other."""
    said = subprocess.run([sys.executable, "-c", INTERRUPTED], check=True, capture_output=True)
    assert 15 < int(said.stdout) < 99
    assert wait_for(lambda: left_in(temporary) == [])
