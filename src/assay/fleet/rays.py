"""Ray's own processes on a host, what they cost while nothing is asked of them, and their pause.

An agent runs below one of Ray's workers, so the raylet is an ancestor of it. Whatever else belongs
to Ray here has the name of the session among its words (GCS, monitors) and is in the same network,
which tells hosts apart that are namespaces of one machine. The keeper and all below it are not
Ray's, though they descend from it.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from assay.linux import procfs
from assay.linux.processes import read, read_folder, tree

_SESSION = re.compile(r"session_[0-9-]+_[0-9-]+_[0-9]+_[0-9]+")
"""The folder of one start of Ray: day, time, microseconds, process."""


class IdleCost(BaseModel):
    """What some processes took over `seconds`: CPU time and times that a thread woke up."""

    model_config = ConfigDict(frozen=True)

    seconds: float
    processes: int
    cpu_ms_per_s: float
    wakeups_per_s: float


def raylet_of(pid: int) -> int | None:
    """The raylet that a process descends from; None if it was started in another way."""
    while pid > 1:
        if read(Path(f"/proc/{pid}/comm")).strip() == "raylet":
            return pid
        pid = procfs.parent(pid)
    return None


def processes(keeper: int) -> list[int]:
    """Ray's processes on the host of a keeper; none where Ray did not start it."""
    raylet = raylet_of(keeper)
    return [] if raylet is None else sorted(of_raylet(raylet) - set(tree(keeper)))


def of_raylet(raylet: int) -> set[int]:
    """All that belongs to a raylet on its host: what is below it, and the rest of its session."""
    return {*tree(raylet), *_starter(raylet), *_of_session(raylet)}


def is_starter(pid: int) -> bool:
    """Whether it is `ray start --block`, which waits for what it started. Asked to end, it would
    wait half a minute first."""
    return "--block" in _words(pid)


def _starter(raylet: int) -> list[int]:
    parent = procfs.parent(raylet)
    return [parent] if is_starter(parent) else []


def _of_session(raylet: int) -> Iterable[int]:
    named = _SESSION.search(" ".join(_words(raylet)))
    if named is None:
        return
    network = _network(raylet)
    for folder in read_folder(Path("/proc")):
        if folder.name.isdigit():
            pid = int(folder.name)
            if named[0] in read(folder / "cmdline") and _network(pid) == network:
                yield pid


def _words(pid: int) -> list[str]:
    return read(Path(f"/proc/{pid}/cmdline")).split("\0")


def _network(pid: int) -> str:
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/net")
    return ""


def stop(pids: Iterable[int]) -> list[int]:
    """Stop processes; those that were there and are ours."""
    return [pid for pid in pids if _signal(pid, signal.SIGSTOP)]


def go_on(pids: Iterable[int]) -> None:
    """Continue what was stopped, as far as it is still there."""
    for pid in pids:
        _signal(pid, signal.SIGCONT)


def _signal(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def idle_cost(
    pids: list[int], seconds: float, sleep: Callable[[float], object] = time.sleep
) -> IdleCost:
    """What processes take while we sleep."""
    before, began = _spent(pids), time.monotonic()
    sleep(seconds)
    after, took_s = _spent(pids), time.monotonic() - began
    ns, wakeups = (
        sum(max(0, now[place] - before.get(task, (0, 0))[place]) for task, now in after.items())
        for place in (0, 1)
    )
    took_s = max(took_s, 1e-9)
    return IdleCost(
        seconds=round(took_s, 3),
        processes=len(pids),
        cpu_ms_per_s=round(ns / 1e6 / took_s, 3),
        wakeups_per_s=round(wakeups / took_s, 2),
    )


def _spent(pids: Iterable[int]) -> dict[str, tuple[int, int]]:
    """By thread: ns on a CPU, and times that it went to sleep by itself, which it woke from."""
    found = {}
    for pid in pids:
        for task in read_folder(Path(f"/proc/{pid}/task")):
            ran = read(task / "schedstat").split()
            slept = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", read(task / "status"), re.M)
            if ran and slept:
                found[task.name] = (int(ran[0]), int(slept[1]))
    return found
