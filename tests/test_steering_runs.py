"""Steering for real, as root: servers in a network of their own, bound, on other pages.

What a run changes of this machine is looked at while it runs and after it, and after `kill -9`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.host.namespaces import OWNER
from assay.host.transaction import forget
from assay.host.transaction.folder import names
from assay.host.transaction.writable import HostTree

HOST = HostTree()

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

LOOSE = Path(__file__).parent / "loose.py"
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
POOL = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")

HEAD = """
name = "steering"
question = "Is all of it in force, and taken back?"
[measure]
primary = "throughput"
warmup = "50ms"
window = "{window}"
[design]
kind = "arms"
[decide]
smallest = "20%"
margin = "20%"
budget = "10min"
"""
REDIS = """
[target]
kind = "redis"
connections = 4
[workload]
kind = "redis-get"
keys = 500
[network]
queues = 1
"""


def factor(name: str, change: str, *lines: str) -> str:
    return "\n".join(["[[factor]]", f'name = "{name}"', f'change = "{change}"', *lines, ""])


def arm(name: str, **levels: str) -> str:
    given = ", ".join(f'{factor} = "{level}"' for factor, level in levels.items())
    return f'[[arm]]\nname = "{name}"\nlevels = {{ {given} }}\n'


def state() -> tuple[str, str]:
    return THP.read_text(), POOL.read_text()


def holders() -> set[int]:
    """Processes that hold a network namespace of anybody's study."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if f"{OWNER}=".encode() in (entry / "environ").read_bytes():
                found.add(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def until(is_so: Callable[[], Any], patience_s: float = 60.0) -> bool:
    """Whether it comes to be so in a while."""
    end = time.monotonic() + patience_s
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(is_so())


def loaded_in(pids: set[int]) -> list[int]:
    """Loads that run in the namespaces of these holders."""
    found, named = [], set()
    for pid in pids:
        with contextlib.suppress(OSError):
            named.add(os.readlink(f"/proc/{pid}/ns/net"))
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            is_load = Path(f"/proc/{entry}/cmdline").read_bytes().endswith(b"assayer\0load\0")
            if is_load and os.readlink(f"/proc/{entry}/ns/net") in named:
                found.append(int(entry))
        except OSError:
            continue
    return found


@pytest.fixture
def as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the machine has changed after the test, and no namespace is left."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before, held, known = state(), holders(), set(names(HOST))
    yield
    while STARTED:
        ended(STARTED.pop())
    for name in set(names(HOST)) - known:
        forget(HOST, name)
    assert state() == before
    assert until(lambda: not holders() - held)


STARTED: list[subprocess.Popen[bytes]] = []


def assay(*words: str | Path) -> subprocess.Popen[bytes]:
    """Ended with the test, however that ends."""
    process = subprocess.Popen(
        [sys.executable, str(LOOSE), *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    STARTED.append(process)
    return process


def ended(process: subprocess.Popen[bytes]) -> str:
    """What it wrote; it ends as by Ctrl-C, and has a minute to give everything back."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)[1].decode()


def runs(bundle: Path) -> list[dict[str, Any]]:
    """Those that are written whole: a line is seen in parts while it is written."""
    path = bundle / "runs.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def some(folder: Path, text: str, arms: int) -> dict[str, dict[str, Any]]:
    """The first run of each arm; the study is then stopped as Ctrl-C would.

    A run that is void counts here: a busy machine spoils its speed, not what was in force.
    """
    (folder / "s.toml").write_text(text)
    bundle = folder / "bundle"
    process = assay("run", folder / "s.toml", "--out", bundle, "--seed", "3")

    def found() -> dict[str, dict[str, Any]]:
        return {run["arm"]: run for run in reversed(runs(bundle))}

    until(lambda: process.poll() is not None or len(found()) >= arms)
    story = ended(process)
    assert len(found()) >= arms, story
    return found()


def test_masks_and_pins_of_two_hosts_are_in_force_and_witnessed(tmp_path: Path, as_before) -> None:
    """Packets are handed on where a mask says so, and only there."""
    text = HEAD.format(window="300ms") + REDIS
    text += factor("rps", "host.rps", 'levels = ["off", "0"]')
    text += factor("pin", "host.pin", 'levels = ["none", "0/1"]')
    text += arm("bound", pin="0/1") + arm("both", rps="0", pin="0/1")
    found = some(tmp_path, text, 3)
    for run in found.values():
        assert run["status"] != "failed", run["reason"]
        assert all(w["held"] for w in run["witness"].values()), run["witness"]
    assert "server 0 (" in found["both"]["witness"]["pin"]["evidence"]
    received = {
        name: run["counters"]["softnet_received_rps.cpu0"] / run["operations"]
        for name, run in found.items()
    }
    # The client is on CPU 1, whose packets the mask hands to CPU 0.
    assert received["both"] > 0.02
    assert received["both"] > 10 * received["bound"]


PAGED = {
    "engine": 'kind = "engine"\n[workload]\nkind = "ycsb"\nrecords = 20000\nfields = 1\n',
    "chase": 'kind = "micro"\nthreads = 1\n[workload]\nkind = "chase"\nbytes = "16MiB"\n',
    "rocksdb": 'kind = "rocksdb"\n[workload]\nkind = "ycsb"\nmix = "c"\nrecords = 20000\n',
}


def is_refused(evidence: str) -> bool:
    """Whether the server asked for transparent pages, and the kernel alone is why it had few."""
    if "page faults that asked for a huge page had none" in evidence:
        return True
    found = re.search(r"of (\d+) touched and (\d+) asked for", evidence)
    return found is not None and int(found[2]) >= int(found[1]) / 2


@pytest.mark.parametrize("target", PAGED)
def test_pages_of_every_kind_are_had_for_a_run_and_given_back(
    tmp_path: Path, as_before, target: str
) -> None:
    """Without a pool of this machine's own. The kernel may refuse transparent ones: it says so, or
    at least that it would have given them, which tells that the process asked."""
    text = HEAD.format(window="100ms") + f"[target]\n{PAGED[target]}"
    text += factor("pages", "host.pages", 'levels = ["4k", "thp", "2m"]')
    text += arm("thp", pages="thp") + arm("2m", pages="2m")
    found = some(tmp_path, text, 3)
    for name, run in found.items():
        seen = run["witness"]["pages"]
        assert seen["held"] or (name == "thp" and is_refused(seen["evidence"])), (seen, run)
    assert "pages of 2097152" in found["2m"]["witness"]["pages"]["evidence"]


def test_pages_of_a_gibibyte_are_witnessed_or_left_out_with_the_reason(
    tmp_path: Path, as_before
) -> None:
    """Whether memory has such a piece is known when it is tried."""
    text = HEAD.format(window="100ms") + f"[target]\n{PAGED['chase']}"
    text += factor("pages", "host.pages", 'levels = ["4k", "1g"]', 'absent = "skip"')
    text += arm("giant", pages="1g")
    (tmp_path / "s.toml").write_text(text)
    bundle = tmp_path / "bundle"
    process = assay("run", tmp_path / "s.toml", "--out", bundle, "--seed", "3")
    until(lambda: process.poll() is not None or "giant" in {r["arm"] for r in runs(bundle)})
    story = ended(process)
    giants = [r for r in runs(bundle) if r["arm"] == "giant"]
    if not giants:
        assert re.search("1 GiB|1024 MiB|1048576kB", story), story
        return
    assert giants[0]["witness"]["pages"]["held"], giants[0]["witness"]
    assert "pages of 1073741824" in giants[0]["witness"]["pages"]["evidence"]


def test_killed_in_the_middle_the_next_command_brings_everything_back(
    tmp_path: Path, as_before
) -> None:
    """A policy, a pool and two namespaces, with a server in one and the load in the other."""
    held = holders()
    text = HEAD.format(window="60s").replace('"10min"', '"3h"') + REDIS
    wanted = f'{{ "{THP}" = "always", "{POOL}" = {int(POOL.read_text()) + 8} }}'
    as_is = f'{{ "{THP}" = "never", "{POOL}" = {int(POOL.read_text()) + 4} }}'
    text += factor("host", "host", f"off = {as_is}", f"on = {wanted}") + arm("on", host="on")
    (tmp_path / "s.toml").write_text(text)
    before = state()
    process = assay("run", tmp_path / "s.toml", "--out", tmp_path / "bundle")
    try:
        assert until(lambda: process.poll() is not None or loaded_in(holders() - held))
        assert process.poll() is None, process.stderr.read().decode()
        assert state() != before
        ours = holders() - held
    finally:
        process.kill()
        process.communicate()
    # Namespaces go by themselves, with all that ran in them.
    assert until(lambda: not ours & holders())
    assert state() != before
    story = assay("host", "status").communicate(timeout=60)[1]
    assert b"brought back" in story
    assert state() == before
