"""MariaDB as a target. Its settings are those that the installed `mariadbd` says it has.

What Assay gives beside a study's settings is in `BASE`, which a study may
override; where it lives and listens (`OWNED`) it may not. Everything else is as
the executable has it, without any option file of this machine.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from assay.core.errors import MissingError
from assay.core.parameters import Parameter, by_name
from assay.core.timeline import SERIES
from assay.host.pool_shortage import pool_shortage
from assay.host.traits import ServerTraits
from assay.targets.servers.framework.adapter import Adapter, Ask, Place, Program
from assay.targets.servers.framework.secret import mysql_hash
from assay.targets.servers.sql_attachment import REPORTED_AS, AttachedMariaDb
from assay.targets.setting_values import BYTES, ServerSetting, in_force, quantity, rendered, truth
from assay.workloads import SQL_WORKLOADS

SERVER = Program("mariadbd", "mariadb-server-core")
INSTALL = Program("mariadb-install-db", "mariadb-server-core")

BASE: Mapping[str, Any] = MappingProxyType(
    {
        "skip_name_resolve": True,  # loopback has no names worth asking for
        "max_connections": 1000,
        "performance_schema": False,  # as MariaDB has it: it costs, which is a change of its own
        "innodb_buffer_pool_size": 128 << 20,  # as MariaDB has it; given, so that it is read back
        "innodb_buffer_pool_dump_at_shutdown": False,  # each run starts from the same cold pool,
        "innodb_buffer_pool_load_at_startup": False,  # and no start reads behind the window's back
    }
)
"""The binary log is off, as MariaDB has it; nothing that makes a commit durable is touched."""

OWNED = frozenset(
    [
        "basedir",
        "bind_address",
        "bootstrap",
        "chroot",
        "console",
        "daemonize",
        "datadir",
        "defaults_file",
        "gdb",
        "help",
        "init_file",
        "log_error",
        "pid_file",
        "plugin_dir",
        "port",
        "print_defaults",
        "server_uid",
        "skip_grant_tables",
        "socket",
        "tmpdir",
        "user",
        "verbose",
        "version",
    ]
)
SHAPING = frozenset(
    [
        "character_set_server",
        "collation_server",
        "default_storage_engine",
        "innodb_checksum_algorithm",
        "innodb_compression_algorithm",
        "innodb_compression_default",
        "innodb_data_file_path",
        "innodb_default_row_format",
        "innodb_encrypt_tables",
        "innodb_file_per_table",
        "innodb_page_size",
        "innodb_undo_tablespaces",
        "lower_case_table_names",
    ]
)
"""New pages are checksummed by the algorithm of the day: a table stays in the format it got."""

LARGE = (
    "key_buffer_size",
    "aria_pagecache_buffer_size",
    "innodb_buffer_pool_size",
    "innodb_log_buffer_size",
)
"""What lies in large pages where they are asked for."""

ADMIN = "`assay`@`localhost`"
"""By whom Assay asks, over the socket: switching waits on and reading them takes every right."""
LOADS = ("`load`@`127.0.0.1`", "`load`@`localhost`")
WHO_MAY_COME = "who-may-come.sql"
WAITS = "wait/synch/%=ON"
ALL, WAITED = "all", "waited_per_operation"
LOCKS = (
    ALL,
    *(
        f"innodb/{name}"
        for name in (
            *("buf_pool_mutex", "flush_list_mutex", "lock_wait_mutex", "trx_sys_mutex"),
            *("fil_system_mutex", "btr_search_latch", "lock_latch", "trx_rseg_latch"),
            *("fil_space_latch", "dict_operation_lock", "trx_purge_latch", "index_tree_rw_lock"),
        )
    ),
    *("sql/LOCK_table_cache", "sql/MDL_lock::rwlock", "sql/THD::LOCK_thd_data"),
)
"""Locks that a study may name: those of InnoDB and the server that loads on tables go through. The
latch of the redo log is not instrumented."""

_OPTION = re.compile(r"^  (?:-\w, )?--([A-Za-z0-9-]+)(\S*)[ \n](.*?)(?=^  -|\Z)", re.M | re.S)
_VALUE = re.compile(r"^([A-Za-z0-9-]+) +(.*)$", re.M)
_ONE_OF = re.compile(r"One of: ([^.(]+)")
_MOMENT = "SHOW GLOBAL STATUS WHERE Variable_name IN ({})".format(
    ", ".join(f"'{name}'" for name in SERIES if name.startswith("Innodb_"))
)
"""What a timeline keeps."""
_NO_COUNTERS = tuple(
    [
        "Acl_",
        "Binlog_",
        "Com_",
        "Connection_errors_",
        "Delayed_",
        "Feature_",
        "Innodb_defragment_",
        "Innodb_encryption_",
        "Innodb_onlineddl_",
        "Key_",
        "Master_",
        "Performance_schema_",
        "Qcache_",
        "Rpl_",
        "Slave",
        "Ssl_",
        "Uptime",
        "wsrep",
    ]
)
"""Status that tells nothing of a load on tables of InnoDB."""


class MariaDb(Adapter):
    """The adapter."""

    kind = "mariadb"
    text = "MariaDB, with a server and a data directory of its own for each run"
    programs = (SERVER, INSTALL)
    protocol = "mysql"
    workloads = SQL_WORKLOADS
    traits = ServerTraits(
        asks_huge=re.compile(r"^large[-_]pages(\s*=\s*(1|on|true))?\s*$", re.I | re.M)
    )
    shaping = SHAPING
    lock_classes = LOCKS
    attachable = AttachedMariaDb()
    takes_secret = True
    ping = "SELECT 1"

    def settings(self, binary: Path | None) -> Mapping[str, Parameter]:
        """Asked once of each executable, told apart by place, size and time of change."""
        binary = binary or SERVER.find()
        if binary is None:
            return {}
        stat = binary.stat()
        return _settings(binary, (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns))

    def version(self, binary: Path) -> str:
        return _said(binary, "--version")[0].strip()

    def make(self, place: Place, settings: Mapping[str, Any]) -> list[list[str]]:
        shape = {n: v for n, v in settings.items() if n in SHAPING}
        return [
            [
                str(_install(place.binary)),
                "--no-defaults",
                f"--datadir={place.folder / 'data'}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                *self._options(place, shape),
            ]
        ]

    def lacks(self, settings: Mapping[str, Any]) -> tuple[str, str] | None:
        """Where huge pages are short the server only warns, and goes on without them."""
        if not truth(settings.get("large_pages")):
            return None
        return pool_shortage(self._large_bytes(settings))

    def huge_bytes(self, settings: Mapping[str, Any], page_bytes: int) -> int | None:
        """It takes the largest pages that an allocation is not smaller than."""
        pool = settings.get("innodb_buffer_pool_size", BASE["innodb_buffer_pool_size"])
        if (quantity(pool, BYTES) or 0) < page_bytes:
            raise MissingError(
                f"a buffer pool of {pool} is smaller than a page of {page_bytes >> 20} MiB",
                next_step=f'innodb_buffer_pool_size = "{page_bytes >> 20}MiB" under [target]',
            )
        return self._large_bytes(settings)

    def _large_bytes(self, settings: Mapping[str, Any]) -> int:
        """What it wants in large pages, by its own defaults where nothing is given."""
        known, total = self.settings(None), 0.0
        for name in LARGE:
            value, setting = settings.get(name), known.get(name)
            if value is None and isinstance(setting, ServerSetting):
                value = setting.own if setting.default is None else setting.default
            total += quantity(value, BYTES) or 0
        return int(total)

    def command(self, place: Place, settings: Mapping[str, Any]) -> list[str]:
        given = {**BASE, **{n: v for n, v in settings.items() if v is not None}}
        instruments = "performance_schema_instrument"
        waits = truth(given["performance_schema"]) and instruments not in given
        return [
            str(place.binary),
            "--no-defaults",
            f"--datadir={place.folder / 'data'}",
            f"--socket={socket(place)}",
            f"--pid-file={place.folder / 'mariadbd.pid'}",
            f"--init-file={place.folder / WHO_MAY_COME}",
            f"--tmpdir={place.folder}",
            "--bind-address=127.0.0.1",
            f"--port={place.port}",
            *self._options(place, given),
            *([f"--performance-schema-instrument={WAITS}"] if waits else []),
        ]

    def _options(self, place: Place, settings: Mapping[str, Any]) -> list[str]:
        told = rendered(self.settings(place.binary), settings)
        return [f"--{name.replace('_', '-')}={text}" for name, text in told.items()]

    def url(self, place: Place) -> str:
        return f"mysql://load@127.0.0.1:{place.port}/load"

    def admin_url(self, place: Place) -> str:
        return f"mysql://assay@/load?socket={quote(str(socket(place)))}"

    def files(self, place: Place) -> Mapping[str, str]:
        """Statements that it runs at each start before it answers anybody: of all accounts that its
        data had, only ours are left, and not in its binary log."""
        by = f"IDENTIFIED BY PASSWORD '{mysql_hash(place.secrets.load)}'"
        statements = [
            "SET SESSION sql_log_bin = 0",
            "DELETE FROM mysql.global_priv WHERE User <> 'mariadb.sys'",
            "DELETE FROM mysql.db",
            "DELETE FROM mysql.proxies_priv",
            "FLUSH PRIVILEGES",
            "CREATE DATABASE IF NOT EXISTS `load`",
            f"CREATE USER {ADMIN} IDENTIFIED BY PASSWORD '{mysql_hash(place.secrets.admin)}'",
            f"GRANT ALL ON *.* TO {ADMIN}",
            *(f"CREATE USER {user} {by}" for user in LOADS),
            *(f"GRANT ALL ON `load`.* TO {user}" for user in LOADS),
        ]
        return {WHO_MAY_COME: "".join(f"{statement};\n" for statement in statements)}

    def read_back(self, ask: Ask, settings: Mapping[str, Any]) -> dict[str, Any]:
        """And two facts: `pool_bytes`, and the format that the data's pages have."""
        variables, _, formats = ask(
            "SHOW GLOBAL VARIABLES",
            # A table space is listed once a table in it was opened, as this does.
            "SELECT SUM(DATA_LENGTH) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'load'",
            "SELECT DISTINCT FLAG & 16 FROM information_schema.INNODB_SYS_TABLESPACES "
            "WHERE NAME LIKE 'load/%'",
        )
        reported = {str(row[0]): row[1] for row in variables}
        reported |= {name: reported.get(other) for name, other in REPORTED_AS.items()}
        found = in_force(self.settings(ask.place.binary), {**BASE, **settings}, reported)
        found["pool_bytes"] = int(reported["innodb_buffer_pool_size"] or 0)
        found["data_format"] = _format({row[0] for row in formats})
        return found

    def counters(self, ask: Ask) -> dict[str, float]:
        """Numbers of SHOW GLOBAL STATUS, and with the performance schema the waits of each class:
        how many, and their time in ps. `pages` are those whose checksum was looked at or made."""
        status, waits = ask(
            "SHOW GLOBAL STATUS",
            "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT FROM "
            "performance_schema.events_waits_summary_global_by_event_name WHERE COUNT_STAR > 0",
        )
        found = {
            name: float(value)
            for name, value in status
            if name and value and _is_number(value) and not name.startswith(_NO_COUNTERS)
        }
        for done in ("read", "written"):
            found[f"pages.{done}"] = found[f"Innodb_pages_{done}"]
        for name, count, time in waits:
            found[f"waits.{name}"] = float(count or 0)
            found[f"wait_ps.{name}"] = float(time or 0)
        return found

    def moment(self, ask: Ask) -> dict[str, float]:
        rows = ask(_MOMENT)[0]
        return {str(name): float(value) for name, value in rows if value and _is_number(value)}

    def waits(self, counted: Mapping[str, float]) -> Mapping[str, Mapping[str, float]]:
        """Of each lock its acquisitions, and the time to get it, which is short where nobody had
        it: that grows with contention, where the number does not. Conditions are left out, as
        threads without work wait for them too."""
        kinds = {"waits.": ("acquisitions_per_operation", 1.0), "wait_ps.": (WAITED, 1e-3)}
        found: dict[str, dict[str, float]] = {}
        for prefix, (family, scale) in kinds.items():
            named = {
                n.removeprefix(f"{prefix}wait/synch/"): v * scale
                for n, v in counted.items()
                if n.startswith(f"{prefix}wait/synch/")
            }
            if named:
                found[family] = _by_lock(named)
        return found

    def is_fatal(self, log: str) -> str:
        """It says that it aborts after it said why."""
        errors = [line.strip() for line in log.splitlines() if "[ERROR]" in line]
        return errors[0] if errors and "Aborting" in errors[-1] else ""


MARIADB = MariaDb()


def _by_lock(named: Mapping[str, float]) -> dict[str, float]:
    """Totals by lock, whatever kind of lock it is; those that were not used are 0."""
    found = dict.fromkeys(LOCKS, 0.0)
    for name, value in named.items():
        kind, _, lock = name.partition("/")
        if kind != "cond":
            found[lock] = found.get(lock, 0.0) + value
            found[ALL] += value
    return found


def socket(place: Place) -> Path:
    """Its Unix socket."""
    return place.folder / "socket"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text) is not None


def _format(flags: set[str | None]) -> str:
    """What checksums the pages of the data have: by their table spaces' flags."""
    names = {"16": "full_crc32", "0": "crc32"}
    return " and ".join(sorted(names[f or "0"] for f in flags)) or "no data"


def _install(binary: Path) -> Path:
    """The program that makes a data directory, of the same build where it has one."""
    own = (binary.parent / INSTALL.name, binary.parent.parent / "scripts" / INSTALL.name)
    found = next((p for p in own if p.is_file()), None) or INSTALL.find()
    return found or Path(INSTALL.name)


def _said(binary: Path, *options: str) -> tuple[str, str]:
    """What it prints and complains about, and does not start."""
    done = subprocess.run(
        [str(binary), "--no-defaults", *options], capture_output=True, text=True, errors="replace"
    )
    return done.stdout, done.stderr


@lru_cache(maxsize=8)
def _settings(binary: Path, identity: tuple[int, ...]) -> Mapping[str, Parameter]:
    told, _ = _said(binary, "--verbose", "--help")
    options, _, values = told.partition("\nVariables (--")
    texts = {m[1]: (m[2], " ".join(m[3].split())) for m in _OPTION.finditer(options)}
    found = []
    for option, default in _VALUE.findall(values):
        name = option.replace("-", "_")
        if option in texts and name not in OWNED:
            found.append(_setting(binary, name, default.strip(), *texts[option]))
    return MappingProxyType(by_name(found))


def _setting(binary: Path, name: str, default: str, takes: str, text: str) -> ServerSetting:
    one_of = _ONE_OF.search(text)
    listed = one_of[1].replace(", or ", ", ").split(",") if one_of else []
    if "FORCE (don't" in text:
        listed = ["ON", "OFF", "FORCE", "FORCE_PLUS_PERMANENT"]
    numeric = "#" in takes
    is_flag = not takes and default in ("TRUE", "FALSE")
    return ServerSetting(
        name,
        "flag" if is_flag else "count" if numeric else "choice",
        f"{text.partition('. ')[0].rstrip('.')}; MariaDB has {default or 'nothing'}",
        default=BASE.get(name),
        choices=tuple(w.strip() for w in listed if w.strip()),
        units=BYTES if numeric else {},
        own=default,
        fault=lambda text: _fault(binary, name, text),
    )


@lru_cache(maxsize=4096)
def _fault(binary: Path, name: str, text: str) -> str:
    """What the executable says of a value, with which it does not start; empty if nothing."""
    option = name.replace("_", "-")
    _, complaints = _said(binary, f"--{option}={text}", "--verbose", "--help")
    about = [line for line in complaints.splitlines() if name in line or option in line]
    return re.sub(r"^.*?\[\w+\] (\S*mariadbd: )?", "", about[0]) if about else ""
