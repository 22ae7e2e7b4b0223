"""Redis: an in-memory store whose commands one thread carries out.

Prepared data are an RDB file, which the server loads before it answers; with
`appendonly` they are an append-only file too. What settings there are says the
server itself (`CONFIG GET *` of one that is started for that), so that another
version or a fork such as Valkey is known as well as this one.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay import native
from assay.core.cache import cache
from assay.core.digest import file_digest
from assay.core.errors import AssayError, RunError
from assay.core.parameters import Parameter, by_name
from assay.core.timeline import SERIES
from assay.core.units import parse_size
from assay.host.traits import ServerTraits
from assay.linux.own_user import give, own_user
from assay.targets.servers.framework.adapter import Adapter, Ask, Place, Program
from assay.targets.servers.framework.process import Process
from assay.targets.servers.framework.secret import redis_hash
from assay.targets.servers.redis_attachment import AttachedRedis
from assay.targets.setting_values import as_reported

OURS = (
    "aclfile",
    "bind",
    "daemonize",
    "dir",
    "logfile",
    "pidfile",
    "port",
    "requirepass",
    "save",
    "supervised",
    "unixsocket",
)
"""Settings that Assay gives itself: where a server lives, and that it saves nothing in a run."""

WHO_MAY_COME = "who-may-come.conf"
TITLE = "set-proc-title"
"""Off, as the title would be written over the environment that witnesses read in /proc."""

SECTIONS = ("stats", "cpu", "commandstats")
GAUGES = (
    "instantaneous_",
    "current_",
    "latest_",
    "tracking_",
    "pubsub",
    "dump_payload",
    "slave_expires",
)
"""Beginnings of numbers of INFO that go up and down."""


class Redis(Adapter):
    """The adapter."""

    kind = "redis"
    text = "Redis, in memory; its settings are those of the redis-server that is installed"
    programs = (Program("redis-server", "redis-server"),)
    protocol = "redis"
    workloads = ("redis-get", "redis-set", "ycsb", "script")
    shaping = frozenset({"appendonly", "appendfilename", "appenddirname", "dbfilename"})
    ping = "PING"
    settle = ("SAVE",)
    takes_secret = True
    attachable = AttachedRedis()
    is_movable = True
    traits = ServerTraits(
        suffers_thp="forks with copy-on-write: a touched byte copies 2 MiB, and fork takes long"
    )

    def settings(self, binary: Path | None) -> Mapping[str, Parameter]:
        if binary is None:
            return {}
        known, name_of = _known(binary, binary.stat().st_mtime_ns), self.programs[0].name
        return MappingProxyType(
            by_name(
                Parameter(name, "any", f"{name_of} has {value or 'nothing'!s} by default")
                for name, value in known.items()
                if name not in OURS
            )
        )

    def version(self, binary: Path) -> str:
        done = subprocess.run([str(binary), "--version"], capture_output=True, text=True)
        return done.stdout.strip()

    def lacks(self, settings: Mapping[str, Any]) -> tuple[str, str] | None:
        """What a server says that will not start with these settings, such as a threads' limit."""
        binary = self.programs[0].find()
        if binary is None or not settings:
            return None
        try:
            with _private(binary, settings):
                return None
        except RunError as error:
            return error.message, f"take another value, or another build of {self.programs[0].name}"

    def make(self, place: Place, settings: Mapping[str, Any]) -> list[list[str]]:
        return [["mkdir", str(place.folder / "data")]]

    def command(self, place: Place, settings: Mapping[str, Any]) -> list[str]:
        ours = {
            "bind": place.host,
            "port": place.port,
            "unixsocket": place.folder / "socket",
            "dir": place.folder / "data",
            "save": "",
            "daemonize": "no",
        }
        if TITLE in self.settings(place.binary):
            ours[TITLE] = "no"
        who = str(place.folder / WHO_MAY_COME)
        return [str(place.binary), who, *_options({**ours, **settings})]

    def url(self, place: Place) -> str:
        return f"redis://load@{place.host}:{place.port}"

    def admin_url(self, place: Place) -> str:
        return f"redis://default@{place.host}:{place.port}"

    def files(self, place: Place) -> Mapping[str, str]:
        """Who may come: the load to all keys, and not to what orders the server about."""
        admin, load = redis_hash(place.secrets.admin), redis_hash(place.secrets.load)
        rules = [
            f"user default on #{admin} ~* +@all",
            f"user load on #{load} ~* +@all -@admin -@dangerous",
        ]
        return {WHO_MAY_COME: "".join(f"{rule}\n" for rule in rules)}

    def read_back(self, ask: Ask, settings: Mapping[str, Any]) -> dict[str, Any]:
        names = list(settings)
        if not names:
            return {}
        reported = _pairs(ask(f"CONFIG GET {' '.join(names)}")[0])
        return as_reported(settings, reported, lambda _, given, told: _is_same(given, told))

    def counters(self, ask: Ask) -> dict[str, float]:
        """Numbers of INFO that only rise; of each command its calls and microseconds."""
        found: dict[str, float] = {}
        for rows in ask(*(f"INFO {section}" for section in SECTIONS)):
            for line in (rows[0][0] or "").splitlines():
                name, _, value = line.partition(":")
                found |= _numbers(name, value)
        return found

    def moment(self, ask: Ask) -> dict[str, float]:
        """Numbers of INFO, states among them."""
        lines = [
            line.partition(":")
            for rows in ask("INFO stats", "INFO persistence")
            for line in (rows[0][0] or "").splitlines()
        ]
        return {name: float(value) for name, _, value in lines if name in SERIES}

    def is_fatal(self, log: str) -> str:
        """A wrong setting, told in the lines after a headline; or a port that is taken."""
        lines = [line.strip() for line in log.splitlines() if line.strip()]
        for number, line in enumerate(lines):
            if "FATAL CONFIG" in line and len(lines) > number + 3:
                return " ".join(lines[number + 2 :])
            if "ddress already in use" in line:
                return line
        return ""


REDIS = Redis()


@lru_cache(maxsize=8)
def _known(binary: Path, modified_ns: int) -> Mapping[str, str]:
    """Every setting and its default: kept by the digest of the executable."""
    kept = cache("settings") / f"redis-{file_digest(binary)}.json"
    try:
        found: dict[str, str] = json.loads(kept.read_text())
        return found
    except (OSError, ValueError):
        pass
    found = _asked(binary)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found))
    except OSError:
        pass  # it is asked again next time
    return found


def _asked(binary: Path) -> dict[str, str]:
    with _private(binary, {}) as target:
        return _pairs(native.ask_server(target, ["CONFIG GET *"])[0])


@contextmanager
def _private(binary: Path, settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A server without data on a Unix socket and no port, for as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="assay-redis-") as made:
        folder = Path(made)
        target = {"protocol": "redis", "socket": str(folder / "socket")}
        ours = {"port": 0, "unixsocket": target["socket"], "save": "", "dir": made}
        command = [str(binary), *_options({**ours, **settings})]
        user = own_user()
        give(folder, user)
        process = Process(command, folder, folder / "log", user=user)
        try:
            process.wait_until(lambda: _answers(target), REDIS.is_fatal)
            yield target
        finally:
            process.stop()


def _answers(target: Mapping[str, Any]) -> bool:
    if not Path(target["socket"]).exists():
        return False
    try:
        native.ask_server(target, ["PING"])
    except AssayError:
        return False
    return True


def _pairs(rows: native.Rows) -> dict[str, str]:
    """Names and values: an entry a row (RESP3), or by turns (RESP2)."""
    if rows and len(rows[0]) == 2:
        return {str(name): value or "" for name, value in rows}
    flat = [row[0] or "" for row in rows]
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _options(settings: Mapping[str, Any]) -> list[str]:
    """As on a command line: a value of several words is several arguments."""
    words = []
    for name, value in settings.items():
        words += [f"--{name}", *(_told(value).split() or [""])]
    return words


def _told(value: object) -> str:
    """A value as Redis writes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _is_same(given: object, reported: str) -> bool:
    told = _told(given).lower()
    return told == reported.lower() or _bytes(told) == _bytes(reported)


def _bytes(text: str) -> object:
    """The bytes that a text such as "80mb" is, of 1024 each way as in redis.conf; else the text."""
    if text.isdigit():
        return int(text)
    units = {"kb": "KiB", "mb": "MiB", "gb": "GiB"}
    try:
        return parse_size(text[:-2] + units[text[-2:].lower()])
    except (KeyError, ValueError):
        return text.lower()


def _numbers(name: str, value: str) -> dict[str, float]:
    """The counters in a line of INFO."""
    if name.startswith("cmdstat_"):
        fields = dict(part.split("=") for part in value.split(","))
        kind = name.removeprefix("cmdstat_")
        return {f"calls.{kind}": float(fields["calls"]), f"us.{kind}": float(fields["usec"])}
    if name.startswith(GAUGES):
        return {}
    try:
        return {name: float(value)}
    except ValueError:
        return {}
