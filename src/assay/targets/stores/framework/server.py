"""The life of one run: copied data, `assayer store` over them, and the evidence it leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay import native
from assay.changes import Evidence
from assay.core.errors import InputError, MissingError, RunError
from assay.linux.placement import Placement, placement
from assay.targets.base import Launch, Measured, OnBegin, OnInterval, ignore
from assay.targets.native.embedded import environment, process_evidence
from assay.targets.private_folder import own_folder
from assay.targets.servers.framework.data import copy
from assay.targets.servers.framework.load import measured
from assay.targets.stores.framework.evidence import functions, loaded
from assay.targets.stores.framework.library import LibraryInUse


class StoreRun:
    """One store of a run: a `Server` as the bench knows it."""

    def __init__(self, library: LibraryInUse, launch: Launch, data: Path, log: Path) -> None:
        self._library, self._launch, self._log = library, launch, log
        self._kind = library.store.kind
        self._ready: native.Ready | None = None
        self._measured: Measured | None = None
        self._read_back: dict[str, Any] = {}
        self._process = Evidence()
        self._pages: dict[str, int] = {}
        self._placement: Placement | None = None
        self._is_over = False
        self._left = ExitStack()
        try:
            self._folder, self._watcher = self._left.enter_context(own_folder(self._kind))
            begun = time.monotonic()
            copy(data, self._folder)
            self._times = {"reset_s": time.monotonic() - begun, "start_s": 0.0}
            self._begun = time.monotonic()
            self._session = self._left.enter_context(self._started())
        except BaseException:
            self._left.close()
            raise
        self._messages = self._said(self._session)
        # At once: a short run may be over before anybody looks again.
        self._look()

    def _look(self) -> None:
        """What /proc says of the process; if it has ended, what was seen before stays."""
        with suppress(OSError):
            watched = tuple(self._launch.env)
            self._process = process_evidence(self._session.process.pid, watched)

    @contextmanager
    def _started(self) -> Iterator[native.Session]:
        request = self._library.request(self._launch, "run", self._folder)
        # Its folder is its TMPDIR too: whatever it spills goes with it.
        env = {**environment(self._launch.env), "TMPDIR": str(self._folder)}
        with self._log.open("ab") as log:
            before = self._launch.around.server
            session = native.Session("store", request, log=log, env=env, before=before)
        try:
            self._watcher.guard(session.process.pid)
            yield session
        finally:
            session.stop()
            self._watcher.guard(None)

    def read_back(self) -> Mapping[str, Any]:
        if self._ready is not None:
            return self._read_back
        message = next((m for m in self._messages if isinstance(m, native.Ready)), None)
        if message is None:
            raise RunError(f"{self._kind} ended before it was ready")
        self._times["start_s"] = time.monotonic() - self._begun
        self._look()  # the first time its environment may not have been in place
        manifest = message.manifest
        reported = {**manifest["settings"]}
        wrong = self._library.differing(self._launch, reported)
        if wrong:
            raise RunError(f"{self._kind} {wrong[0]}")
        given = {n: v for n, v in self._launch.settings.items() if v is not None}
        library = loaded(message.pid, self._library.path, manifest["library"])
        self._process = replace(self._process, executable=library)
        about: dict[str, Any] = {n: manifest[n] for n in ("version", "records") if n in manifest}
        about["library_sha256"] = library.sha256
        self._read_back = {**reported, **given, **about}
        self._ready = message
        return self._read_back

    def _said(self, session: native.Session) -> Iterator[native.Message]:
        """Its messages; what is missing or refused only now has failed the run."""
        try:
            yield from session.messages()
        except (MissingError, InputError) as error:
            raise RunError(f"{self._kind}: {error.message}") from error

    @property
    def pid(self) -> int | None:
        return self._session.process.pid

    def measure(self, on_interval: OnInterval, on_begin: OnBegin = ignore) -> Measured:
        self.read_back()
        intervals: list[native.WindowInterval] = []
        health = result = None
        done = 0
        for message in self._messages:
            match message:
                case native.RunPhase(name="measure"):
                    on_begin()
                    if self._launch.around.looks:
                        self._placement = placement(self._session.process.pid)
                case native.WindowInterval():
                    intervals.append(message)
                    done += message.operations
                    on_interval(done, (message.start_ms + message.length_ms) / 1000)
                case native.Health():
                    health = message
                case native.RunResult():
                    result = message
        if result is None or health is None:
            raise RunError(f"{self._kind} ended without a result")
        if not result.state.checksum_ok:
            faults = "; ".join(result.state.faults[:3]) or "the state check failed"
            raise RunError(f"the data were wrong after the run: {faults}")
        self._pages = result.memory.model_dump(exclude_none=True)
        zeros = self._library.store.counted(result.counters)
        self._measured = measured(result, health, intervals, zeros, self._times)
        return self._measured

    def evidence(self) -> Evidence:
        assert self._measured is not None, "evidence is shown after the run was measured"
        assert self._ready is not None
        operations, store = self._measured.operations, self._library.store
        seen = functions(self._library.path, store.functions, store.role) if store.functions else ()
        return replace(
            self._process,
            read_back=self._read_back,
            log=dict(self._ready.manifest.get("log", {})),
            memory=self._pages,
            server_placement=self._placement,
            counters=dict(self._measured.counters),
            executed=operations,
            operations=operations,
            functions=seen,
        )

    def stop(self) -> None:
        """Ends it and removes its folder. Safe to call twice."""
        begun = time.monotonic()
        self._left.close()
        if not self._is_over:
            self._is_over = True
            spent = ", ".join(f"{k.removesuffix('_s')} {v:.3f} s" for k, v in self._times.items())
            with self._log.open("a") as log:
                log.write(f"assay: {spent}, stop {time.monotonic() - begun:.3f} s\n")
