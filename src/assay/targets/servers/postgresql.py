"""PostgreSQL as a target. Its settings are those that the installed `postgres` says it has.

`postgres --describe-config` names them, with ranges but without units and
without the words of enumerations. Those it tells when a configuration file gives
each setting a value that it must refuse; nothing is started by that. What
developers of PostgreSQL set is not described, and so not known here.

`data_checksums` is no setting of the server: it is how the data are. Here it is
one, put into the stopped copy by `pg_checksums` before the start, so that the
same data are run with checksums and without. `wait_samples` is none either: it is
how often Assay looks at what statements wait for (`postgresql_waits`).
"""

from __future__ import annotations

import ctypes
import os
import pwd
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from assay.core.parameters import Kind, Parameter, by_name
from assay.core.timeline import SERIES
from assay.host.pool_shortage import pool_shortage
from assay.host.traits import ServerTraits
from assay.targets.servers.framework.adapter import Adapter, Ask, Place, Program
from assay.targets.servers.framework.attachment import Asks
from assay.targets.servers.framework.secret import scram_verifier
from assay.targets.servers.postgresql_waits import EVENTS, Sampler, looked
from assay.targets.servers.sql_attachment import AttachedPostgreSql
from assay.targets.setting_values import (
    BYTES,
    MICROSECONDS,
    ServerSetting,
    in_force,
    quantity,
    rendered,
    truth,
)
from assay.workloads import SQL_WORKLOADS

FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
SERVER = Program("postgres", "postgresql", FOLDERS)
INITDB = Program("initdb", "postgresql", FOLDERS)
CHECKSUMS = Program("pg_checksums", "postgresql", FOLDERS)
CONTROL = Program("pg_controldata", "postgresql", FOLDERS)

BASE: Mapping[str, Any] = MappingProxyType(
    {
        "max_connections": 500,
        "shared_buffers": "128MB",  # as initdb would set it; given, so that it is read back
    }
)
"""Nothing that makes a commit durable is touched, and autovacuum runs as it does by default."""

OWNED = frozenset(
    [
        "config_file",
        "data_directory",
        "external_pid_file",
        "hba_file",
        "ident_file",
        "listen_addresses",
        "port",
        "unix_socket_directories",
    ]
)
SHAPING = frozenset({"default_table_access_method", "default_toast_compression"})
STATEMENTS = "pg_stat_statements"
WAIT_SAMPLES = "wait_samples"
WAIT_SAMPLING = "pg_wait_sampling"
PRELOADED = "shared_preload_libraries"
DATABASE = "postgres"
"""The one that is there from the first start on."""

ADMIN = "assay"
"""Who makes the cluster and may do everything: by whom Assay asks."""
DOORS, NAMES = "who-may-come.conf", "who-is-who.conf"
_LOAD = """DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'load') THEN
CREATE ROLE load LOGIN; GRANT CREATE, USAGE ON SCHEMA public TO load; END IF; END $$"""
_EXTENSION = f"""DO $$ BEGIN
IF EXISTS (SELECT FROM pg_available_extensions WHERE name = '{STATEMENTS}') THEN
CREATE EXTENSION {STATEMENTS}; END IF; END $$"""

_REFUSED = re.compile(r'LOG: +\S+?(?: (\S+))? is outside the valid range for parameter "(\w+)"')
_WORDS = re.compile(r'parameter "(\w+)": "\?"\n.*?HINT: +Available values: (.*?)\.$', re.M)
_FATAL = re.compile(r"(?:FATAL|PANIC): +(.*)(?:\n.*?DETAIL: +(.*))?")
_BIND = re.compile(r"LOG: +(could not bind .*)")
_PASSING = ("the database system is", "sorry, too many clients", "terminating", "remaining conn")

_COUNTERS = (
    "SELECT c.key, c.value FROM {view} v, jsonb_each_text(to_jsonb(v)) c "
    "WHERE jsonb_typeof(to_jsonb(v) -> c.key) = 'number'"
)
_COMPILED = (
    "SELECT 'jit_functions', coalesce(sum((to_jsonb(s) ->> 'jit_functions')::numeric), 0) "
    f"FROM {STATEMENTS} s"
)
_PROFILE = (
    "SELECT 'wait_ns.' || event_type || '/' || event, 1e6 * sum(count) * "
    "current_setting('pg_wait_sampling.profile_period')::int FROM pg_wait_sampling_profile "
    "WHERE event_type NOT IN ('Activity', 'Client', 'Timeout') GROUP BY event_type, event "
    "UNION ALL SELECT 'wait_samplers', 0"
)
LOOKS_PER_S = 10
"""Looks at what statements of an attached server wait for."""

_VIEWS = (
    "pg_stat_wal",
    "(SELECT * FROM pg_stat_database WHERE datname = current_database())",
    "pg_stat_bgwriter",
)
_CHECKPOINTER = "pg_stat_checkpointer"
_HAS_CHECKPOINTER = f"SELECT to_regclass('{_CHECKPOINTER}') IS NOT NULL"
_WRITTEN = ("buffers_checkpoint", "buffers_clean", "buffers_backend")


class PostgreSql(Adapter):
    """The adapter."""

    kind = "postgresql"
    text = "PostgreSQL, with a server and a data directory of its own for each run"
    programs = (SERVER, INITDB, CHECKSUMS, CONTROL)
    protocol = "postgresql"
    workloads = SQL_WORKLOADS
    traits = ServerTraits(
        asks_huge=re.compile(r"huge_pages\s*=\s*'?(on|try)"),
        data_options=("-D", "--pgdata"),
        configurations=("postgresql.conf", "postgresql.auto.conf"),
    )
    shaping = SHAPING
    lock_classes = EVENTS
    attachable = AttachedPostgreSql()
    takes_secret = True
    through_page_cache = True
    ping = "SELECT 1"
    stop_signal = signal.SIGINT  # SIGTERM would wait for clients that are still connected
    orphan_signal = signal.SIGQUIT  # after SIGKILL a segment of shared memory would stay

    def settings(self, binary: Path | None) -> Mapping[str, Parameter]:
        """Asked once of each executable, told apart by place, size and time of change."""
        binary = binary or SERVER.find()
        if binary is None:
            return {}
        stat = binary.stat()
        return _settings(binary, (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns))

    def version(self, binary: Path) -> str:
        told = subprocess.run([str(binary), "--version"], capture_output=True, text=True)
        return told.stdout.strip()

    def make(self, place: Place, settings: Mapping[str, Any]) -> list[list[str]]:
        program = str(_beside(place.binary, INITDB))
        folder = ["-D", str(place.folder / "data")]
        locale = ["--encoding=UTF8", "--locale=C.UTF-8"]
        doors = ["--auth-local=peer", "--auth-host=scram-sha-256"]
        return [[program, *folder, "-U", ADMIN, *doors, "--no-sync", *locale]]

    def adjust(self, place: Place, settings: Mapping[str, Any]) -> list[list[str]]:
        wanted = settings.get("data_checksums")
        if wanted is None or truth(wanted) == _has_checksums(place):
            return []
        verb = "--enable" if truth(wanted) else "--disable"
        program = str(_beside(place.binary, CHECKSUMS))
        return [[program, verb, "--no-sync", "-D", str(place.folder / "data")]]

    def lacks(self, settings: Mapping[str, Any]) -> tuple[str, str] | None:
        """With huge_pages = on the server would not start; with try it goes on without. Nor would
        it without a library that it is to load."""
        libraries = str(settings.get(PRELOADED) or "")
        absent = [lib for lib in re.split(r"[,\s]+", libraries) if lib and _is_absent(lib)]
        if absent:
            return f"the library {absent[0]} is not here", _package_of(absent[0])
        if str(settings.get("huge_pages")).lower() not in ("on", "true"):
            return None
        page = quantity(settings.get("huge_page_size") or 0, BYTES)
        return pool_shortage(_shared_bytes(settings), int(page or 0) or None)

    def huge_bytes(self, settings: Mapping[str, Any], page_bytes: int) -> int | None:
        """Its shared memory, of which the buffers are by far the most."""
        return _shared_bytes(settings)

    def command(self, place: Place, settings: Mapping[str, Any]) -> list[str]:
        given = {**BASE, **{n: v for n, v in settings.items() if v is not None}}
        for ours in ("data_checksums", WAIT_SAMPLES):
            given.pop(ours, None)
        told = rendered(self.settings(place.binary), given)
        where = ["-D", str(place.folder / "data"), "-k", str(place.folder)]
        options = [f"{name}={text}" for name, text in told.items()]
        options += [f"hba_file={place.folder / DOORS}", f"ident_file={place.folder / NAMES}"]
        listen = ["-h", "127.0.0.1", "-p", str(place.port)]
        return [str(place.binary), *where, *listen, *(w for o in options for w in ("-c", o))]

    def url(self, place: Place) -> str:
        return f"postgresql://load@127.0.0.1:{place.port}/{DATABASE}"

    def admin_url(self, place: Place) -> str:
        return f"postgresql://{ADMIN}@/{DATABASE}?socket={quote(str(_socket(place)))}"

    def files(self, place: Place) -> Mapping[str, str]:
        """Over the socket comes who made the cluster, as whom the kernel knows us; over TCP the
        load, by its password."""
        ours = pwd.getpwuid(os.geteuid()).pw_name
        return {
            DOORS: f"local all {ADMIN} peer map=ours\nhost all load 127.0.0.1/32 scram-sha-256\n",
            NAMES: f'ours "{ours}" {ADMIN}\n',
        }

    def greeting(self, place: Place) -> list[str]:
        """The load's password of this start."""
        return [_LOAD, f"ALTER ROLE load PASSWORD '{scram_verifier(place.secrets.load)}'"]

    def welcome(self, place: Place) -> list[str]:
        """The view of statements, which is empty unless the server loads its library; a PostgreSQL
        without it goes without."""
        return [_EXTENSION]

    def read_back(self, ask: Ask, settings: Mapping[str, Any]) -> dict[str, Any]:
        """And one fact: `pool_bytes`."""
        (rows,) = ask("SELECT name, setting, unit FROM pg_settings")
        reported = {name or "": _reported(setting or "", unit) for name, setting, unit in rows}
        found = in_force(self.settings(ask.place.binary), {**BASE, **settings}, reported)
        if WAIT_SAMPLES in settings:
            found[WAIT_SAMPLES] = settings[WAIT_SAMPLES]  # it is ours, not the server's
        if WAIT_SAMPLING in reported[PRELOADED]:
            ask(f"CREATE EXTENSION IF NOT EXISTS {WAIT_SAMPLING}")
        found["pool_bytes"] = int(quantity(reported["shared_buffers"], BYTES) or 0)
        return found

    def counters(self, ask: Ask) -> dict[str, float]:
        """Columns of the views of WAL, database and background writer, and where the library of
        statements is loaded, functions that were compiled (`jit_functions`). A backend reports
        at most once a second: the last second of a window may be missing."""
        asks = [_COUNTERS.format(view=view) for view in _VIEWS]
        *views, loaded = ask(*asks, "SHOW shared_preload_libraries")
        rows = [row for view in views for row in view]
        libraries = loaded[0][0] or ""
        further = [_COMPILED] if STATEMENTS in libraries else []
        further += [_PROFILE] if WAIT_SAMPLING in libraries else []
        if further:
            rows += [row for answer in ask(*further) for row in answer]
        found = {name: float(value) for name, value in rows if name and value is not None}
        return found | {
            "pages.read": found["blks_read"],
            "pages.written": sum(found.get(name, 0.0) for name in _WRITTEN),
        }

    def moment(self, ask: Ask) -> dict[str, float]:
        """Of the views of WAL, database and background writer, since 17 of checkpoints too."""
        *views, newer = ask(*(_COUNTERS.format(view=view) for view in _VIEWS), _HAS_CHECKPOINTER)
        if newer[0][0] == "t":
            views += ask(_COUNTERS.format(view=_CHECKPOINTER))
        rows = [row for view in views for row in view]
        return {n: float(v) for n, v in rows if n and n in SERIES and v is not None}

    def watch(self, place: Place, settings: Mapping[str, Any]) -> Sampler | None:
        """Ours, unless the server's own extension looks."""
        per_s = settings.get(WAIT_SAMPLES) or 0
        if not per_s or WAIT_SAMPLING in str(settings.get(PRELOADED) or ""):
            return None
        return Sampler(_socket(place), ADMIN, DATABASE, per_s)

    def look(self, ask: Asks, seconds: float) -> Mapping[str, float]:
        return looked(ask, seconds, LOOKS_PER_S)

    def waits(self, counted: Mapping[str, float]) -> Mapping[str, Mapping[str, float]]:
        """Time that statements spent waiting, by event, as samples tell it."""
        if "wait_samplers" not in counted and "wait_samples" not in counted:
            return {}
        named = {
            name.removeprefix("wait_ns."): value
            for name, value in counted.items()
            if name.startswith("wait_ns.")
        }
        whole = {**dict.fromkeys(EVENTS, 0.0), **named, "all": sum(named.values())}
        return {"waited_per_operation": whole}

    def is_fatal(self, log: str) -> str:
        """Its first fatal message that is not one to a client that came too early, and what it says
        of it; that a port is taken is told before that."""
        found = (m for m in _FATAL.finditer(log) if not m[1].startswith(_PASSING))
        fatal = next(found, None)
        if fatal is None:
            return ""
        return "; ".join(part for part in (*_BIND.findall(log), *fatal.groups()) if part)

    def tidy(self, place: Place) -> None:
        """A segment of shared memory, which stays if the server was killed; then its lock file is
        still there, and names it."""
        with suppress(OSError, ValueError, IndexError):
            key, number = (place.folder / "data/postmaster.pid").read_text().splitlines()[6].split()
            rows = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
            if [key, number] in [row.split()[:2] for row in rows]:
                ctypes.CDLL(None).shmctl(int(number), 0, None)  # 0 is IPC_RMID


POSTGRESQL = PostgreSql()


def _socket(place: Place) -> Path:
    """Its Unix socket."""
    return place.folder / f".s.PGSQL.{place.port}"


def _shared_bytes(settings: Mapping[str, Any]) -> int:
    buffers = settings.get("shared_buffers")
    return int(quantity(BASE["shared_buffers"] if buffers is None else buffers, BYTES) or 0)


def _reported(setting: str, unit: str | None) -> str:
    """A reported number with its unit, which may be a multiple: 10240 of 8kB are 81920kB."""
    if not unit or setting in ("-1", "0"):
        return setting
    match = re.fullmatch(r"(\d*)(\w+)", unit)
    assert match is not None, f"the server has a unit {unit}"
    count, name = match.groups()
    return f"{float(setting) * int(count or 1):.15g}{name}"


def _beside(binary: Path, program: Program) -> Path:
    """The program of the same version as the server, where it stands beside it."""
    own = binary.parent / program.name
    return own if own.is_file() else program.find() or Path(program.name)


def _has_checksums(place: Place) -> bool:
    told = subprocess.run(
        [str(_beside(place.binary, CONTROL)), "-D", str(place.folder / "data")],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    ).stdout
    version = re.search(r"Data page checksum version: +(\d+)", told)
    return version is not None and version[1] != "0"


@lru_cache(maxsize=8)
def _settings(binary: Path, identity: tuple[int, ...]) -> Mapping[str, Parameter]:
    told = subprocess.run([str(binary), "--describe-config"], capture_output=True, text=True)
    rows = [line.split("\t") for line in told.stdout.splitlines()]
    rows = [row for row in rows if len(row) >= 8 and row[0] not in OWNED]
    units, words = _asked(binary, rows)
    found = [_setting(row, units.get(row[0]), words.get(row[0], ())) for row in rows]
    sums = "checksums of data pages, put into the stopped data by pg_checksums before the start"
    looks = "looks a second at what statements wait for, by a connection of Assay's own; 0 is none"
    ours = (
        ServerSetting("data_checksums", "flag", sums),
        Parameter(WAIT_SAMPLES, "count", looks, 0, low=0, high=100),
    )
    return MappingProxyType(by_name([*found, *ours]))


def _is_absent(library: str) -> bool:
    """Whether a library is not where those of this server are; False where that is not known."""
    binary = SERVER.find()
    folder = binary.resolve().parent.parent / "lib" if binary else Path("/")
    known = (folder / "plpgsql.so").exists()
    return known and "/" not in library and not (folder / f"{library}.so").exists()


def _package_of(library: str) -> str:
    """The command that gets a library, as Debian names its packages."""
    binary = SERVER.find()
    version = binary.resolve().parent.parent.name if binary else "15"
    return f"sudo apt-get install postgresql-{version}-{library.replace('_', '-')}"


def _asked(
    binary: Path, rows: list[list[str]]
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Units of numbers and words of enumerations, by the refusal of values that cannot be."""
    wrong: dict[str, Callable[[list[str]], object]] = {
        "INTEGER": lambda row: int(row[5]) - 1,
        "ENUM": lambda row: "?",
        "REAL": lambda row: float(row[5]) - 1,
    }
    lines = [f"{row[0]} = '{wrong[row[3]](row)}'\n" for row in rows if row[3] in wrong]
    with tempfile.TemporaryDirectory(prefix="assay-postgresql-") as folder:
        file = Path(folder) / "refused.conf"
        file.write_text("".join(lines))
        options = {"config_file": file, "data_directory": folder, "lc_messages": "C"}
        told = subprocess.run(
            [
                str(binary),
                "-C",
                "port",
                *(w for n, v in options.items() for w in ("-c", f"{n}={v}")),
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
        ).stderr
    units = {name: unit for unit, name in _REFUSED.findall(told)}
    return units, {name: tuple(words.split(", ")) for name, words in _WORDS.findall(told)}


_KINDS: dict[str, Kind] = {"BOOLEAN": "flag", "INTEGER": "count", "REAL": "number"}
"""Of the server's own kinds; any other is an enumeration or a text."""


def _setting(row: list[str], unit: str | None, words: tuple[str, ...]) -> ServerSetting:
    name, context, _, kind, _, low, high, text = row[:8]
    numeric = kind in ("INTEGER", "REAL")
    match = re.fullmatch(r"(\d*)(\w*)", unit or "")
    assert match is not None, f"the server has a unit {unit}"
    count, letters = match.groups()
    units = {} if not letters else MICROSECONDS if letters in MICROSECONDS else BYTES
    return ServerSetting(
        name,
        _KINDS.get(kind, "choice"),
        f"{text.rstrip('.')} ({context})",
        default=BASE.get(name),
        choices=words,
        low=float(low) if numeric else None,
        high=float(high) if numeric else None,
        units=units,
        unit=int(count or 1) * (units[letters.lower()] if letters else 1),
        unit_name=unit or "",
        suffix="" if not letters else "us" if units is MICROSECONDS else "B",
        bare=not letters,
    )
