"""Keepers for real: an agent ends with its lease, its relay or its keeper, and nothing stays."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.core.errors import InputError, LostError
from assay.fleet.kept import KeptAgent
from assay.fleet.protocol import RENEW
from assay.linux.processes import children, identity, is_alive, read

LEASE_S = 2.0
CHANGED = "/proc/sys/vm/swappiness"

CHANGING = """
import sys, time
from assay.bench.host_values import in_force
with in_force({"vm.swappiness": sys.argv[1]}):
    sys.stderr.write("in force\\n")
    sys.stderr.flush()
    time.sleep(600)
"""
"""In an agent's place: it changes a value of the host and hangs."""

STOPPING = """
import sys
sys.stdout.write('{"control": "stop", "seconds": 1.0}\\n')
sys.stdout.flush()
sys.stderr.write(sys.stdin.readline())
sys.stderr.flush()
sys.stdin.read()
"""
"""In an agent's place: it has Ray stopped and never asks to go on."""


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "log"
    path.touch()
    yield path
    sys.stderr.write(path.read_text())


@pytest.fixture
def start(log: Path) -> Iterator[Callable[..., KeptAgent]]:
    """Starts keepers, and ends those that a test left."""
    made: list[KeptAgent] = []

    def begin(*agent: str, lease_s: float = LEASE_S) -> KeptAgent:
        with log.open("ab") as out:
            made.append(KeptAgent(lease_s, agent, out))
        return made[-1]

    yield begin
    for kept in made:
        kept.end()


def until(is_so: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether it comes to be so in a while."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def ask(kept: KeptAgent, verb: str, **request: object) -> dict[str, object]:
    return kept.exchange(verb, request, 30.0).value("here")


def agent_of(kept: KeptAgent) -> str:
    """Its identity, once it is there."""
    assert until(lambda: bool(children(kept.process.pid)))
    return identity(children(kept.process.pid)[0])


def test_an_agent_answers_and_starts_clean(start: Callable[..., KeptAgent]) -> None:
    """Who it is, its clocks, and errors of its own; of this process' niceness nothing is left."""
    kept = start(lease_s=60.0)
    hello = ask(kept, "hello")
    assert hello["user"] == os.geteuid()
    assert hello["leftovers"] == []
    assert ask(kept, "clock").keys() == {"wall_ns", "monotonic_ns"}
    with pytest.raises(InputError, match="here: an agent of Assay"):
        ask(kept, "dance")
    kept.end()
    assert kept.process.returncode == 0
    with pytest.raises(LostError, match="has ended"):
        ask(kept, "clock")


def test_without_a_renewal_the_agent_ends(start: Callable[..., KeptAgent], log: Path) -> None:
    """With one it lives longer than its lease."""
    kept = start()
    agent = agent_of(kept)
    for _ in range(6):
        assert ask(kept, RENEW) == {}
        time.sleep(LEASE_S / 4)
    assert is_alive(agent)
    assert until(lambda: kept.process.poll() is not None)
    assert not is_alive(agent)
    assert "no word of the head for 2 s" in log.read_text()


def test_an_agent_ends_with_its_relay(start: Callable[..., KeptAgent], log: Path) -> None:
    """At once, however long its lease is."""
    kept = start(lease_s=100.0)
    agent = agent_of(kept)
    assert kept.process.stdin is not None
    kept.process.stdin.close()
    assert until(lambda: kept.process.poll() is not None)
    assert not is_alive(agent)
    assert "the relay ended" in log.read_text()


def test_a_keeper_ends_with_its_agent(start: Callable[..., KeptAgent], log: Path) -> None:
    """And who waits for an answer hears of it."""
    kept = start(lease_s=100.0)
    ask(kept, "clock")
    os.kill(children(kept.process.pid)[0], signal.SIGKILL)
    assert until(lambda: kept.process.poll() is not None)
    assert "the agent ended with code -9" in log.read_text()
    with pytest.raises(LostError):
        ask(kept, "clock")


def test_an_agent_ends_with_a_keeper_that_is_killed(start: Callable[..., KeptAgent]) -> None:
    """Whatever it does."""
    kept = start(lease_s=100.0)
    ask(kept, "clock")
    agent = agent_of(kept)
    kept.process.kill()
    kept.process.wait()
    assert until(lambda: not is_alive(agent))


@pytest.mark.skipif(
    os.geteuid() != 0 or not os.access(CHANGED, os.W_OK), reason="needs root on the host itself"
)
@pytest.mark.parametrize("how", ["lease", "killed", "relay"])
def test_what_an_agent_changed_is_brought_back(
    start: Callable[..., KeptAgent], log: Path, how: str
) -> None:
    """When the head is silent for the lease, when the agent is killed, when its relay ends."""
    before = read(Path(CHANGED)).strip()
    other = str(int(before) + 1)
    kept = start(sys.executable, "-c", CHANGING, other, lease_s=6.0 if how == "lease" else 100.0)
    assert until(lambda: "in force" in log.read_text())
    assert read(Path(CHANGED)).strip() == other
    if how == "killed":
        os.kill(children(kept.process.pid)[0], signal.SIGKILL)
    elif how == "relay":
        assert kept.process.stdin is not None
        kept.process.stdin.close()
    assert until(lambda: kept.process.poll() is not None)
    assert read(Path(CHANGED)).strip() == before


def test_a_keeper_answers_a_stop_where_there_is_no_ray(
    start: Callable[..., KeptAgent], log: Path
) -> None:
    """Nothing is stopped, and the lease is not cut short meanwhile."""
    kept = start(sys.executable, "-c", STOPPING)
    assert until(lambda: '{"control": "done"' in log.read_text())
    assert kept.process.poll() is None
    assert until(lambda: kept.process.poll() is not None)
