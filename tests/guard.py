"""Ends a test session that hangs, and the processes that it started: `guard.py PID MARK`.

Reads a line `SECONDS TEST` for each test that begins and `0 ` for its end. When a test takes
longer, the process PID gets SIGABRT, on which pytest prints where each thread stands, then SIGKILL.
Once PID is gone or standard input is at its end, all processes marked with MARK are ended.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterable, Set

MARK = "PYTEST_SESSION_MARK"


def entries(pid: int) -> list[bytes]:
    """The environment that a process was started with; nothing of one that has gone."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def parent(pid: int) -> int:
    """The parent of a process; 0 of one that has gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def below(roots: Set[int]) -> set[int]:
    """Processes with their children's children."""
    found = set(roots)
    parents = {pid: parent(pid) for pid in map(int, filter(str.isdigit, os.listdir("/proc")))}
    while more := {pid for pid, above in parents.items() if above in found} - found:
        found |= more
    return found


def marked(mark: str, test: str | None = None) -> set[int]:
    """Processes that a session started, or one test of it outside its session-wide fixtures."""
    wanted = f"{MARK}={mark}".encode()
    begun = f"PYTEST_CURRENT_TEST={test} (call)".encode()
    found = set()
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        environment = entries(pid)
        if wanted in environment and (test is None or begun in environment):
            found.add(pid)
    return below(found) - {os.getpid()}


def end(pids: Iterable[int]) -> None:
    """Kills processes."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def overdue(session: int, mark: str, test: str) -> None:
    """Names a test that could not be ended by itself, and ends its session."""
    words = f"\n{test} passed its time limit and did not end: its session is ended\n"
    sys.stderr.write(words)
    sys.stderr.flush()
    started = below({session}) | marked(mark)
    os.kill(session, signal.SIGABRT)
    time.sleep(2)
    end(started - {os.getpid()})


def watch(session: int, mark: str) -> None:
    """Until the session is over."""
    try:
        gone = os.pidfd_open(session)
    except ProcessLookupError:
        return
    test, deadline = "", None
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([gone, 0], [], [], left)
        if gone in ready:
            return
        if not ready:
            overdue(session, mark, test)
            return
        lines = os.read(0, 1 << 16).decode(errors="replace").splitlines()
        if not lines:
            return
        limit, _, test = lines[-1].partition(" ")
        deadline = time.monotonic() + float(limit) if test else None


def main() -> None:
    """Ctrl-C and `kill` are for the session, whose end is waited for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    session, mark = int(sys.argv[1]), sys.argv[2]
    watch(session, mark)
    for _ in range(20):
        if not (left := marked(mark)):
            return
        end(left)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
