"""What a server says of itself: statistics over the window, waits, and the levels in force.

Only questions that read are sent; whatever else an adapter asks is left unasked. The server's
settings are known by the program that is installed here, never by running the one that is looked
at, which may be anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.changes import CATALOGUE, Change
from assay.core.address import ServerAddress, parse_url
from assay.core.errors import AssayError
from assay.diagnosis.records import ExaminedServer, ServerAnswers, Unseen
from assay.diagnosis.subject import adapter_of
from assay.linux.procfs import listening
from assay.native import Rows
from assay.targets import TARGETS
from assay.targets.servers.framework.adapter import Adapter, Place
from assay.targets.servers.framework.server import Asking

READS = re.compile(r"\s*(SELECT|SHOW|INFO|CONFIG GET|PING|DBSIZE)\b", re.I)
WHAT = "the server's own statistics, waits and settings"
WAY = "give its address with --attach, a user who may read them, and ASSAY_PASSWORD"


class ReadingAsk:
    """Asks one server what only reads; answers may be kept, so that each question is sent once."""

    def __init__(self, asking: Asking) -> None:
        self.place, self.pid, self._asking = asking.place, asking.pid, asking
        self.kept: dict[str, Rows] | None = None

    def __call__(self, *asks: str) -> list[Rows]:
        wanted = [ask for ask in asks if READS.match(ask)]
        if self.kept is None:
            answers = iter(self._asking(*wanted) if wanted else [])
            return [next(answers) if READS.match(ask) else [] for ask in asks]
        new = [ask for ask in dict.fromkeys(wanted) if ask not in self.kept]
        self.kept |= zip(new, self._asking(*new) if new else [], strict=True)
        return [self.kept.get(ask, []) for ask in asks]


@dataclass(frozen=True)
class Conversation:
    """A server that answers."""

    adapter: Adapter
    ask: ReadingAsk

    def counters(self) -> dict[str, float]:
        """Since its start. The errors of asking."""
        return dict(self.adapter.counters(self.ask))

    def look(self, seconds: float) -> dict[str, float]:
        """What its statements wait for, for so long; empty at once where it cannot be asked."""
        return dict(self.adapter.look(self.ask, seconds))

    def answers(
        self,
        before: Mapping[str, float],
        after: Mapping[str, float],
        waits: Mapping[str, float],
        seconds: float,
    ) -> ServerAnswers:
        """All of it, with the levels that are in force now; `waits` are of so many seconds."""
        grown = {name: value - before.get(name, 0.0) for name, value in after.items()}
        waited = {
            name.removeprefix("wait_ns."): ns
            for name, ns in waits.items()
            if name.startswith("wait_ns.")
        }
        running = waits.get("running_ns")
        self.ask.kept = {}
        levels, settings = self._levels()
        return ServerAnswers(
            counters=grown,
            waited_ns=waited,
            running_ns=running,
            looks=_looks(waits, seconds),
            levels=levels,
            settings=settings,
            connections=_connections(after),
        )

    def _levels(self) -> tuple[dict[str, str], dict[str, Any]]:
        """By change the level in force, and the settings of those that are not off."""
        levels: dict[str, str] = {}
        settings: dict[str, Any] = {}
        for change in CATALOGUE.values():
            if self.adapter.kind not in change.targets or change.scope != "named":
                continue
            with suppress(AssayError, KeyError, ValueError):
                found = self._level(change)
                if found is not None:
                    levels[change.name], own = found
                    settings |= {} if levels[change.name] == change.off else own
        return levels, settings

    def _level(self, change: Change) -> tuple[str, dict[str, Any]] | None:
        if change.numeric_setting is not None:
            wanted: Any = change.off if change.sized else int(change.off)
            now = self.adapter.read_back(self.ask, {change.numeric_setting: wanted})
            value = now[change.numeric_setting]
            number = value if change.sized or not str(value).isdigit() else int(value)
            return str(value), {change.numeric_setting: number}
        for name, level in change.levels.items():
            wanted = dict(level.application.of(self.adapter.kind).settings)
            if not wanted:
                continue
            now = self.adapter.read_back(self.ask, wanted)
            if all(setting in now and now[setting] == v for setting, v in wanted.items()):
                return name, wanted
        return None


def converse(subject: ExaminedServer) -> Conversation | Unseen:
    """The server at its address, or at the one that it seems to have; why it does not answer."""
    adapter = adapter_of(subject.kind)
    if adapter is None or adapter.attachable is None:
        known = ", ".join(k for k, t in TARGETS.items() if t.attachable is not None)
        return Unseen(WHAT, f"of {subject.name} Assay cannot ask them", f"it can of {known}")
    binary = adapter.programs[0].find()
    if binary is None:
        why = f"{adapter.programs[0].name}, by which its settings are known, is not installed here"
        return Unseen(WHAT, why, adapter.programs[0].next_step())
    address = parse_url(subject.url) if subject.url else _guessed(subject, adapter)
    if address is None:
        return Unseen(WHAT, "where it listens cannot be seen", WAY)
    place = Place(Path("/"), address.port, binary)
    conversation = Conversation(adapter, ReadingAsk(Asking(place, address, subject.pid)))
    try:
        conversation.counters()
    except (AssayError, KeyError) as error:
        why = getattr(error, "message", "") or f"{error!r}"
        return Unseen(WHAT, f"{address}: {why}", WAY)
    return conversation


def _guessed(subject: ExaminedServer, adapter: Adapter) -> ServerAddress | None:
    """Its own port or socket, as the user who asks."""
    found, user = listening(subject.pid), quote(getuser())
    sockets = [s for s in found.sockets if s.startswith("/")]
    if adapter.protocol == "redis" and found.ports:
        return parse_url(f"redis://127.0.0.1:{found.ports[0]}")
    if adapter.protocol == "redis" and sockets:
        return parse_url(f"redis://?socket={quote(sockets[0])}")
    if adapter.protocol == "mysql" and sockets:
        return parse_url(f"mysql://{user}@/?socket={quote(sockets[0])}")
    if adapter.protocol == "postgresql" and sockets:
        return parse_url(f"postgresql://{user}@/postgres?socket={quote(sockets[0])}")
    return None


def _looks(waits: Mapping[str, float], seconds: float) -> int:
    """Statements that were seen, each as often as it was."""
    whole = sum(ns for name, ns in waits.items() if name.startswith(("wait_ns.", "running_ns")))
    return round(whole * waits.get("wait_samples", 0.0) / (1e9 * seconds))


def _connections(after: Mapping[str, float]) -> int | None:
    for name in ("numbackends", "Threads_connected"):
        if after.get(name):
            return max(int(after[name]) - 1, 1)
    return None
