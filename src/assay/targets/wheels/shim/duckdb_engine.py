"""DuckDB behind the protocol: a database file, and a cursor for each connection."""

from __future__ import annotations

import contextlib
import mmap
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import texts
from .engine import Answer, Described, EngineError
from .wire import BOOL, DATE, FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC, TEXT, TIMESTAMP, Column

FILE = "database.duckdb"

_OIDS = {
    "BOOLEAN": BOOL,
    "TINYINT": INT2,
    "UTINYINT": INT2,
    "SMALLINT": INT2,
    "USMALLINT": INT4,
    "INTEGER": INT4,
    "UINTEGER": INT8,
    "BIGINT": INT8,
    "UBIGINT": NUMERIC,
    "HUGEINT": NUMERIC,
    "UHUGEINT": NUMERIC,
    "FLOAT": FLOAT4,
    "DOUBLE": FLOAT8,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
}
_CODES = {
    "ParserException": "42601",
    "CatalogException": "42P01",
    "BinderException": "42703",
    "ConversionException": "22P02",
    "OutOfRangeException": "22003",
    "ConstraintException": "23505",
    "TransactionException": "40001",
    "OutOfMemoryException": "53200",
    "InterruptException": "57014",
    "IOException": "58030",
    "NotImplementedException": "0A000",
}
"""SQLSTATE by the library's own exception."""
LOCKED = ("SET", "RESET", "PRAGMA")
"""Not by `lock_configuration`: each session has to be given its own settings after it."""
_SPECIAL = re.compile(rb"\\(?!N[\t\n])")
"""A backslash that means something else than NULL."""


def load_library() -> None:
    """Loads it, and whatever it loads for values of any type."""
    import duckdb

    with duckdb.connect(":memory:") as probe:
        probe.execute(
            "SELECT 1.5, 1::HUGEINT, 'a', true, uuid(), DATE '2000-01-01', TIME '00:00', "
            "TIMESTAMP '2000-01-01', INTERVAL 1 DAY, [1], {'a': 1}, 'a'::BLOB, NULL"
        ).fetchall()


class DuckDbEngine:
    """The library, with one database."""

    name = "duckdb"

    def __init__(self, data: Path | None, settings: Mapping[str, Any], folder: Path) -> None:
        import duckdb

        self._library = duckdb
        self._local: dict[str, Any] = {}
        try:
            given = self._by_scope(settings)
            file = ":memory:" if data is None else str(data / FILE)
            self._root = duckdb.connect(file, config=given)
            self.connect().close()  # what a session is given can fail as well
            if data is not None:
                self._close_doors(folder)
        except duckdb.Error as error:
            raise _refused(error) from error

    def _by_scope(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the database; those of a session are kept for each that comes."""
        if not settings:
            return {}
        with self._library.connect(":memory:") as probe:
            rows = probe.execute("SELECT name, scope FROM duckdb_settings()").fetchall()
        local = {name for name, scope in rows if scope == "LOCAL"}
        self._local = {n: v for n, v in settings.items() if n in local}
        return {n: v for n, v in settings.items() if n not in local}

    def _close_doors(self, folder: Path) -> None:
        """From now on statements reach files of this folder only, where the library can tell them
        apart (DuckDB 1.2)."""
        asked = "SELECT count(*) FROM duckdb_settings() WHERE name = 'allowed_directories'"
        if self._root.execute(asked).fetchone() == (1,):
            own = literal(str(folder.resolve()))
            self._root.execute(f"SET allowed_directories = [{own}]")
            self._root.execute("SET enable_external_access = false")

    def version(self) -> str:
        return str(self._library.__version__)

    def connect(self) -> DuckDbConnection:
        cursor = self._root.cursor()
        for name, value in self._local.items():
            cursor.execute(f"SET SESSION {name} = {literal(value)}")
        return DuckDbConnection(cursor, self._library.Error)

    def close(self) -> None:
        self._root.close()

    def described(self) -> list[Described]:
        """Every setting, with its value in a database that was given none."""
        asked = "SELECT name, value, input_type, description, scope FROM duckdb_settings()"
        return [
            Described(name, value, _kind(type_), text or "", scope)
            for name, value, type_, text, scope in self._root.execute(asked).fetchall()
        ]


class DuckDbConnection:
    """One client's cursor."""

    def __init__(self, cursor: Any, error: type[Exception]) -> None:
        self._cursor, self._error = cursor, error

    def run(self, statement: str) -> Answer:
        word = texts.word(statement)
        if word in LOCKED:
            raise EngineError(f"{word} is not served: settings are the study's", "42501")
        try:
            self._cursor.execute(statement)
            if word in texts.CHANGES:
                rows = self._cursor.fetchall()
                return Answer(count=int(rows[0][0]) if rows and rows[0] else 0)
            if word not in texts.ROWS:
                return Answer()
            described = self._cursor.description or []
            rows = self._cursor.fetchall()
        except self._error as error:
            raise _refused(error) from error
        columns = tuple(Column(str(d[0]), _oid(str(d[1]))) for d in described)
        writers = [_writer(c.oid) for c in columns]
        texts_ = [
            [None if v is None else write(v) for write, v in zip(writers, row, strict=True)]
            for row in rows
        ]
        return Answer(columns, texts_, len(rows))

    def columns(self, statement: str) -> tuple[Column, ...]:
        if texts.word(statement) not in texts.ROWS:
            return ()
        try:
            rows = self._cursor.execute(f"DESCRIBE {statement}").fetchall()
        except self._error as error:
            raise _refused(error) from error
        return tuple(Column(str(row[0]), _oid(str(row[1]))) for row in rows)

    def load(self, table: str, columns: str, file: Path) -> int:
        r"""By DuckDB's reader of CSV, which knows `\N` and no other escape: others are taken out
        before."""
        quote = ""
        if _has_escapes(file):
            _rewrite_as_csv(file)
            quote = '"'
        options = (
            "FORMAT csv, AUTO_DETECT false, HEADER false, DELIMITER '\t', NEW_LINE '\\n', "
            f"NULLSTR '\\N', QUOTE '{quote}', ESCAPE '{quote}'"
        )
        return self.run(f"COPY {table} {columns} FROM {literal(str(file))} ({options})").count

    def interrupt(self) -> None:
        with contextlib.suppress(self._error):
            self._cursor.interrupt()

    def close(self) -> None:
        with contextlib.suppress(self._error):
            self._cursor.close()


def literal(value: object) -> str:
    """A value as SQL writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def _refused(error: Exception) -> EngineError:
    return EngineError(str(error).strip(), _CODES.get(type(error).__name__, "XX000"))


def _oid(type_: str) -> int:
    return NUMERIC if type_.startswith("DECIMAL") else _OIDS.get(type_, TEXT)


def _kind(type_: str) -> str:
    if type_ == "BOOLEAN":
        return "flag"
    if "INT" in type_:
        return "count"
    return "number" if type_ in ("FLOAT", "DOUBLE") else "text"


def _writer(oid: int) -> Callable[[Any], bytes]:
    """How a value of a type becomes the text that PostgreSQL would write."""
    if oid == BOOL:
        return lambda value: b"t" if value else b"f"
    if oid in (FLOAT4, FLOAT8):
        return lambda value: repr(value).removesuffix(".0").encode()
    return lambda value: str(value).encode()


def _has_escapes(file: Path) -> bool:
    if not file.stat().st_size:
        return False
    with file.open("rb") as data, mmap.mmap(data.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return _SPECIAL.search(mapped) is not None


def _rewrite_as_csv(file: Path) -> None:
    """The same rows with quotes in place of escapes."""
    written = file.with_suffix(".csv")
    with file.open("rb") as data, written.open("wb") as out:
        for line in data:
            values = [texts.unescaped(v) for v in line.rstrip(b"\n").split(b"\t")]
            out.write(b"\t".join(map(_quoted, values)) + b"\n")
    written.replace(file)


def _quoted(value: bytes | None) -> bytes:
    return rb"\N" if value is None else b'"' + value.replace(b'"', b'""') + b'"'
