"""Many studies on many hosts, with agents of this process."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import LostError
from assay.fleet.agent import Agent
from assay.fleet.local import LocalHosts
from assay.fleet.queue import QueuedOutcome, QueuedStudy, StudyQueue
from assay.fleet.transport import PresentHost
from assay.record import Bundle, differences
from fakes import STUDY, FakeTarget, throttled
from fleet_kit import measuring


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where agents of this test have their folders."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


class Told:
    """What the queue said, and how many studies a host had at the same time."""

    def __init__(self) -> None:
        self.lock, self.busy, self.most = threading.Lock(), Counter[str](), 0
        self.began: list[tuple[str, str]] = []
        self.outcomes: list[QueuedOutcome] = []

    def begins(self, study: str, host: str) -> None:
        with self.lock:
            self.began.append((study, host))
            self.busy[host] += 1
            self.most = max(self.most, self.busy[host])

    def ended(self, outcome: QueuedOutcome) -> None:
        with self.lock:
            self.outcomes.append(outcome)
            self.busy[outcome.host] -= 1


def fake() -> FakeTarget:
    return FakeTarget(
        effect=lambda settings, env: 1.3 if settings["data_cache"] == "optimistic" else 1.0
    )


def hosts(**agents: Agent) -> LocalHosts:
    return LocalHosts(
        (PresentHost(name, f"198.18.0.{n}", {}), found)
        for n, (name, found) in enumerate(agents.items(), 1)
    )


def studies(folder: Path, count: int, text: str = STUDY) -> list[QueuedStudy]:
    return [QueuedStudy(f"s{n}", text, folder / f"s{n}", seed=n) for n in range(count)]


def queue(asked: list[QueuedStudy], transport: LocalHosts, told: Told) -> list[QueuedOutcome]:
    names = [host.name for host in transport.present()]
    return StudyQueue(asked, names, transport, 6.0, told).run()


def test_ten_hosts_run_a_hundred_studies_one_at_a_time(tmp_path: Path) -> None:
    """Each is finished and verifies; every host had some."""
    told = Told()
    asked = studies(tmp_path, 100)
    outcomes = queue(asked, hosts(**{f"h{n}": measuring(fake()) for n in range(10)}), told)
    assert [outcome.study for outcome in outcomes] == [study.name for study in asked]
    assert {outcome.state for outcome in outcomes} == {"finished"}
    assert told.most == 1
    assert len({host for _, host in told.began}) == 10
    bundle = Bundle.open(tmp_path / "s42")
    assert differences(bundle) == []


def test_a_study_that_is_finished_is_not_run_again(tmp_path: Path) -> None:
    """Nothing is measured the second time."""
    target = fake()
    transport = hosts(arm=measuring(target))
    queue(studies(tmp_path, 2), transport, Told())
    started = target.started
    outcomes = queue(studies(tmp_path, 2), transport, Told())
    assert [outcome.state for outcome in outcomes] == ["finished", "finished"]
    assert target.started == started


class Dying(Agent):
    """An agent that is gone after some runs, with its host."""

    def __init__(self, after: int) -> None:
        self._inner, self._left = measuring(fake()), after

    def answer(self, verb: str, request: Mapping[str, Any]) -> dict[str, Any]:
        self._left -= verb == "runs"
        if self._left < 0:
            raise LostError("no answer")
        return self._inner.answer(verb, request)

    def end(self) -> None:
        self._inner.end()


def test_a_host_that_is_lost_leaves_the_rest_to_the_others(tmp_path: Path) -> None:
    """Its study waits for it: another machine would not be the same."""
    told = Told()
    outcomes = queue(studies(tmp_path, 6), hosts(arm=Dying(5), x86=measuring(fake())), told)
    lost = [outcome for outcome in outcomes if outcome.state == "lost"]
    assert [outcome.host for outcome in lost] == ["arm"]
    assert [o.state for o in outcomes if o not in lost] == ["finished"] * 5
    again = queue(studies(tmp_path, 6), hosts(x86=measuring(fake())), Told())
    (waiting,) = [outcome for outcome in again if outcome.state == "waiting"]
    assert waiting.study == lost[0].study
    assert waiting.why == "it was begun on arm, which is not among the hosts"
    third = queue(studies(tmp_path, 6), hosts(arm=measuring(fake()), x86=measuring(fake())), Told())
    assert {outcome.state for outcome in third} == {"finished"}


def test_without_a_host_that_lives_studies_wait(tmp_path: Path) -> None:
    """They are named."""
    outcomes = queue(studies(tmp_path, 3), hosts(arm=Dying(0)), Told())
    assert [outcome.state for outcome in outcomes] == ["lost", "waiting", "waiting"]
    assert outcomes[1].why == "no host was left to run it"


def test_a_study_that_cannot_be_run_does_not_hold_up_the_next(tmp_path: Path) -> None:
    """What is wrong with it is said, and of which host."""
    asked = [QueuedStudy("bad", "name = 3", tmp_path / "bad"), *studies(tmp_path, 1)]
    outcomes = queue(asked, hosts(arm=measuring(fake())), Told())
    assert [outcome.state for outcome in outcomes] == ["failed", "finished"]
    assert outcomes[0].why.startswith("arm: ")
    assert not (tmp_path / "bad").exists()


def test_a_study_that_is_void_too_often_can_be_gone_on_with(tmp_path: Path) -> None:
    """As on one machine."""

    broken = FakeTarget(script=lambda number, measured: throttled(measured))
    (outcome,) = queue(studies(tmp_path, 1), hosts(arm=measuring(broken)), Told())
    assert outcome.state == "void"
    assert "was void" in outcome.why


def test_ctrl_c_ends_the_runs_in_progress_and_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was measured is kept, and a second time it goes on."""
    asked = []

    def stop() -> None:
        asked.append(1)
        if len(asked) > 20:
            raise KeyboardInterrupt

    monkeypatch.setattr("assay.bench.study_run.stop_if_asked", stop)
    (outcome, *_) = queue(studies(tmp_path, 2), hosts(arm=measuring(fake())), Told())
    assert outcome.state == "stopped"
    assert Bundle.open(tmp_path / "s0").runs()
