"""One run on a server that already runs: what `Started` is for one of our own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay import native
from assay.core.errors import AssayError, InputError, RunError
from assay.core.parameters import Parameter
from assay.linux.procfs import listener
from assay.targets.base import Launch
from assay.targets.servers.framework.adapter import Adapter, Place
from assay.targets.servers.framework.attached_settings import Changed, put_back, put_in_force
from assay.targets.servers.framework.attachment import ATTACH_NAMES, Attachable, Attachment
from assay.targets.servers.framework.load import load_request
from assay.targets.servers.framework.server import Asking
from assay.targets.setting_values import ServerSetting


class Other:
    """The process of a server that is not ours: looked at, and left alone. `pid` is None where it
    is elsewhere."""

    def __init__(self, pid: int | None) -> None:
        self.pid = pid

    def ended(self) -> str:
        """How it ended; empty while it runs, or where that cannot be seen."""
        gone = self.pid is not None and not Path(f"/proc/{self.pid}").exists()
        return "it ended" if gone else ""

    def last_words(self) -> str:
        """Its log is its own."""
        return "its own log may say why"

    def said(self) -> str:
        return ""

    def environ(self, names: Sequence[str]) -> dict[str, str]:
        """It was set by somebody else, and no study changes it."""
        return {}


class Attached:
    """A server with the settings of one run."""

    folder: Path | None = None
    beside: Sequence[int] = ()

    def __init__(
        self,
        adapter: Adapter,
        server: Attachable,
        launch: Launch,
        settings: Mapping[str, Any],
        log: Path,
        name: str,
    ) -> None:
        attachment = Attachment.of(launch.settings)
        assert attachment is not None, "its target has an address"
        self.adapter, self.settings, self.facts = adapter, settings, attachment.facts()
        self._attachment, self._server, self._log = attachment, server, log
        given = {n: v for n, v in launch.settings.items() if n in ATTACH_NAMES}
        self._changed = Changed(adapter.kind, given)
        self._is_over = False
        self.times = {"reset_s": 0.0, "start_s": 0.0}
        binary = adapter.programs[0].find()
        assert binary is not None, "check has found it"
        self.place = Place(Path("/"), attachment.target.port, binary)
        self.target = server.database(attachment.target, name)
        self._load(launch, name)
        try:
            self._begin()
        except BaseException:
            self.stop()
            raise

    def _load(self, launch: Launch, name: str) -> None:
        """Its data set, once."""
        target = self._attachment.target
        if self._server.has_data(target, name):
            return
        request = load_request(launch, self.adapter, self.place, target=self.target)
        with self._log.open("ab") as file:
            session = native.Session(
                "load", {**request, "action": "prepare"}, log=file, result_type=native.DataState
            )
            try:
                *_, state = session.messages()
            finally:
                session.stop()
        if not isinstance(state, native.DataState) or state.faults:
            faults = getattr(state, "faults", None) or ["no result"]
            raise RunError(f"data were not loaded as they should: {'; '.join(faults)}")
        self._server.keep_data(target, name)

    def _begin(self) -> None:
        begun = time.monotonic()
        self._attachment.run_reset()
        self.times["reset_s"] = time.monotonic() - begun
        begun = time.monotonic()
        known = self.adapter.settings(self.place.binary)
        told = {n: _told(known[n], v) for n, v in self.settings.items()}
        put_in_force(self._attachment, self._server, self._changed, told, self._is_set)
        self.times["start_s"] = time.monotonic() - begun
        here = self._attachment.is_here()
        self.process = Other(listener(self._attachment.target.port) if here else None)
        self.ask = Asking(self.place, self.target, self.process.pid or 0)

    def _is_set(self, name: str) -> bool:
        ask = Asking(self.place, self.target, 0)
        given = self.settings[name]
        try:
            return bool(self.adapter.read_back(ask, {name: given}).get(name) == given)
        except AssayError:
            return False

    def note(self, text: str) -> None:
        """A line in the run's log."""
        with self._log.open("a") as log:
            log.write(f"assay: {text}\n")

    def stop(self) -> None:
        """Puts its settings back. Safe to call twice. RestoreError if it cannot be done."""
        if self._is_over:
            return
        self._is_over = True
        if self._changed.is_written:
            put_back(self._attachment, self._server, self._changed)


def _told(setting: Parameter, value: object) -> str:
    """A value in the server's own spelling."""
    if isinstance(setting, ServerSetting):
        return setting.told(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def require_attachable(launch: Launch, adapter: Adapter) -> None:
    """InputError for what cannot be had of a server that already runs."""
    attachment = Attachment.of(launch.settings)
    assert attachment is not None, "its target has an address"
    if launch.binary is not None or launch.env:
        what = "executable" if launch.binary is not None else "environment"
        raise InputError(
            f"the {what} of a server that already runs cannot be changed",
            next_step=f"take attach out, and Assay starts a {adapter.kind} of its own",
        )
    if attachment.target.protocol != adapter.protocol:
        raise InputError(
            f"attach names a server of {attachment.target.protocol}, not of {adapter.kind}",
            next_step=f"write an address of {adapter.kind}, or another kind",
        )
