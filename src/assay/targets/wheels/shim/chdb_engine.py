"""chDB (ClickHouse as a library) behind the protocol: one engine, and a connection for each client.

Results come as TabSeparated, which is the text format that clients are sent but for
its escapes. What SQL of other servers leaves to them is set so that ClickHouse takes
it: a table without an engine is a MergeTree, without a key.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from . import texts
from .duckdb_engine import literal
from .engine import Answer, Described, EngineError
from .wire import (
    BOOL,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    Column,
    Row,
)

LIBRARY = "chdb._chdb"
"""The compiled module itself, which ships no types."""
_FORMAT = "TabSeparatedWithNamesAndTypes"
_OIDS = {
    "Bool": BOOL,
    "Int8": INT2,
    "UInt8": INT2,
    "Int16": INT2,
    "UInt16": INT4,
    "Int32": INT4,
    "UInt32": INT8,
    "Int64": INT8,
    "UInt64": INT8,
    "Float32": FLOAT4,
    "Float64": FLOAT8,
    "Date": DATE,
    "Date32": DATE,
}
"""A UInt64 is mostly a count: it is served as the eight bytes that counts are elsewhere."""
_WRAPPED = re.compile(r"(?:Nullable|LowCardinality)\((.*)\)")
_CODE = re.compile(r"Code: (\d+)\.")
_CODES = {
    43: "42804",
    46: "42883",
    47: "42703",
    57: "42P07",
    60: "42P01",
    62: "42601",
    241: "53200",
    394: "57014",
}
"""SQLSTATE by ClickHouse's own number."""
_WHOLE = re.compile(r"U?Int\d+|NonZeroUInt64|MaxThreads|Seconds|Milliseconds")
_REAL = ("Float", "Double")

MERGE = "VACUUM"
"""No statement of ClickHouse: here it merges the parts of a table, as background threads would in
their own time."""


def load_library() -> None:
    """Loads it."""
    import_module(LIBRARY)


class ChDbEngine:
    """The library, with one folder of data."""

    name = "chdb"

    def __init__(self, data: Path | None, settings: Mapping[str, Any]) -> None:
        self._library = import_module(LIBRARY)
        self._settings = dict(settings)
        self._path = ":memory:" if data is None else str(data)
        self._root = self.connect()

    def version(self) -> str:
        rows = list(self._root.run("SELECT version()").rows)
        return (rows[0][0] or b"").decode()

    def connect(self) -> ChDbConnection:
        try:
            connection = ChDbConnection(self._library.connect(self._path), self._kill_all)
        except RuntimeError as error:
            raise _refused(error) from error
        for name, value in self._settings.items():
            connection.run(f"SET {name} = {literal(value)}")
        return connection

    def close(self) -> None:
        self._root.close()

    def _kill_all(self) -> None:
        self._root.run("KILL QUERY WHERE query NOT LIKE 'KILL QUERY%' ASYNC")

    def described(self) -> list[Described]:
        """Every setting of a session that is not obsolete, with its default."""
        rows = self._root.run(
            "SELECT name, default, type, description FROM system.settings "
            "WHERE NOT is_obsolete AND alias_for = ''"
        ).rows
        told = [[(v or b"").decode("utf-8", "replace") for v in row] for row in rows]
        return [
            Described(name, value, _kind(type_), " ".join(text.split())[:200])
            for name, value, type_, text in told
        ]


class ChDbConnection:
    """One client's connection."""

    def __init__(self, connection: Any, kill_all: Callable[[], None]) -> None:
        self._connection, self._kill_all = connection, kill_all

    def run(self, statement: str) -> Answer:
        if texts.word(statement) == MERGE:
            self._asked(f"OPTIMIZE TABLE {statement.split()[-1]} FINAL")
            return Answer()
        found = self._asked(statement)
        if not found:
            return Answer()
        names, types, *lines = found.removesuffix(b"\n").split(b"\n")
        columns = tuple(
            Column((texts.unescaped(n) or b"").decode("utf-8", "replace"), _oid(t.decode()))
            for n, t in zip(names.split(b"\t"), types.split(b"\t"), strict=True)
        )
        split = [line.split(b"\t") for line in lines]
        rows: Sequence[Row] = split
        if b"\\" in found:
            rows = [[texts.unescaped(v) for v in row] for row in split]
        flags = [place for place, c in enumerate(columns) if c.oid == BOOL]
        if flags:
            rows = [_with_flags(row, flags) for row in rows]
        return Answer(columns, rows, len(rows))

    def columns(self, statement: str) -> tuple[Column, ...]:
        word = texts.word(statement)
        if word not in texts.ROWS:
            return ()
        if word not in ("SELECT", "WITH"):
            return self.run(statement).columns
        rows = self.run(f"DESCRIBE ({statement})").rows
        return tuple(Column((r[0] or b"").decode(), _oid((r[1] or b"").decode())) for r in rows)

    def load(self, table: str, columns: str, file: Path) -> int:
        """ClickHouse's own format has the same escapes; rows are lines of the file."""
        source = f"SELECT * FROM file({literal(str(file))}, 'TabSeparated')"
        self._asked(f"INSERT INTO {table} {columns} {source}")
        with file.open("rb") as data:
            return sum(1 for _ in data)

    def interrupt(self) -> None:
        """Everybody's: queries carry no name of their connection. It is asked at the end only."""
        with contextlib.suppress(EngineError):
            self._kill_all()

    def close(self) -> None:
        self._connection.close()

    def _asked(self, statement: str) -> bytes:
        try:
            told: bytes = self._connection.query(statement, _FORMAT, params={}).bytes()
        except RuntimeError as error:
            raise _refused(error) from error
        return told


def _with_flags(row: Row, flags: list[int]) -> Row:
    changed = list(row)
    for place in flags:
        value = row[place]
        changed[place] = None if value is None else value[:1]
    return changed


def _refused(error: Exception) -> EngineError:
    message = str(error).strip()
    match = _CODE.search(message)
    return EngineError(message, _CODES.get(int(match[1]), "XX000") if match else "XX000")


def _oid(type_: str) -> int:
    while match := _WRAPPED.fullmatch(type_):
        type_ = match[1]
    if type_.startswith("DateTime"):
        return TIMESTAMP
    return (
        NUMERIC
        if type_.startswith(("Decimal", "Int", "UInt")) and type_ not in _OIDS
        else (_OIDS.get(type_, TEXT))
    )


def _kind(type_: str) -> str:
    if type_ == "Bool":
        return "flag"
    if _WHOLE.fullmatch(type_):
        return "count"
    return "number" if type_ in _REAL else "text"
