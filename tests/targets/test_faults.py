"""What goes wrong with real servers: each is said clearly, and leaves nothing running or behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import BundleError, MissingError, RunError
from assay.linux.own_user import NUMBERS
from assay.study import read
from assay.targets import TARGETS
from assay.targets.private_folder import FolderGuard
from assay.workloads import WORKLOADS
from fault_kit import RUNS, cache, fill, launch, shared_segments, small_disk, temporary
from server_kit import left_in, servers_in, wait_for

__all__ = ["cache", "small_disk", "temporary"]

LOOSE = Path(__file__).parent.parent / "loose.py"
PLACEBOS = {
    "mariadb": "mariadb.placebo",
    "postgresql": "postgresql.placebo",
    "nginx": "nginx.zone",
    "redis": "redis.io_threads",
    "valkey": "valkey.io_threads",
}


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
design = "{design}"
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


def study(kind: str, window: str = "200ms", change: str = "", design: str = "runs") -> str:
    workload, given = RUNS[kind]
    parameters = "\n".join(f"{n} = {v}" for n, v in given.items())
    change = change or f'change = "{PLACEBOS[kind]}"'
    return STUDY.format(
        kind=kind,
        workload=workload,
        parameters=parameters,
        window=window,
        change=change,
        design=design,
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


DESIGNS = [(kind, "runs") for kind in PLACEBOS] + [("mariadb", "slices"), ("nginx", "slices")]


@pytest.mark.parametrize(("kind", "design"), DESIGNS)
def test_a_study_that_is_killed_leaves_nothing_and_goes_on(
    kind: str, design: str, temporary: Path
) -> None:
    """kill -9 of `assay` while a server runs; then --resume, and an orderly end."""
    (temporary / "s.toml").write_text(study(kind, design=design))
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


SEGMENT = "import ctypes; print(ctypes.CDLL(None).shmget(0, 4096, 0o1600))"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_shared_memory_of_a_servers_own_user_goes_with_its_folder(tmp_path: Path) -> None:
    """PostgreSQL, ended before it listens to any signal, leaves a segment. Another user's stays."""
    made = {}
    for user in (NUMBERS.start, NUMBERS.start + 1):
        words = ["setpriv", f"--reuid={user}", "--clear-groups", sys.executable, "-c", SEGMENT]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        made[user] = done.stdout.strip()
    mine, others = made.values()
    folder = tmp_path / "server"
    folder.mkdir()
    os.chown(folder, NUMBERS.start, 0)
    try:
        assert set(made.values()) <= shared_segments()
        FolderGuard(folder).end()
        assert mine not in shared_segments()
        assert others in shared_segments()
        assert not folder.exists()
    finally:
        subprocess.run(["ipcrm", "-m", others], check=True)


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
    kept = (tmp_path / "cache/assay/data").iterdir()
    (data,) = (p for p in kept if p.name != ".turn")
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
