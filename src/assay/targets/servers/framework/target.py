"""A real server as a target: found here or missed with the one command that gets it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay import native
from assay.core.cache import cache, keep
from assay.core.digest import file_digest
from assay.core.errors import InputError, MissingError, RunError
from assay.core.parameters import Parameter, by_name
from assay.host.pool_shortage import SLACK
from assay.targets.base import Launch, Target
from assay.targets.servers.framework.adapter import Adapter, Place, Program
from assay.targets.servers.framework.attached_run import Attached, require_attachable
from assay.targets.servers.framework.attachment import ATTACH, ATTACH_NAMES, Attachment
from assay.targets.servers.framework.data import bytes_on_disk, copy, key, load_data
from assay.targets.servers.framework.load import (
    CHECKOUT,
    CLIENT,
    CLIENT_NAMES,
    EACH_RUN,
    HTTP,
    LOADING,
    LOADING_NAMES,
    SEED,
    load_request,
)
from assay.targets.servers.framework.process import setpriv
from assay.targets.servers.framework.rate_run import EXPECTED_TRIES, SETTLE
from assay.targets.servers.framework.server import ServerRun, Started
from assay.workloads.script import PREPARE

DATA = "2"
"""Data of an earlier arrangement, such as of who may come to them, are made again."""
START_S = 2.0
"""A guess of what a run costs beside its window: copying the data, starting, stopping."""
LOAD_S = 5.0
"""A guess of making and filling an empty server, where each run does."""


class ServerTarget(Target):
    """A kind of real server, of which an adapter says what is particular."""

    takes_turns = True
    searches_rate = True

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.kind, self.text = adapter.kind, adapter.text
        self.workloads, self.lock_classes = adapter.workloads, adapter.lock_classes
        self.protocol, self.traits = adapter.protocol, adapter.traits
        self.loads_in_run = not adapter.keeps_data
        self.through_page_cache = adapter.through_page_cache
        self.is_movable, self.attachable = adapter.is_movable, adapter.attachable
        self._versions: dict[tuple[Any, ...], str] = {}

    @cached_property
    def settings(self) -> Mapping[str, Parameter]:  # type: ignore[override]  # nobody assigns it
        """The client's, and the server's own: any plausible name where no server is here."""
        found = self.adapter.programs[0].find()
        own = self.adapter.settings(found)
        if not own and found is None:
            return AnySetting(self.listed_settings)
        return MappingProxyType({**own, **self.listed_settings})

    @property
    def listed_settings(self) -> Mapping[str, Parameter]:
        """The client's, those of attaching and of loading, and Assay's own."""
        attached = ATTACH if self.attachable is not None else {}
        return {**CLIENT, **LOADING, **attached, **by_name(self.adapter.compound)}

    @property
    def own_settings(self) -> int | None:
        return None if isinstance(self.settings, AnySetting) else super().own_settings

    def missing(self) -> list[Program]:
        """Programs that are not here."""
        return [p for p in self.adapter.programs if p.find() is None]

    def found(self) -> str:
        """For a list: the version that is here, or the one command that gets it."""
        missing = self.missing()
        if missing:
            return f"not here: {missing[0].next_step()}"
        binary = self.adapter.programs[0].find()
        assert binary is not None, "nothing is missing"
        return self._version(binary)

    def identity(self) -> tuple[str, str]:
        """The SHA-256 of the server's executable that is here, and what it says of itself."""
        binary = self.adapter.programs[0].find()
        if binary is None:
            return "", ""
        image = self.adapter.image(Place(Path("/"), 1, binary)) or binary.resolve()
        return file_digest(image), self._version(binary)

    def check(self, launch: Launch) -> None:
        attachment = Attachment.of(launch.settings)
        binary = self._binary(launch)
        setpriv()
        own = self._own(launch)
        unknown = [name for name in own if name not in {**self.adapter.settings(binary)}]
        if unknown:
            raise InputError(
                f"{binary} has no setting {', '.join(unknown)}",
                next_step=f"`assay list targets` says what {self.kind} is here",
            )
        if attachment is not None:
            require_attachable(launch, self.adapter)
            attachment.greet()
        lacking = None if attachment else self.adapter.lacks(own)
        if lacking is not None:
            message, next_step = lacking
            raise MissingError(message, next_step=next_step)
        refused = self.adapter.refuses(binary, own)
        if refused:
            raise InputError(refused, next_step="give another value, or leave it to the server")
        place = Place(Path("/"), 1, binary)
        request = {**load_request(launch, self.adapter, place), "check_only": True}
        session = native.Session("load", request)
        try:
            for _ in session.messages():
                pass
        finally:
            session.stop()

    def start(self, launch: Launch, log: Path) -> ServerRun:
        binary, own = self._binary(launch), self._own(launch)
        if launch.settings.get("attach") is not None:
            return self._attached(launch, own, log)
        asked = bool(launch.settings.get(EACH_RUN)) and self.adapter.protocol != HTTP
        loads = self.loads_in_run or asked
        data = None if loads else self._prepared(launch, binary, own, log)
        started = Started(self.adapter, binary, own, data, log, launch.env, launch.around)
        try:
            if loads:
                self._load_timed(replace(launch, seed=SEED), started, log)
        except BaseException:
            started.stop()
            raise
        return ServerRun(started, launch, log)

    def _attached(self, launch: Launch, own: Mapping[str, Any], log: Path) -> ServerRun:
        """The server that already runs, with the data set of this workload."""
        server = self.adapter.attachable
        if server is None:
            raise InputError(f"Assay cannot attach to {self.kind}", next_step="take attach out")
        loading = replace(launch, seed=SEED)
        name = f"assay_{key(self.kind, launch.workload, dict(launch.parameters), SEED)[:16]}"
        started = Attached(self.adapter, server, loading, own, log, name)
        return ServerRun(started, launch, log)

    def seconds(self, launch: Launch) -> float:
        if launch.promise is not None:
            tries = EXPECTED_TRIES * (1 + SETTLE) * launch.window_s
            return launch.warmup_s + tries + START_S
        loading = LOAD_S if launch.settings.get(EACH_RUN) else 0.0
        return launch.warmup_s + launch.window_s + START_S + loading

    def huge_bytes(self, launch: Launch, page_bytes: int) -> int:
        need = self.adapter.huge_bytes(self._own(launch), page_bytes)
        if need is None:
            raise MissingError(f"{self.kind} takes no pages of a pool", next_step="leave pages out")
        return int(need * SLACK)

    def _binary(self, launch: Launch) -> Path:
        """The server that the launch names, or the one that is here."""
        own, *others = self.adapter.programs
        named = Path(launch.binary) if launch.binary else own.find()
        missing = [p for p in others if p.find() is None]
        if named is None:
            missing.insert(0, own)
        if missing:
            names = " and ".join(p.name for p in missing)
            raise MissingError(
                f"{names} {'is' if len(missing) == 1 else 'are'} not here",
                next_step=missing[0].next_step(),
            )
        assert named is not None
        return named

    def _version(self, binary: Path) -> str:
        """What an executable says of itself, asked once of each."""
        stat = binary.stat()
        which = (binary, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
        if which not in self._versions:
            self._versions[which] = self.adapter.version(binary)
        return self._versions[which]

    def _own(self, launch: Launch) -> dict[str, Any]:
        """The server's settings that are given."""
        ours = CLIENT_NAMES | LOADING_NAMES | ATTACH_NAMES
        given = launch.settings.items()
        return {n: v for n, v in given if n not in ours and v is not None}

    def _prepared(self, launch: Launch, binary: Path, own: Mapping[str, Any], log: Path) -> Path:
        shaping = {n: v for n, v in own.items() if n in self.adapter.shaping}
        parameters = {n: _contents(n, v) for n, v in launch.parameters.items()}
        version = self._version(binary)
        name = key(DATA, self.kind, version, shaping, launch.workload, parameters, SEED)
        known = self.adapter.settings(binary)
        defaults = {n: p.default for n, p in known.items() if p.default is not None}
        return keep(
            cache("data") / name,
            lambda f: self._make(f, launch, binary, {**defaults, **shaping}, log),
        )

    def _make(
        self, folder: Path, launch: Launch, binary: Path, settings: Mapping[str, Any], log: Path
    ) -> None:
        """Fills a folder with the data of a workload: by a server that is stopped in order."""
        adapter = self.adapter
        launch = replace(launch, seed=SEED)
        if adapter.protocol == HTTP:
            return
        started = Started(adapter, binary, settings, None, log, {})
        try:
            if welcome := adapter.welcome(started.place):
                started.ask(*welcome)
            self._load(launch, started, log)
            if adapter.settle:
                started.ask(*adapter.settle)
            if not started.process.stop(patience_s=600):
                raise RunError(f"{self.kind} did not stop in order after its data were made")
            copy(started.folder / "data", folder)
        finally:
            started.stop()

    def _load_timed(self, launch: Launch, started: Started, log: Path) -> None:
        """The data of one run, with how long they took and how large they became."""
        adapter, times = self.adapter, started.times
        welcome = adapter.welcome(started.place) if adapter.keeps_data else []
        if welcome:
            started.ask(*welcome)
        begun = time.monotonic()
        rows = self._load(launch, started, log)
        times["load_s"] = time.monotonic() - begun
        times["load_rows"] = float(rows)
        if adapter.keeps_data:
            if adapter.settle:
                started.ask(*adapter.settle)
            times["disk_bytes"] = float(bytes_on_disk(started.folder / "data"))

    def _load(self, launch: Launch, started: Started, log: Path) -> int:
        """How many rows were loaded."""
        asked = load_request(launch, self.adapter, started.place, target=started.target)
        return load_data("load", {**asked, "action": "prepare"}, log).rows


def _contents(name: str, value: Any) -> Any:
    """A parameter as what data depend on: a user's file by its size and time of change too."""
    if not name.startswith((CHECKOUT, PREPARE)) or value is None:
        return value
    try:
        stat = Path(value).stat()
    except OSError as error:
        raise MissingError(f"{name}: {error}", next_step="name a file that is there") from error
    return [str(value), stat.st_size, stat.st_mtime_ns]


class AnySetting(Mapping[str, Parameter]):
    """Settings of a server that is not here: any plausible name, until `check` says so."""

    _PLAUSIBLE = re.compile(r"[a-z][a-z0-9_.-]*")

    def __init__(self, known: Mapping[str, Parameter]) -> None:
        self._known = dict(known)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._PLAUSIBLE.fullmatch(name) is not None

    def __getitem__(self, name: str) -> Parameter:
        if name not in self:
            raise KeyError(name)
        return self._known.get(name) or Parameter(name, "any", "a setting of a server not here")

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
