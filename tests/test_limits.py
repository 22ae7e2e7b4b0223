"""A test that hangs is named and ended, and what it started with it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import guard

TESTS = Path(__file__).parent

HANGS = {
    "child": "subprocess.run(['sleep', '987'])",
    "loop": "subprocess.Popen(['setsid', 'sleep', '987'])\n    while True: time.sleep(0.01)",
    "thread": "threading.Thread(target=time.sleep, args=(987,), daemon=True).start()\n"
    "    threading.Event().wait()",
}
"""Ways to hang that the test itself can be woken from."""

DEAF = """
import signal, subprocess, time

def test_before():
    pass

def test_hangs():
    subprocess.Popen(['setsid', 'sleep', '987'])
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(987)
"""
"""Code in C that no Python signal handler interrupts behaves like this."""

TAKEN_DOWN = """
import time, pytest

@pytest.fixture
def stuck():
    yield
    time.sleep(987)

def test_hangs(stuck):
    time.sleep(987)
"""


def run(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A session of planted tests that has 1 s for each, and 1 s more until the guard acts."""
    (folder / "test_planted.py").write_text(text)
    words = ["-p", "limits", "-p", "no:valkey", "-p", "no:cacheprovider", "-c", "/dev/null"]
    limits = ["--timeout=1", "-o", "guard_grace=1", "--rootdir=."]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words, *limits, *options, "test_planted.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(TESTS), "PLANTED": str(folder), "COLUMNS": "200"},
    )


def left(folder: Path) -> list[int]:
    """Processes that a planted test started and that still run after a moment."""
    wanted = f"PLANTED={folder}".encode()
    end = time.monotonic() + 10
    while True:
        pids = [int(p) for p in filter(str.isdigit, os.listdir("/proc"))]
        found = [pid for pid in pids if wanted in guard.entries(pid)]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.02)


@pytest.mark.parametrize("how", HANGS)
def test_a_test_that_hangs_is_named_and_the_next_one_runs(tmp_path: Path, how: str) -> None:
    """What it started is ended, be it in a session of its own."""
    text = (
        "import os, subprocess, threading, time\n\n"
        f"def test_hangs():\n    {HANGS[how]}\n\n"
        "def test_nothing_of_it_is_left():\n"
        "    wanted = b'PYTEST_CURRENT_TEST=test_planted.py::test_hangs (call)'\n"
        "    import guard\n"
        "    end = time.monotonic() + 10\n"
        "    left = lambda: [p for p in guard.marked(os.environ[guard.MARK])"
        " if wanted in guard.entries(p)]\n"
        "    while left() and time.monotonic() < end:\n"
        "        time.sleep(0.02)\n"
        "    assert left() == []\n"
    )
    done = run(tmp_path, text)
    assert "FAILED test_planted.py::test_hangs - Failed: Timeout (>1.0s)" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert left(tmp_path) == []


@pytest.mark.parametrize("text", [DEAF, TAKEN_DOWN], ids=["deaf", "taken-down"])
def test_a_test_that_cannot_be_woken_ends_its_session(tmp_path: Path, text: str) -> None:
    """The guard names it, and where it stands is printed."""
    done = run(tmp_path, text)
    assert done.returncode not in (0, 1)
    assert "test_planted.py::test_hangs passed its time limit and did not end" in done.stderr
    assert "Fatal Python error: Aborted" in done.stderr
    assert left(tmp_path) == []


def test_what_a_session_leaves_behind_is_ended_with_it(tmp_path: Path) -> None:
    """Also when it passes."""
    leaves = "subprocess.Popen(['setsid', 'sleep', '987'])"
    text = f"import subprocess\n\ndef test_leaves():\n    {leaves}\n"
    done = run(tmp_path, text, "-W", "ignore")
    assert done.returncode == 0, done.stdout
    assert left(tmp_path) == []


def test_every_test_has_a_limit(request: pytest.FixtureRequest) -> None:
    """From the settings of the suite, in seconds."""
    assert 0 < float(request.config.getini("timeout")) <= 300
