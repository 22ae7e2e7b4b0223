"""A client of PostgreSQL's protocol for tests of the shim: as plain as can be."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from typing import Any

Message = tuple[bytes, bytes]


def connected(path: Path) -> socket.socket:
    """A connection to a Unix socket."""
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(60)
    peer.connect(str(path))
    return peer


class Refused(Exception):
    """The server reported an error: its SQLSTATE, and its words."""

    def __init__(self, body: bytes) -> None:
        fields = {f[:1]: f[1:].decode() for f in body.split(b"\0") if f}
        super().__init__(fields[b"M"])
        self.code = fields[b"C"]


class Client:
    """One connection."""

    def __init__(self, path: Path) -> None:
        self._socket = connected(path)
        self._bytes = b""
        body = struct.pack(">i", 3 << 16) + b"user\0load\0\0"
        self._socket.sendall(struct.pack(">i", len(body) + 4) + body)
        self.greeting = self.until_ready()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, *messages: Message) -> None:
        """All with one write."""
        sent = [kind + struct.pack(">i", len(body) + 4) + body for kind, body in messages]
        self._socket.sendall(b"".join(sent))

    def message(self) -> Message:
        while len(self._bytes) < 5 or len(self._bytes) < 1 + self._length():
            data = self._socket.recv(1 << 16)
            if not data:
                raise EOFError
            self._bytes += data
        end = 1 + self._length()
        found = self._bytes[:1], self._bytes[5:end]
        self._bytes = self._bytes[end:]
        return found

    def _length(self) -> int:
        return int(struct.unpack(">i", self._bytes[1:5])[0])

    def until_ready(self) -> list[Message]:
        """All messages, the one that says that the server is ready included."""
        found = [self.message()]
        while found[-1][0] != b"Z":
            found.append(self.message())
        return found

    def query(self, text: str) -> list[Message]:
        self.send((b"Q", text.encode() + b"\0"))
        return self.until_ready()

    def rows(self, text: str) -> list[list[str | None]]:
        """The rows of an answer; Refused if it is an error."""
        return rows_of(self.query(text))

    def copy(self, statement: str, *data: bytes) -> list[Message]:
        """COPY FROM STDIN with these pieces."""
        self.send((b"Q", statement.encode() + b"\0"))
        first = self.message()
        assert first[0] == b"G", first
        self.send(*((b"d", piece) for piece in data), (b"c", b""))
        return self.until_ready()


def rows_of(messages: list[Message]) -> list[list[str | None]]:
    """What the rows among messages hold."""
    for kind, body in messages:
        if kind == b"E":
            raise Refused(body)
    return [_row(body) for kind, body in messages if kind == b"D"]


def _row(body: bytes) -> list[Any]:
    found, place = [], 2
    for _ in range(int.from_bytes(body[:2], "big")):
        length = int.from_bytes(body[place : place + 4], "big", signed=True)
        place += 4
        found.append(None if length < 0 else body[place : place + length].decode())
        place += max(length, 0)
    return found
