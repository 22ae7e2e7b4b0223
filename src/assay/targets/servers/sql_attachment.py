"""MariaDB and PostgreSQL that already run: SET GLOBAL, ALTER SYSTEM, and a database of our own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from assay import native
from assay.core.address import ServerAddress
from assay.core.errors import RunError
from assay.targets.servers.framework.attachment import Asks

MARK = "assay_whole"
"""The table that says that a database's data set was loaded to its end."""
REPORTED_AS = {"transaction_isolation": "tx_isolation", "transaction_read_only": "tx_read_only"}
"""Variables of MariaDB that have another name than their option."""
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _names(names: list[str]) -> str:
    return ", ".join(_text(n) for n in names)


class _OwnDatabase:
    """A database of ours, by the name of its data set, so that it is nobody else's."""

    exists: str
    has_mark: str

    def database(self, target: ServerAddress, name: str) -> ServerAddress:
        return replace(target, database=name)

    def has_data(self, target: ServerAddress, name: str) -> bool:
        (there,) = native.ask_server(target.request(), [self.exists.format(name=name)])
        own = self.database(target, name)
        if there:
            (marked,) = native.ask_server(own.request(), [self.has_mark.format(name=name)])
            if marked:
                return True
            native.ask_server(target.request(), [f"DROP DATABASE {name}"])
        native.ask_server(target.request(), [f"CREATE DATABASE {name}"])
        return False

    def keep_data(self, target: ServerAddress, name: str) -> None:
        own = self.database(target, name)
        native.ask_server(own.request(), [f"CREATE TABLE {MARK} (id INT)"])


class AttachedMariaDb(_OwnDatabase):
    """What can be done to it; the user needs SUPER, PROCESS, and rights on databases assay_%."""

    needs_file = True
    exists = "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{name}'"
    has_mark = (
        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{name}' "
        f"AND TABLE_NAME = '{MARK}'"
    )

    def before(self, ask: Asks, names: list[str]) -> dict[str, str | None]:
        reported = {REPORTED_AS.get(n, n): n for n in names}
        (rows,) = ask(
            f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({_names([*reported])})",
        )
        found: dict[str, str | None] = {reported[str(name)]: value or "" for name, value in rows}
        return _all_of(names, found)

    def fixed(self, ask: Asks, names: list[str]) -> set[str]:
        reported = {REPORTED_AS.get(n, n): n for n in names}
        (rows,) = ask(
            "SELECT LOWER(VARIABLE_NAME) FROM information_schema.SYSTEM_VARIABLES WHERE "
            f"READ_ONLY = 'YES' AND VARIABLE_NAME IN ({_names([*reported])})"
        )
        return {reported[str(row[0])] for row in rows}

    def put(self, ask: Asks, values: Mapping[str, str | None]) -> None:
        asks = []
        for name, value in values.items():
            text = value or ""
            literal = text if _NUMBER.fullmatch(text) else _text(text.replace("\\", "\\\\"))
            asks.append(f"SET GLOBAL {REPORTED_AS.get(name, name)} = {literal}")
        if asks:
            ask(*asks)

    def lines(self, values: Mapping[str, str]) -> str:
        return "[mariadbd]\n" + "".join(f"{name} = {value}\n" for name, value in values.items())


class AttachedPostgreSql(_OwnDatabase):
    """What can be done to it; the user must be a superuser."""

    needs_file = False
    exists = "SELECT 1 FROM pg_database WHERE datname = '{name}'"
    has_mark = f"SELECT 1 FROM pg_tables WHERE tablename = '{MARK}'"

    def before(self, ask: Asks, names: list[str]) -> dict[str, str | None]:
        """What an earlier ALTER SYSTEM has set; a setting without one has no value of its own."""
        (known,) = ask(f"SELECT name FROM pg_settings WHERE name IN ({_names(names)})")
        _all_of(names, {str(row[0]): None for row in known})
        (rows,) = ask(
            "SELECT name, setting FROM pg_file_settings WHERE sourcefile LIKE "
            f"'%/postgresql.auto.conf' AND name IN ({_names(names)})"
        )
        return {**dict.fromkeys(names), **{str(name): value for name, value in rows}}

    def fixed(self, ask: Asks, names: list[str]) -> set[str]:
        (rows,) = ask(
            "SELECT name FROM pg_settings WHERE context = 'postmaster' "
            f"AND name IN ({_names(names)})"
        )
        return {str(row[0]) for row in rows}

    def put(self, ask: Asks, values: Mapping[str, str | None]) -> None:
        asks = [
            f"ALTER SYSTEM RESET {name}"
            if value is None
            else f"ALTER SYSTEM SET {name} = {_text(value)}"
            for name, value in values.items()
        ]
        if asks:
            ask(*asks, "SELECT pg_reload_conf()")

    def lines(self, values: Mapping[str, str]) -> str:
        raise NotImplementedError("ALTER SYSTEM holds them")


def _all_of(names: list[str], found: dict[str, str | None]) -> dict[str, str | None]:
    absent = [name for name in names if name not in found]
    if absent:
        raise RunError(f"the server has no setting {', '.join(absent)}")
    return found
