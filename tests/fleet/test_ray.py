"""Ray for real, as an extra that may be absent: one host on loopback, two in namespaces.

Two namespaces joined by a pair of virtual devices stand for two machines: each has an address of
its own and its own processes of Ray, and keys are needed between them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from assay.fleet import nodes
from assay.fleet.inventory import Inventory
from assay.fleet.keys import make_keys
from assay.host.namespaces import Pair, made
from assay.linux.processes import identity, marked, read, tree
from fleet_kit import LOOPBACK, inventory, two

pytestmark = [
    # `make test-fleet`: minutes, of clusters that start and are killed.
    pytest.mark.large,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'assay[fleet]'"),
    # Ray takes seconds to start and to end on a busy machine, each of them several times.
    pytest.mark.timeout(400),
]
ROOT = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("openssl") is None, reason="needs root and openssl"
)
ASSAY = (sys.executable, "-c", "from assay.cli import main; main()")
BEGIN = """
import sys, time
from pathlib import Path
from assay.fleet import nodes
from assay.fleet.inventory import read_inventory
from assay.fleet.keys import security
from assay.fleet.ray_transport import connected
from assay.fleet.transport import placed
lab = read_inventory(Path(sys.argv[1]))
secure = nodes.environment(security(lab))
with connected(lab.address, secure, lab.hosts[lab.head].address) as hosts:
    with placed(hosts, sys.argv[2], lab.lease_s) as link:
        print(link.call("hello")["boot"], flush=True)
        time.sleep(600)
"""
"""A head that holds an agent."""


def run(*words: str | Path, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [*before, *ASSAY, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def until(is_so: Callable[[], bool], seconds: float) -> bool:
    """Whether it comes to be so in a while."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def keepers(within: Sequence[int]) -> list[str]:
    """Keepers and all below them, of some processes."""
    roots = [pid for pid in within if nodes.KEEPER in read(Path(f"/proc/{pid}/cmdline"))]
    return [identity(pid) for root in roots for pid in tree(root)]


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[tuple[Path, Inventory]]:
    """A fleet of one, on loopback."""
    lab = inventory(tmp_path, f"port = 7390\n{LOOPBACK}")
    yield tmp_path / "lab.toml", lab
    nodes.end(lab, lab.hosts["here"])


def test_a_fleet_of_one_comes_up_is_checked_and_goes(alone: tuple[Path, Inventory]) -> None:
    """Ray, stopped, does not wake up; the agent starts clean; nothing is left."""
    file, lab = alone
    up = run("fleet", "up", file)
    assert up.returncode == 0, up.stderr
    assert run("fleet", "up", file).returncode == 3
    done = run("fleet", "check", file, "--json")
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    assert report["findings"] == []
    (host,) = report["hosts"]
    assert host["idle"]["processes"] >= 3
    assert host["idle"]["wakeups_per_s"] > 1
    assert host["stopped"]["wakeups_per_s"] <= 1
    assert host["stopped"]["cpu_ms_per_s"] < 1
    members = [identity(pid) for pid in nodes.running(lab, lab.hosts["here"])]
    assert members
    down = run("fleet", "down", file)
    assert down.stdout == "here has ended\n", down.stderr
    assert nodes.living(members) == []
    assert run("fleet", "status", file).returncode == 3


QUICK = """
name = "quick"
question = "Is the lock-free cache faster?"

[target]
kind = "engine"

[workload]
kind = "ycsb"
records = 2000
fields = 1

[measure]
primary = "throughput"
warmup = "50ms"
window = "100ms"
design = "runs"

[[factor]]
name = "cache"
change = "engine.data_cache"

[design]
kind = "one-at-a-time"

[decide]
budget = "10s"
"""


def test_a_study_runs_on_a_host_while_ray_is_stopped(
    alone: tuple[Path, Inventory], tmp_path: Path
) -> None:
    """Its bundle verifies, and a second time nothing is run."""
    file, _ = alone
    assert run("fleet", "up", file).returncode == 0
    (tmp_path / "quick.toml").write_text(QUICK)
    words = ("fleet", "run", file, tmp_path / "quick.toml", "--out", tmp_path / "bundles")
    done = run(*words, "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    (outcome,) = json.loads(done.stdout)
    assert (outcome["state"], outcome["host"]) == ("finished", "here")
    bundle = tmp_path / "bundles" / "quick"
    assert run("verify", bundle).returncode == 0
    lines = (bundle / "runs.jsonl").read_text()
    assert '"status":"failed"' not in lines.replace(" ", "")
    assert run(*words).returncode == 0
    assert (bundle / "runs.jsonl").read_text() == lines


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two networks of this machine."""
    with made(1) as found:
        yield found


@pytest.fixture
def apart(tmp_path: Path, pair: Pair) -> Iterator[tuple[Path, Inventory]]:
    """A fleet of two: the head in one network, a host in the other."""
    lab = two(tmp_path)
    make_keys(lab)
    file = tmp_path / "lab.toml"
    try:
        for name, side in (("x86", pair.server), ("arm", pair.client)):
            done = run("fleet", "up", file, "--as", name, before=side.enter)
            assert done.returncode == 0, done.stderr
        yield file, lab
    finally:
        for host in lab.hosts.values():
            nodes.end(lab, host)


@ROOT
def test_two_hosts_join_and_are_compared(apart: tuple[Path, Inventory], pair: Pair) -> None:
    """With token and TLS between them; without the keys nobody gets in."""
    file, _ = apart
    status = run("fleet", "status", file, before=pair.server.enter)
    assert status.returncode == 0, status.stderr
    done = run("fleet", "check", file, "--json", before=pair.server.enter)
    report = json.loads(done.stdout)
    assert [host["name"] for host in report["hosts"]] == ["x86", "arm"]
    assert [finding["kind"] for finding in report["findings"]] == [], report["findings"]
    assert all(host["stopped"]["wakeups_per_s"] <= 1 for host in report["hosts"])
    shutil.rmtree(file.parent / "keys")
    run("fleet", "keys", file)
    refused = run("fleet", "status", file, before=pair.server.enter)
    assert refused.returncode == 3
    assert "no fleet answers at 198.18.0.1:6390" in refused.stderr


def started(file: Path, host: str, pair: Pair) -> subprocess.Popen[Any]:
    """A head that holds an agent on a host; it has answered."""
    words = [*pair.server.enter, sys.executable, "-c", BEGIN, str(file), host]
    head = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert head.stdout is not None
    assert head.stdout.readline().strip()
    return head


@ROOT
@pytest.mark.parametrize("how", ["head killed", "link down", "raylet killed", "worker killed"])
def test_whatever_is_lost_the_agent_ends(
    apart: tuple[Path, Inventory], pair: Pair, how: str
) -> None:
    """Within its lease and the time it takes to end, nothing of it runs on its host."""
    file, lab = apart
    head = started(file, "arm", pair)
    try:
        members = [p for root in marked("ASSAY_FLEET=lab/arm") for p in tree(root)]
        kept = keepers(members)
        assert len(kept) >= 2
        if how == "head killed":
            os.killpg(head.pid, 9)
        elif how == "link down":
            down = ["ip", "link", "set", "dev", pair.client.device, "down"]
            subprocess.run([*pair.client.enter, *down], check=True)
        else:
            named = {"raylet killed": "raylet", "worker killed": "ray::Relay"}[how]
            pids = [p for p in members if read(Path(f"/proc/{p}/comm")).startswith(named[:15])]
            assert pids, [read(Path(f"/proc/{p}/comm")) for p in members]
            os.kill(pids[0], 9)
        assert until(lambda: not nodes.living(kept), lab.lease_s + 15), how
    finally:
        head.kill()
        head.wait()
        assert head.stdout is not None
        head.stdout.close()
