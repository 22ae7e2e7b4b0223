"""Time limits: a test that passes its limit is named and ended, with all that it started.

pytest-timeout raises in the test when its limit is over. That ends a test that sleeps or waits for
a child. A test that is stuck in C code, or whose fixtures hang as they are taken down, is ended by
the guard (`guard.py`), a process of its own: it ends the whole session.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

import guard

GUARD: pytest.StashKey[Guard] = pytest.StashKey()
TIMED_OUT: pytest.StashKey[bool] = pytest.StashKey()


class Guard:
    """The guard's process, which is told each test and how many seconds it may take."""

    def __init__(self, grace_s: float) -> None:
        self.grace_s = grace_s
        self.mark = f"{os.getpid()}-{uuid.uuid4().hex}"
        command = [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), self.mark]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE)
        # What tests start inherits it, so it is found after its parent has gone.
        os.environ[guard.MARK] = self.mark

    def tell(self, test: str, limit_s: float) -> None:
        """The test that runs now; an empty one says that none does."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{limit_s} {test}\n".encode())
        self.process.stdin.flush()

    def close(self) -> None:
        """It ends what is left of the session's processes, and itself."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        os.environ.pop(guard.MARK, None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The seconds that the guard waits after a test's limit."""
    parser.addini(
        "guard_grace", "seconds after a test's limit until its session is ended", default="60"
    )


def pytest_configure(config: pytest.Config) -> None:
    """One guard for each process that runs tests."""
    config.stash[GUARD] = Guard(float(config.getini("guard_grace")))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Processes that tests left behind do not outlive the session."""
    config.stash[GUARD].close()


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings) -> None:
    """Called by pytest-timeout as a test begins; its own timer is set after this."""
    told = item.config.stash[GUARD]
    told.tell(item.nodeid, settings.timeout + told.grace_s)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test that passed its limit leaves no process."""
    try:
        return (yield)
    finally:
        told = item.config.stash[GUARD]
        told.tell("", 0)
        if item.stash.get(TIMED_OUT, False):
            guard.end(guard.marked(told.mark, item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Notes a test that passed its limit."""
    report = yield
    if call.excinfo is not None and "from pytest-timeout" in str(call.excinfo.value):
        item.stash[TIMED_OUT] = True
    return report
