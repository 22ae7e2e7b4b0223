"""Ray's processes on a host: found, what they cost, stopped and continued."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.fleet import rays
from assay.linux.processes import read

NAMED = """
import ctypes, subprocess, sys, time
ctypes.CDLL(None).prctl(15, b"raylet", 0, 0, 0)
worker = subprocess.Popen([sys.executable, "-c", {worker!r}])
print("worker", worker.pid, flush=True)
worker.wait()
"""
"""Stands for a raylet: it has the name, and a worker."""

WORKER = """
import subprocess, sys
keeper = subprocess.Popen(["sleep", "60"])
print("keeper", keeper.pid, flush=True)
keeper.wait()
"""
SESSION = "session_2026-01-02_03-04-05_678901_{}"


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, 9)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def numbers(process: subprocess.Popen[str]) -> dict[str, int]:
    assert process.stdout is not None
    lines = (process.stdout.readline().split() for _ in range(2))
    return {name: int(pid) for name, pid in lines}


def state(pid: int) -> str:
    return read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()[0]


def test_who_was_not_started_by_ray_has_no_raylet() -> None:
    """So nothing is stopped."""
    assert rays.raylet_of(os.getpid()) is None
    assert rays.processes(os.getpid()) == []


def test_what_belongs_to_ray_is_found_and_the_keeper_is_not_of_it() -> None:
    """Below the raylet, and by the name of the session wherever it is; not in another session."""
    session, other = SESSION.format(os.getpid()), SESSION.format("1")
    sleeper = "import time; time.sleep(60)"
    with (
        started(sys.executable, "-c", NAMED.format(worker=WORKER), f"--dir=/t/{session}/x") as ray,
        started(sys.executable, "-c", sleeper, f"/t/{session}/logs") as monitor,
        started(sys.executable, "-c", sleeper, f"/t/{other}/logs"),
    ):
        found = numbers(ray)
        worker, keeper = found["worker"], found["keeper"]
        assert rays.raylet_of(keeper) == ray.pid
        assert rays.processes(keeper) == sorted([ray.pid, worker, monitor.pid])


def test_what_is_stopped_goes_on_when_it_is_continued() -> None:
    """One that is not there is left out."""
    with started("sleep", "60") as process:
        gone = 2**22 - 1
        assert rays.stop([process.pid, gone]) == [process.pid]
        until = time.monotonic() + 5
        while state(process.pid) != "T" and time.monotonic() < until:
            time.sleep(0.01)
        assert state(process.pid) == "T"
        rays.go_on([process.pid, gone])
        assert state(process.pid) != "T"


@pytest.mark.parametrize("is_stopped", [False, True])
def test_the_cost_of_processes_is_their_cpu_time_and_wake_ups(is_stopped: bool) -> None:
    """Two hundred a second, at most; none while it is stopped."""
    ticking = "import time\nwhile True: time.sleep(0.005)"
    with started(sys.executable, "-c", ticking) as process:
        time.sleep(0.5)
        if is_stopped:
            rays.stop([process.pid])
            time.sleep(0.2)
        found = rays.idle_cost([process.pid], 1.0)
    assert found.processes == 1
    assert found.seconds >= 1.0
    if is_stopped:
        assert (found.cpu_ms_per_s, found.wakeups_per_s) == (0.0, 0.0)
    else:
        assert found.cpu_ms_per_s > 0
        assert 20 < found.wakeups_per_s <= 220
