"""PostgreSQL's protocol, version 3.0, on the server's side: bytes in, messages out, and back.

Source: PostgreSQL documentation, "Frontend/Backend Protocol". What a client needs that sends
statements without parameters, and COPY data; nothing here knows a socket or a library.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

VERSION = 3 << 16
SSL_REQUEST = 80877103
GSS_REQUEST = 80877104
CANCEL_REQUEST = 80877102
STARTUP_BYTES_MAX = 10_000
"""As PostgreSQL has it: who sends more before a login is no client."""
MESSAGE_BYTES_MAX = 1 << 30

INT2, INT4, INT8 = 21, 23, 20
BOOL, TEXT, FLOAT4, FLOAT8 = 16, 25, 700, 701
DATE, TIMESTAMP, NUMERIC = 1082, 1114, 1700
_BINARY = {INT2: struct.Struct(">h"), INT4: struct.Struct(">i"), INT8: struct.Struct(">q")}

_LENGTH = struct.Struct(">i")
_HEAD = struct.Struct(">ci")
_COUNT = struct.Struct(">H")
_NULL = _LENGTH.pack(-1)


class WireError(Exception):
    """What a client sent is not of the protocol, or not of the part that is served."""

    def __init__(self, message: str, code: str = "08P01") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Column:
    """A column of a result: its name, and the object identifier of PostgreSQL's nearest type."""

    name: str
    oid: int = TEXT


Row = Sequence[bytes | None]
"""Values as texts; None is NULL."""


class Incoming:
    """The bytes of one client, and the messages in them so far."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        """Takes what a socket gave."""
        self._bytes += data

    def startup(self) -> tuple[int, dict[str, str]] | None:
        """The first message: its code (a version, or a request), and the settings it names."""
        body = self._take(0, STARTUP_BYTES_MAX)
        if body is None:
            return None
        if len(body) < 4:
            raise WireError("a first message without a version")
        (code,) = _LENGTH.unpack_from(body)
        words = body[4:].split(b"\0")
        pairs = zip(words[::2], words[1::2], strict=False)
        return code, {n.decode("utf-8", "replace"): v.decode("utf-8", "replace") for n, v in pairs}

    def message(self) -> tuple[bytes, bytes] | None:
        """The next message: its type and its body; None while it is not all here."""
        if not self._bytes:
            return None
        kind = bytes(self._bytes[:1])
        body = self._take(1, MESSAGE_BYTES_MAX)
        return None if body is None else (kind, body)

    def _take(self, offset: int, most: int) -> bytes | None:
        """The body of a message whose length stands at an offset."""
        if len(self._bytes) < offset + 4:
            return None
        (length,) = _LENGTH.unpack_from(self._bytes, offset)
        if not 4 <= length <= most:
            raise WireError(f"a message of length {length}")
        if len(self._bytes) < offset + length:
            return None
        body = bytes(self._bytes[offset + 4 : offset + length])
        del self._bytes[: offset + length]
        return body


# What bodies of a client's messages hold.


def query_of(body: bytes) -> str:
    """Query: the statements."""
    return _BodyReader(body, "Query").text()


def parse_of(body: bytes) -> tuple[str, str, int]:
    """Parse: the name of the statement, its text, and how many parameters it declares."""
    reader = _BodyReader(body, "Parse")
    return reader.text(), reader.text(), reader.count()


def bind_of(body: bytes) -> tuple[str, str, list[int]]:
    """Bind: the portal, the statement, and the formats of the columns. Values are refused."""
    reader = _BodyReader(body, "Bind")
    portal, statement = reader.text(), reader.text()
    reader.counts()  # formats of values
    if reader.count():
        raise WireError("statements with parameters are not served", "0A000")
    return portal, statement, reader.counts()


def describe_of(body: bytes) -> tuple[str, str]:
    """Describe and Close: S for a statement or P for a portal, and its name."""
    reader = _BodyReader(body, "Describe or Close")
    kind = reader.byte()
    if kind not in "SP":
        raise WireError(f"neither a statement nor a portal: {kind!r}")
    return kind, reader.text()


def execute_of(body: bytes) -> tuple[str, int]:
    """Execute: the portal, and the limit of rows, 0 for all."""
    reader = _BodyReader(body, "Execute")
    return reader.text(), reader.long()


class _BodyReader:
    """What is left of a body; nothing is read past its end."""

    def __init__(self, body: bytes, name: str) -> None:
        self._body, self._place, self._name = body, 0, name

    def text(self) -> str:
        end = self._body.find(b"\0", self._place)
        if end < 0:
            raise self._short()
        found = self._body[self._place : end]
        self._place = end + 1
        try:
            return found.decode()
        except UnicodeDecodeError as error:
            raise WireError(f"a text that is not UTF-8: {error}", "22021") from error

    def byte(self) -> str:
        return chr(self._bytes(1)[0])

    def count(self) -> int:
        return int.from_bytes(self._bytes(2), "big")

    def counts(self) -> list[int]:
        return [self.count() for _ in range(self.count())]

    def long(self) -> int:
        return int.from_bytes(self._bytes(4), "big", signed=True)

    def _bytes(self, count: int) -> bytes:
        found = self._body[self._place : self._place + count]
        if len(found) < count:
            raise self._short()
        self._place += count
        return found

    def _short(self) -> WireError:
        return WireError(f"a {self._name} message ends too early")


# What a server says.


def _framed(kind: bytes, body: bytes = b"") -> bytes:
    return _HEAD.pack(kind, len(body) + 4) + body


NO_TLS = b"N"
AUTHENTICATION_OK = _framed(b"R", _LENGTH.pack(0))
PARSE_COMPLETE = _framed(b"1")
BIND_COMPLETE = _framed(b"2")
CLOSE_COMPLETE = _framed(b"3")
NO_DATA = _framed(b"n")
EMPTY_QUERY = _framed(b"I")
PORTAL_SUSPENDED = _framed(b"s")
NO_PARAMETERS = _framed(b"t", _COUNT.pack(0))
COPY_IN = _framed(b"G", b"\0" + _COUNT.pack(0))
"""Send data, as texts."""


def parameter_status(name: str, value: str) -> bytes:
    """A setting of the session."""
    return _framed(b"S", f"{name}\0{value}\0".encode())


def backend_key(process: int) -> bytes:
    """What a request to cancel would name; none is served."""
    return _framed(b"K", _LENGTH.pack(process) + _LENGTH.pack(0))


def ready(state: str) -> bytes:
    """Ready for the next request: I idle, T in a transaction, E in one that failed."""
    return _framed(b"Z", state.encode())


def complete(tag: str) -> bytes:
    """A statement was run."""
    return _framed(b"C", f"{tag}\0".encode())


def error(code: str, message: str, severity: str = "ERROR") -> bytes:
    """What went wrong, with its SQLSTATE."""
    text = message.replace("\0", " ")
    fields = f"S{severity}\0V{severity}\0C{code}\0M{text}\0\0"
    return _framed(b"E", fields.encode("utf-8", "replace"))


def formats_for(columns: Sequence[Column], asked: Sequence[int]) -> list[int]:
    """The format of each column: as asked for each, for all, or texts."""
    if len(asked) not in (0, 1, len(columns)):
        raise WireError(f"{len(asked)} formats for {len(columns)} columns")
    formats = [*asked] if len(asked) == len(columns) else [*(asked or [0])] * len(columns)
    for column, format_ in zip(columns, formats, strict=True):
        if format_ and column.oid not in _BINARY:
            raise WireError(f"column {column.name} is served as a text only", "0A000")
    return formats


def row_description(columns: Sequence[Column], formats: Sequence[int] = ()) -> bytes:
    """The columns of the rows that follow."""
    shown = formats or [0] * len(columns)
    parts = [_COUNT.pack(len(columns))]
    for column, format_ in zip(columns, shown, strict=True):
        name = column.name.replace("\0", " ").encode()
        parts.append(name + struct.pack(">xihihih", 0, 0, column.oid, -1, -1, format_))
    return _framed(b"T", b"".join(parts))


def data_rows(
    rows: Iterable[Row], columns: Sequence[Column] = (), formats: Sequence[int] = ()
) -> bytes:
    """Rows; those columns in binary that were asked for so."""
    binary = [
        (place, _BINARY[columns[place].oid]) for place, format_ in enumerate(formats) if format_
    ]
    parts = []
    for row in rows:
        if binary:
            row = _with_binary(row, binary)
        values = b"".join(
            [_NULL if value is None else _LENGTH.pack(len(value)) + value for value in row]
        )
        parts.append(_HEAD.pack(b"D", len(values) + 6) + _COUNT.pack(len(row)) + values)
    return b"".join(parts)


def _with_binary(row: Row, binary: Sequence[tuple[int, struct.Struct]]) -> Row:
    found = list(row)
    for place, format_ in binary:
        value = found[place]
        if value is not None:
            found[place] = format_.pack(int(value))
    return found
