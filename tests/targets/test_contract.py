"""What every target does alike, whatever it is: a new one is held to this by its registry line.

Runs that only look are made once for each target, one at a change's off and one at its on, and
shared by the tests that read them.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from assay.changes import CATALOGUE, Change, Evidence, Level
from assay.core.errors import MissingError, RunError
from assay.targets import TARGETS, Launch, Measured, Target
from assay.targets.servers.framework import server as server_module
from assay.targets.servers.framework.adapter import Adapter, Program
from assay.targets.servers.framework.process import free_port
from assay.targets.servers.framework.target import ServerTarget
from assay.targets.stores.framework.library import LibraryInUse
from assay.targets.stores.framework.library_facts import known
from assay.targets.stores.framework.store import Store
from assay.targets.stores.framework.target import StoreTarget
from fault_kit import RUNS, cache, fill, launch, small_disk, temporary

__all__ = ["cache", "small_disk", "temporary"]

CHANGES = {
    "engine": "engine.spin_hint",
    "micro": "engine.spin_hint",
    "redis": "redis.io_threads",
    "valkey": "valkey.io_threads",
    "memcached": "memcached.threads",
    "nginx": "nginx.zone",
    "mariadb": "mariadb.placebo",
    "postgresql": "postgresql.placebo",
    "duckdb": "duckdb.placebo",
    "chdb": "chdb.placebo",
    "rocksdb": "rocksdb.placebo",
    "sqlite": "sqlite.placebo",
}
"""A change of each target that its short run shows."""

IGNORED = {
    "redis": ("maxmemory", "80mb"),
    "valkey": ("maxmemory", "80mb"),
    "memcached": ("reqs_per_event", 33),
    "mariadb": ("table_open_cache", 321),
    "postgresql": ("work_mem", "5MB"),
    "duckdb": ("pivot_limit", 100_001),
    "chdb": ("max_replica_delay_for_distributed_queries", 301),
    "rocksdb": ("max_open_files", 321),
    "sqlite": ("cache_size", -1234),
}
"""A setting of each server and store, with a value that it does not have by itself."""

KINDS = [k for k, t in TARGETS.items() if not t.is_named]
"""What a study names by its command is not known here: test_job.py, test_program.py."""

EVERY = pytest.mark.parametrize("kind", KINDS)
SERVERS = pytest.mark.parametrize("kind", [k for k, t in TARGETS.items() if t.protocol])
WHEELS = ("duckdb", "chdb")
ON_A_SOCKET = ("memcached", *WHEELS)
WITH_A_PORT = [k for k, t in TARGETS.items() if t.protocol and k not in ON_A_SOCKET]
STORES = [k for k, t in TARGETS.items() if isinstance(t, StoreTarget)]
ON_A_DISK = [k for k, t in TARGETS.items() if t.protocol and not t.loads_in_run] + STORES


def test_every_target_is_held_to_the_contract() -> None:
    """A new target has a run and a change here."""
    assert set(RUNS) == set(KINDS) == set(CHANGES)


@pytest.fixture(autouse=True)
def here(request: pytest.FixtureRequest) -> None:
    """A library in a wheel may be left out of an installation."""
    kind = getattr(request.node, "callspec", None) and request.node.callspec.params.get("kind")
    if kind in WHEELS and TARGETS[kind].found().startswith("not here"):
        pytest.skip(TARGETS[kind].found())


@dataclass(frozen=True)
class Observed:
    """One run and what it left."""

    reported: Mapping[str, Any]
    measured: Measured
    evidence: Evidence
    pid: int


def levels_of(kind: str) -> tuple[Change, Level, Level]:
    """The change of a target, off and on."""
    change = CATALOGUE[CHANGES[kind]]
    number = change.numeric_setting is not None and not change.sized
    off, on = (int(v) if number else v for v in (change.off, change.on))
    return change, change.level(off), change.level(on)


_RUNS: dict[tuple[str, str], Observed] = {}


def observed(kind: str, level: Level, log: Path) -> Observed:
    """A run at a level, made once for all tests; it is stopped twice."""
    settings = level.application.of(kind).settings
    run = (kind, str(settings))
    if run not in _RUNS:
        made = launch(kind, 1.0 if kind in WHEELS else 0.2, **settings)
        target = TARGETS[kind]
        target.check(made)
        server = target.start(made, log)
        try:
            reported = dict(server.read_back())
            measured = server.measure(lambda done, spent: None)
            evidence = server.evidence()
            assert server.pid is not None
        finally:
            server.stop()
            server.stop()
        _RUNS[run] = Observed(reported, measured, evidence, server.pid)
    return _RUNS[run]


@EVERY
def test_a_run_is_whole_and_says_what_it_was_given(kind: str, tmp_path: Path) -> None:
    """Settings are read back, work was done without an error, and the process is known."""
    _, off, _ = levels_of(kind)
    found, given = observed(kind, off, tmp_path / "log"), off.application.settings
    assert given == {n: found.reported[n] for n in given}
    assert found.measured.complete
    assert found.measured.operations > 0
    assert found.measured.errors == 0
    assert found.measured.metrics["throughput"] > 0
    assert len(found.evidence.executable.sha256) == 64
    assert ("load_seconds" in found.measured.metrics) == TARGETS[kind].loads_in_run
    assert not Path(f"/proc/{found.pid}").exists()


@EVERY
def test_evidence_tells_off_from_on(kind: str, tmp_path: Path) -> None:
    """The witness of a change holds for the level that ran, and for no other."""
    change, off, on = levels_of(kind)
    for level, other in ((off, on), (on, off)):
        found = observed(kind, level, tmp_path / "log")
        applied = level.application.settings
        held = change.witness.judge(level.name, applied, found.evidence)
        assert held.held, held.evidence
        applied = other.application.settings
        assert not change.witness.judge(other.name, applied, found.evidence).held


@pytest.mark.parametrize("kind", [k for k, t in TARGETS.items() if not t.is_bundled])
def test_the_dose_of_each_change_is_counted(kind: str, tmp_path: Path) -> None:
    """By every run, or by one with the change on: what nothing counts would be told as 0."""
    changes = [
        c for c in CATALOGUE.values() if c.dose and kind in c.targets and not c.dose.may_lack
    ]
    _, off, _ = levels_of(kind)
    plain = observed(kind, off, tmp_path / "log")
    for change in changes:
        if not is_counted(change, plain):
            on = observed(kind, change.level(change.on), tmp_path / "log")
            assert is_counted(change, on), change.name


def is_counted(change: Change, found: Observed) -> bool:
    """Whether a run has the counter of a change's dose, or members of its family."""
    assert change.dose is not None
    name = change.dose.counter
    return any(c == name or c.startswith(f"{name}.") for c in found.measured.counters)


@pytest.mark.parametrize("kind", [k for k, t in TARGETS.items() if not t.is_bundled])
def test_a_run_begins_in_the_state_that_the_one_before_began_in(kind: str, tmp_path: Path) -> None:
    """What a run reports of itself and its data does not depend on what ran before."""
    _, off, on = levels_of(kind)
    varied = off.application.settings.keys() | on.application.settings.keys()
    first, second = (observed(kind, level, tmp_path / "log") for level in (off, on))
    kept = first.reported.keys() - varied
    assert first.reported.keys() == second.reported.keys()
    assert {n: first.reported[n] for n in kept} == {n: second.reported[n] for n in kept}


def forgetful(target: Target, name: str) -> Target:
    """The target whose server or store is never told of a setting."""
    if isinstance(target, StoreTarget):
        return ForgetfulStore(target.store, name)
    assert isinstance(target, ServerTarget)
    adapter = target.adapter

    def command(self: Adapter, place: Any, settings: Mapping[str, Any]) -> list[str]:
        told = {n: v for n, v in settings.items() if n != name}
        return type(adapter).command(self, place, told)

    return ServerTarget(type("Forgetful", (type(adapter),), {"command": command})())


@dataclass(frozen=True)
class ForgetfulLibrary(LibraryInUse):
    """A library that stays at its default of a setting."""

    forgotten: str = ""

    def request(self, launch: Launch, action: str, folder: Path) -> dict[str, Any]:
        default = known(self.store.kind, self.path).options[self.forgotten]
        given = {**launch.settings, self.forgotten: default}
        return super().request(replace(launch, settings=given), action, folder)


class ForgetfulStore(StoreTarget):
    """A store with such a library."""

    def __init__(self, store: Store, forgotten: str) -> None:
        super().__init__(store)
        self.forgotten = forgotten

    def _opened(self, library: Path) -> LibraryInUse:
        return ForgetfulLibrary(self.store, library, self.listed_settings, self.forgotten)


def test_every_server_and_store_that_takes_settings_by_name_ignores_one_here() -> None:
    """nginx takes a file, of which only parts can be read back."""
    named = {k for k, t in TARGETS.items() if t.protocol or k in STORES}
    assert set(IGNORED) == named - {"nginx"}


@pytest.mark.parametrize("kind", IGNORED)
def test_a_setting_that_the_server_or_store_ignores_fails_the_run(
    kind: str, tmp_path: Path
) -> None:
    """It is named, with what it is and what it was to be."""
    name, value = IGNORED[kind]
    made = launch(kind, **{name: value})
    server = forgetful(TARGETS[kind], name).start(made, tmp_path / "log")
    try:
        with pytest.raises(RunError, match=f"{name}.*given"):
            server.read_back()
    finally:
        server.stop()


@EVERY
def test_a_target_whose_process_is_killed_fails_its_run(kind: str, tmp_path: Path) -> None:
    """kill -9 in the middle of the window; of a server it is said that it ended."""
    server = TARGETS[kind].start(launch(kind, window_s=60), tmp_path / "log")
    pid, said = server.pid, rf"{kind} ended during the run: .*SIGKILL"
    try:
        with pytest.raises(RunError, match=said if TARGETS[kind].protocol else None) as caught:
            server.measure(lambda done, spent: os.kill(pid or 0, signal.SIGKILL))
        assert caught.value.message
    finally:
        server.stop()


@SERVERS
def test_the_environment_of_an_arm_reaches_the_server(kind: str, tmp_path: Path) -> None:
    """Set, and taken out; nginx writes its title over it as soon as it runs."""
    made = replace(launch(kind, 1.0 if kind in WHEELS else 0.2), env={"ASSAY_X": "1", "LANG": None})
    server = TARGETS[kind].start(made, tmp_path / "log")
    try:
        server.measure(lambda done, spent: None)
        assert server.evidence().environ == {"ASSAY_X": "1"}
    finally:
        server.stop()


@SERVERS
def test_a_client_that_is_killed_fails_its_run_and_says_so(kind: str, tmp_path: Path) -> None:
    """kill -9 of `assayer load`: it is not taken for the server's fault."""
    server = TARGETS[kind].start(launch(kind, window_s=60), tmp_path / "log")
    try:
        with pytest.raises(RunError, match=rf"the load on {kind} failed: assayer gave no result"):
            server.measure(lambda done, spent: kill_loads())
        assert server._started.process.ended() == ""
    finally:
        server.stop()


def kill_loads() -> None:
    """kill -9 of every `assayer load` that this process started."""
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"assayer") and words[1] == b"load":
                os.kill(int(pid), signal.SIGKILL)


@pytest.mark.parametrize("kind", WITH_A_PORT)
def test_a_taken_port_is_tried_again_and_then_said(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's free port may be somebody else's a moment later."""
    TARGETS[kind].start(launch(kind), tmp_path / "log").stop()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = [taken.getsockname()[1]]
        monkeypatch.setattr(
            server_module, "free_port", lambda: ports.pop(0) if ports else free_port()
        )
        TARGETS[kind].start(launch(kind), tmp_path / "log").stop()
        assert not ports
        monkeypatch.setattr(server_module, "free_port", lambda: taken.getsockname()[1])
        with pytest.raises(RunError, match=r"(?i)did not start: .*in use"):
            TARGETS[kind].start(launch(kind), tmp_path / "log")


def without(adapter: Adapter, program: Program) -> ServerTarget:
    """The target on a machine that lacks one program."""
    absent = replace(program, name=f"{program.name}-of-nobody")
    programs = tuple(absent if p == program else p for p in adapter.programs)
    kind = type("Lacking", (type(adapter),), {"programs": programs})
    return ServerTarget(kind())


@pytest.mark.parametrize(
    ("adapter", "program"),
    [
        (target.adapter, program)
        for target in TARGETS.values()
        if isinstance(target, ServerTarget)
        for program in target.adapter.programs
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_a_missing_program_is_named_with_the_command_that_gets_it(
    adapter: Adapter, program: Program, tmp_path: Path
) -> None:
    """By `check`, by `start` and in the list, whichever of a server's programs it is."""
    target, made = without(adapter, program), launch(adapter.kind)
    for act in (target.check, lambda made: target.start(made, tmp_path / "log")):
        with pytest.raises(MissingError, match=f"{program.name}-of-nobody is not here") as caught:
            act(made)
        assert caught.value.next_step == program.next_step()
    assert target.found() == f"not here: {program.next_step()}"


@pytest.mark.parametrize("kind", STORES)
def test_a_missing_library_is_named_with_the_command_that_gets_it(
    kind: str, tmp_path: Path
) -> None:
    """By `check`, by `start` and in the list."""
    target = TARGETS[kind]
    assert isinstance(target, StoreTarget)
    name = f"{target.store.library}-of-nobody"
    lacking = StoreTarget(type("Lacking", (type(target.store),), {"library": name})())
    made = launch(kind)
    for act in (lacking.check, lambda made: lacking.start(made, tmp_path / "log")):
        with pytest.raises(MissingError, match=f"no {name} is installed") as caught:
            act(made)
        assert caught.value.next_step == f"sudo apt-get install {target.store.package}"
    assert lacking.found() == f"not here: {caught.value.next_step}"


@pytest.mark.parametrize("kind", ON_A_DISK)
def test_a_disk_that_is_full_at_the_start_is_what_is_said(
    kind: str, small_disk: Path, tmp_path: Path
) -> None:
    """Whatever was being made there: a copy, a configuration, a socket."""
    TARGETS[kind].start(launch(kind), tmp_path / "log").stop()
    fill(small_disk)
    with pytest.raises(MissingError, match=r"No space left|disk is full") as caught:
        TARGETS[kind].start(launch(kind), tmp_path / "log")
    assert "make room" in caught.value.next_step
    (small_disk / "filler").unlink()
