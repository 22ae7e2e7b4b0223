"""The life of one started server: copied data, a process, a load, and the evidence it leaves."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from assay import native
from assay.changes import Evidence, RanFunction, SeenExecutable
from assay.core.address import ServerAddress, parse_url
from assay.core.cache import needs_room, no_room
from assay.core.digest import contents_digest
from assay.core.errors import AssayError, InputError, MissingError, RunError
from assay.linux import procfs, smaps
from assay.linux.own_user import (
    give,
    maker,
    own_user,
    write_own,
)
from assay.linux.placement import Placement, placement
from assay.linux.softnet import packets
from assay.targets.base import PLAIN, Around, Launch, Measured, OnBegin, OnInterval, ignore
from assay.targets.client_health import health_of
from assay.targets.native.embedded import environment, process_evidence
from assay.targets.private_folder import own_folder
from assay.targets.servers.framework.adapter import Adapter, Place, Watch
from assay.targets.servers.framework.beside import BesideWindow
from assay.targets.servers.framework.data import copy, is_full
from assay.targets.servers.framework.load import CLIENT_NAMES, load_request, measured, unanswered
from assay.targets.servers.framework.process import Process, free_port, run_as
from assay.targets.servers.framework.rate_run import searched
from assay.targets.servers.framework.secret import draw

TRIES = 3
"""Starts: the port that was free may be taken before the server has it."""
TAKEN = "address already in use"
NO_SPACE = "no space left on device"
OTHER_DATA = re.compile(r"(?i)incompatible|not compatible|unsupported|downgrade|newer version")
"""How servers say that data are of another version than they are."""

_BUILD_IDS: dict[str, str | None] = {}


def _build_id(pid: int, sha256: str) -> str | None:
    """The build id of a running executable, read once for each content."""
    if sha256 not in _BUILD_IDS:
        _BUILD_IDS[sha256] = native.census(Path(f"/proc/{pid}/exe")).build_id
    return _BUILD_IDS[sha256]


class Asking:
    """Asks one server, whatever protocol it speaks."""

    def __init__(
        self, place: Place, target: ServerAddress, pid: int, before: Sequence[str] = ()
    ) -> None:
        self.place, self.pid, self._before = place, pid, before
        self._target = target.request()

    def __call__(self, *asks: str) -> list[native.Rows]:
        try:
            return native.ask_server(self._target, asks, before=self._before)
        except MissingError as error:
            # It was here a moment ago, so this is a run that failed.
            raise RunError(error.message) from error


class Running(Protocol):
    """The process of a server, whoever started it."""

    @property
    def pid(self) -> int | None:
        """None where it is elsewhere."""
        ...

    def ended(self) -> str: ...

    def last_words(self) -> str: ...

    def said(self) -> str: ...

    def environ(self, names: Sequence[str]) -> dict[str, str]: ...


class Serving(Protocol):
    """A server that is ready for one run, whoever started it."""

    adapter: Adapter
    settings: Mapping[str, Any]
    place: Place
    target: ServerAddress
    beside: Sequence[int]
    ask: Asking
    times: dict[str, float]
    """Of its start, in seconds."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What a bundle says of it, beside what it reports."""
        ...

    @property
    def folder(self) -> Path | None: ...

    @property
    def process(self) -> Running: ...

    def note(self, text: str) -> None: ...

    def stop(self) -> None: ...


class Started:
    """A server that runs and is ready, in its own folder."""

    facts: Mapping[str, Any] = MappingProxyType({})

    def __init__(
        self,
        adapter: Adapter,
        binary: Path,
        settings: Mapping[str, Any],
        data: Path | None,
        log: Path,
        env: Mapping[str, str | None],
        around: Around = PLAIN,
    ) -> None:
        self.adapter, self.binary, self.settings = adapter, binary, settings
        self._log, self._env, self._around = log, env, around
        self.user, self._secrets = own_user(), draw()
        self.times = {"reset_s": 0.0, "start_s": 0.0}
        self._is_over = False
        self._left = ExitStack()
        try:
            self.folder, self._watcher = self._left.enter_context(own_folder(adapter.kind))
            self._place_data(data)
            self.process = self._started()
        except OSError as error:
            self._left.close()
            with needs_room(self.folder):
                raise error
        except RunError as error:
            failed = self._explained(error, data)
            self._left.close()
            raise failed from error
        except BaseException:
            self._left.close()
            raise

    def _explained(self, error: RunError, data: Path | None) -> AssayError:
        """Why it did not start, where that is no fault of the server."""
        if NO_SPACE in error.message.lower() or is_full(self.folder):
            return no_room(self.folder, f"the disk is full: {error.message}")
        if data is not None and OTHER_DATA.search(error.message):
            return RunError(f"{error.message}; remove {data}, and its data are made again")
        return error

    def _place_data(self, data: Path | None) -> None:
        begun, place = time.monotonic(), Place(self.folder, 0, self.binary)
        if data is None:
            give(self.folder, maker())
            for command in self.adapter.make(place, self.settings):
                run_as(command, self.folder, maker())
            give(self.folder, self.user)
        else:
            (self.folder / "data").mkdir()
            copy(data, self.folder / "data")
            give(self.folder, self.user)
            for command in self.adapter.adjust(place, self.settings):
                run_as(command, self.folder, self.user)
        self.times["reset_s"] = time.monotonic() - begun

    def _started(self) -> Process:
        for last in range(TRIES - 1, -1, -1):
            begun = time.monotonic()
            here = self._around
            self.place = Place(
                self.folder,
                free_port(),
                self.binary,
                here.host,
                here.server,
                self.user,
                self._secrets,
            )
            for name, text in self.adapter.files(self.place).items():
                write_own(self.folder / name, text, self.user)
            beside = ExitStack()
            try:
                self.beside = beside.enter_context(self.adapter.beside(self.place, self.settings))
                process = self._begin(beside)
            except RunError as error:
                beside.close()
                if last and TAKEN in error.message.lower():
                    continue
                raise
            except BaseException:
                beside.close()
                raise
            self._left.push(beside)
            self.times["start_s"] = time.monotonic() - begun
            return process
        raise AssertionError("the last try returns or raises")

    def _begin(self, beside: ExitStack) -> Process:
        adapter = self.adapter
        process = Process(
            adapter.command(self.place, self.settings),
            self.folder,
            self._log,
            env=environment(self._env),
            user=None if adapter.becomes_user else self.user,
            stop_signal=adapter.stop_signal,
            orphan_signal=adapter.orphan_signal,
            name=adapter.program(self.binary),
            watcher=self._watcher,
            before=self._around.server,
        )
        # Its folder goes with it: there is nothing that it would have to write.
        beside.callback(adapter.tidy, self.place)
        beside.callback(process.stop, at_once=True)
        secrets = self._secrets
        self.target = self._address(adapter.url(self.place), secrets.load)
        self.admin = self._address(adapter.admin_url(self.place), secrets.admin)
        self.ask = Asking(self.place, self.admin, process.pid, self._around.client)
        process.wait_until(lambda: self._is_ready(process), adapter.is_fatal)
        return process

    def _address(self, url: str, password: str) -> ServerAddress:
        found = parse_url(url, {})
        return replace(found, password=password) if self.adapter.takes_secret else found

    def _is_ready(self, process: Process) -> bool:
        socket = self.adapter.on_socket
        if not ((self.folder / socket).exists() if socket else process.listens(self.place.port)):
            return False
        greeting = self.adapter.greeting(self.place)
        try:
            if greeting:
                self.ask(*greeting)
        except RunError:
            return False
        return True

    def note(self, text: str) -> None:
        """A line of our own in the server's log."""
        with self._log.open("a") as log:
            log.write(f"assay: {text}\n")

    def stop(self) -> None:
        """Ends it and removes its folder. Safe to call twice."""
        begun = time.monotonic()
        self._left.close()
        if not self._is_over:
            self._is_over = True
            times = ((k, v) for k, v in self.times.items() if k.endswith("_s"))
            spent = ", ".join(f"{k.removesuffix('_s')} {v:.3f} s" for k, v in times)
            self.note(f"{spent}, stop {time.monotonic() - begun:.3f} s")


def _shown(process: Running, watched: tuple[str, ...]) -> Evidence:
    """What /proc shows of a process; nothing of one that is elsewhere, somebody else's or gone."""
    pid = process.pid
    if pid is None:
        return Evidence()
    try:
        found = process_evidence(pid, ())
    except OSError:
        return Evidence()
    executable = found.executable
    assert executable is not None, "it has been read"
    return replace(
        found,
        environ=process.environ(watched),
        executable=replace(executable, build_id=_build_id(pid, executable.sha256)),
    )


class ServerRun:
    """One server of a run: a `Server` as the bench knows it."""

    def __init__(self, started: Serving, launch: Launch, log: Path) -> None:
        self._started, self._launch, self._log = started, launch, log
        self._read_back: dict[str, Any] = {}
        self._measured: Measured | None = None
        self._process = Evidence()
        self._pages: dict[str, int] = {}
        self._placements: tuple[Placement | None, Placement | None] = (None, None)

    def read_back(self) -> Mapping[str, Any]:
        if self._read_back:
            return self._read_back
        started, client = self._started, CLIENT_NAMES & self._launch.settings.keys()
        found = started.adapter.read_back(started.ask, started.settings)
        for name, given in started.settings.items():
            if name not in found:
                raise RunError(f"{started.adapter.kind} does not report {name}, set to {given!r}")
            if found[name] != given:
                raise RunError(
                    f"{started.adapter.kind} reports {name} = {found[name]!r}, "
                    f"but was given {given!r}"
                )
        given = {name: self._launch.settings[name] for name in client}
        self._read_back = {**found, **given, **started.facts}
        self._process = _shown(started.process, tuple(self._launch.env))
        image = started.adapter.image(started.place)
        if image is not None:
            pid = started.process.pid
            if pid is None or not procfs.maps_file(pid, image):
                raise RunError(f"the process has not loaded {image}")
            self._process = replace(
                self._process, executable=SeenExecutable(contents_digest(image))
            )
        return self._read_back

    @property
    def pid(self) -> int | None:
        return self._started.process.pid

    def measure(self, on_interval: OnInterval, on_begin: OnBegin = ignore) -> Measured:
        self.read_back()
        promise = self._launch.promise
        if promise is None:
            found = self._window(self._launch, on_interval, on_begin)
        else:
            on_begin()
            found = searched(
                self._launch, promise, lambda one: self._window(one, on_interval, ignore)
            )
        self._measured = found
        pid = self._started.process.pid
        self._pages = {} if pid is None else smaps.memory(pid)
        return found

    def _window(self, launch: Launch, on_interval: OnInterval, on_begin: OnBegin) -> Measured:
        """One load of the server, for one window."""
        started = self._started
        request = load_request(
            launch,
            started.adapter,
            started.place,
            started.process.pid,
            started.beside,
            started.target,
        )
        with self._log.open("ab") as log:
            before = self._launch.around.client
            session = native.Session("load", request, log=log, before=before)
            try:
                return self._collect(session, on_interval, on_begin)
            finally:
                session.stop()

    def _collect(
        self, session: native.Session, on_interval: OnInterval, on_begin: OnBegin
    ) -> Measured:
        started, before, done = self._started, {}, 0
        around, raised = self._launch.around, {}
        watch: Watch | None = None
        beside = BesideWindow(
            self._launch, started.process.pid, lambda: started.adapter.moment(started.ask)
        )
        intervals: list[native.WindowInterval] = []
        health = result = None
        try:
            for message in session.messages():
                match message:
                    case native.RunPhase(name="measure"):
                        on_begin()
                        before = started.adapter.counters(started.ask)
                        watch = started.adapter.watch(started.place, started.settings)
                        beside.begin()
                        self._look_around(session.process.pid)
                        raised = packets() if around.counts_packets else {}
                    case native.WindowInterval():
                        self._require_sound(message)
                        intervals.append(message)
                        done += message.operations
                        on_interval(done, (message.start_ms + message.length_ms) / 1000)
                        beside.interval()
                    case native.Health():
                        health = message
                    case native.RunResult():
                        result, last = message, packets() if raised else {}
        except (MissingError, InputError, RunError) as error:
            raise self._failed(error.message) from error
        finally:
            seen = watch.stop() if watch else {}
            beside.stop()
        if result is None or health is None or result.load is None:
            raise self._failed("the load ended without a result")
        if result.load.ended_by is not None or started.process.ended():
            raise self._failed(result.load.ended_by or "")
        never = unanswered(result)
        if never:
            started.note(f"no latency_geomean: the window answered no {', '.join(never)}")
        after = started.adapter.counters(started.ask) if result.complete else before
        kept = started.adapter.since_start
        counted = {
            name: value - (0.0 if name in kept else before.get(name, 0.0))
            for name, value in after.items()
        } | seen
        waits = started.adapter.waits(counted)
        if raised:
            counted |= {name: value - raised[name] for name, value in last.items()}
        health = health_of(health, result.cpus, around.server_cpus, around.counts_packets)
        options = self._launch.parameters
        found = measured(result, health, intervals, counted, started.times, waits, options)
        return beside.added_to(found, result)

    def _look_around(self, client: int) -> None:
        """Where server and client run, once all that the load connects to is there."""
        pid = self._started.process.pid
        if self._launch.around.looks:
            self._placements = None if pid is None else placement(pid), placement(client)

    def _require_sound(self, interval: native.WindowInterval) -> None:
        """RunError where it makes no sense to go on to the window's end."""
        if interval.errors and self._is_full():
            raise RunError(f"{interval.errors} operations failed")
        if self._started.process.ended():
            raise RunError("its first process ended, though others still answer")

    def _is_full(self) -> bool:
        return self._started.folder is not None and is_full(self._started.folder)

    def _failed(self, why: str) -> AssayError:
        """A failed run, and the server's end if that is what it is about."""
        name, process = self._started.adapter.kind, self._started.process
        if self._is_full() or NO_SPACE in process.said().lower():
            said = f"the disk is full: the load on {name} failed: {why}"
            return no_room(self._started.folder or Path("its data directory"), said)
        # The load may see the closed connection before the kernel has the process' end.
        for _ in range(50):
            if process.ended():
                return RunError(f"{name} ended during the run: {process.last_words()}")
            if "connection" not in why and "closed" not in why:
                break
            time.sleep(0.01)
        return RunError(f"the load on {name} failed: {why}")

    def evidence(self) -> Evidence:
        assert self._measured is not None, "evidence is shown after the run was measured"
        operations, pid = self._measured.operations, self._started.process.pid
        server, client = self._placements
        return replace(
            self._process,
            read_back=self._read_back,
            memory=self._pages,
            server_placement=server,
            client_placement=client,
            status={} if pid is None else procfs.status(pid),
            counters=dict(self._measured.counters),
            executed=operations,
            operations=operations,
            functions=self._functions(),
        )

    def _functions(self) -> tuple[RanFunction, ...]:
        """The census of what the adapter names, where the executable has its symbols."""
        roles = self._started.adapter.functions
        if not roles or self._started.process.pid is None:
            return ()
        exe = Path(f"/proc/{self._started.process.pid}/exe")
        census = native.census(exe, symbols=[s for names in roles.values() for s in names])
        found = {f.asked: f for f in census.functions}
        return tuple(
            RanFunction(role, found[n].symbol, found[n].instructions, found[n].counts)
            for role, names in roles.items()
            for n in names
            if n in found
        )

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._started.stop()
