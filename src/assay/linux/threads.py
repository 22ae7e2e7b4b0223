"""What the threads of a server wait for, and how long they wait for a CPU: /proc/PID/task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.linux.processes import read, read_folder, tree

MOST = 500
"""Threads that one look reads: of a server with more, the first ones."""


@dataclass(frozen=True)
class ThreadState:
    """Threads of one name, without its number, in one state: R runs or wants to, S sleeps, D waits
    for the disk. `where`: the kernel's function in which they sleep, empty where that is hidden."""

    name: str
    state: str
    where: str


def states(pid: int) -> Counter[ThreadState]:
    """How many threads of a process and its descendants are in each state now."""
    found: Counter[ThreadState] = Counter()
    for _, task in zip(range(MOST), _tasks(pid), strict=False):
        before, _, after = read(task / "stat").rpartition(")")
        if not after:
            continue
        name = before.partition("(")[2].rstrip("0123456789")
        state = after.split()[0]
        where = read(task / "wchan").strip() if state in "SD" else ""
        found[ThreadState(name, state, "" if where == "0" else where)] += 1
    return found


@dataclass(frozen=True)
class RunTimes:
    """Of a thread since its start, in ns: on a CPU, and ready to run while it had none."""

    ran: int
    waited: int


def run_times(pid: int) -> dict[int, RunTimes]:
    """By thread of a process and its descendants; empty where the kernel does not count it."""
    found = {}
    for task in _tasks(pid):
        words = read(task / "schedstat").split()
        if len(words) == 3 and task.name.isdigit():
            found[int(task.name)] = RunTimes(int(words[0]), int(words[1]))
    return found


def _tasks(pid: int) -> Iterator[Path]:
    for member in tree(pid):
        yield from read_folder(Path(f"/proc/{member}/task"))
