"""One connection: a client's messages to the library, and its results to messages."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import texts, wire
from .engine import Answer, Connection, EngineError

_READ_BYTES = 1 << 16
_SEND_BYTES = 1 << 18
_FAILED = "25P02"


@dataclass
class _Portal:
    """A statement that was bound, and its answer once somebody wanted it."""

    statement: str
    formats: list[int]
    answer: Answer | None = None


class _Gone(Exception):
    """The client has left."""


class ClientSession:
    """Serves one client until it leaves."""

    def __init__(
        self, peer: socket.socket, connect: Callable[[], Connection], version: str, folder: Path
    ) -> None:
        self._peer, self._connect, self._version = peer, connect, version
        self._folder = folder
        self._incoming = wire.Incoming()
        self._out = bytearray()
        self._statements: dict[str, str] = {}
        self._portals: dict[str, _Portal] = {}
        self._state = "I"
        self.connection: Connection | None = None

    def serve(self) -> None:
        """Returns when the client has left, or has broken the protocol."""
        try:
            if self._is_greeted():
                self.connection = self._connect()
                self._answer_until_terminated()
        except _Gone:
            pass
        except (wire.WireError, EngineError) as error:
            with contextlib.suppress(_Gone):
                self._say(wire.error(error.code, str(error), "FATAL"))
                self._flush()
        finally:
            if self.connection is not None:
                self.connection.close()

    # the socket

    def _receive(self) -> None:
        try:
            data = self._peer.recv(_READ_BYTES)
        except OSError as error:
            raise _Gone from error
        if not data:
            raise _Gone
        self._incoming.feed(data)

    def _say(self, message: bytes) -> None:
        self._out += message
        if len(self._out) > _SEND_BYTES:
            self._flush()

    def _flush(self) -> None:
        try:
            self._peer.sendall(self._out)
        except OSError as error:
            raise _Gone from error
        self._out.clear()

    def _next(self) -> tuple[bytes, bytes]:
        while (message := self._incoming.message()) is None:
            self._receive()
        return message

    # the life of a session

    def _is_greeted(self) -> bool:
        while True:
            while (first := self._incoming.startup()) is None:
                self._receive()
            code, _ = first
            if code in (wire.SSL_REQUEST, wire.GSS_REQUEST):
                self._say(wire.NO_TLS)
                self._flush()
            elif code == wire.CANCEL_REQUEST:
                return False
            elif code >> 16 == wire.VERSION >> 16:
                break
            else:
                raise wire.WireError(f"version {code >> 16} of the protocol is not served")
        self._say(wire.AUTHENTICATION_OK)
        for name, value in (
            ("server_version", self._version),
            ("server_encoding", "UTF8"),
            ("client_encoding", "UTF8"),
            ("DateStyle", "ISO, MDY"),
            ("integer_datetimes", "on"),
            ("standard_conforming_strings", "on"),
        ):
            self._say(wire.parameter_status(name, value))
        self._say(wire.backend_key(os.getpid()))
        self._ready()
        return True

    def _ready(self) -> None:
        self._say(wire.ready(self._state))
        self._flush()

    def _answer_until_terminated(self) -> None:
        answers = {
            b"P": self._parse,
            b"B": self._bind,
            b"D": self._describe,
            b"E": self._execute,
            b"C": self._close,
        }
        while True:
            kind, body = self._next()
            if kind == b"Q":
                self._guarded(self._query, body)
                self._ready()
            elif kind == b"S":
                self._portals.clear()
                self._ready()
            elif kind == b"H":
                self._flush()
            elif kind == b"X":
                return
            elif kind in answers:
                if not self._guarded(answers[kind], body):
                    self._skip_to_sync()
            elif kind not in (b"c", b"d", b"f"):  # data of a COPY that has failed
                raise wire.WireError(f"a message of type {kind!r}")

    def _skip_to_sync(self) -> None:
        """After an error the rest of a request is passed over."""
        while True:
            kind, _ = self._next()
            if kind == b"X":
                raise _Gone
            if kind == b"S":
                self._portals.clear()
                self._ready()
                return

    def _guarded(self, answer: Callable[[bytes], None], body: bytes) -> bool:
        """Whether it went well; the client is told if it did not."""
        try:
            answer(body)
            return True
        except (EngineError, wire.WireError) as error:
            self._say(wire.error(error.code, str(error)))
        except OSError as error:
            self._say(wire.error("58030", str(error)))
        if self._state == "T":
            self._state = "E"
        return False

    # simple queries

    def _query(self, body: bytes) -> None:
        found = list(texts.statements(wire.query_of(body)))
        if not found:
            self._say(wire.EMPTY_QUERY)
        for statement in found:
            try:
                copied = texts.copied(statement)
            except ValueError as error:
                raise EngineError(str(error), "0A000") from error
            if copied is not None:
                rows = self._copy(*copied)
                self._say(wire.complete(f"COPY {rows}"))
                continue
            answer = self._run(statement)
            if answer.columns:
                self._say(wire.row_description(answer.columns))
            self._send(statement, answer, [])

    def _run(self, statement: str) -> Answer:
        word = texts.word(statement)
        if self._state == "E" and word not in ("ROLLBACK", "COMMIT", "END", "ABORT"):
            raise EngineError("the transaction has failed: only its end is run", _FAILED)
        assert self.connection is not None, "greeted before it asks"
        answer = self.connection.run(statement)
        if word in ("BEGIN", "START"):
            self._state = "T"
        elif word in ("COMMIT", "END", "ROLLBACK", "ABORT"):
            self._state = "I"
        return answer

    def _send(self, statement: str, answer: Answer, formats: list[int]) -> None:
        if answer.columns:
            self._say(wire.data_rows(answer.rows, answer.columns, formats))
        self._say(wire.complete(texts.tag(statement, answer.count)))

    def _copy(self, table: str, columns: str) -> int:
        """Rows go into a file of our own, and from there into the library in its own way."""
        assert self.connection is not None, "greeted before it asks"
        self._say(wire.COPY_IN)
        self._flush()
        with tempfile.NamedTemporaryFile(dir=self._folder, prefix="copy-", suffix=".tsv") as file:
            for data in self._copied():
                file.write(data)
            file.flush()
            return self.connection.load(table, columns, Path(file.name))

    def _copied(self) -> Iterator[bytes]:
        while True:
            kind, body = self._next()
            if kind == b"d":
                yield body
            elif kind == b"c":
                return
            elif kind == b"f":
                raise EngineError(f"COPY was given up: {wire.query_of(body)}", "57014")
            elif kind not in (b"H", b"S"):
                raise wire.WireError(f"a message of type {kind!r} within COPY data")

    # prepared statements

    def _parse(self, body: bytes) -> None:
        name, text, parameters = wire.parse_of(body)
        if parameters:
            raise EngineError("statements with parameters are not served", "0A000")
        found = list(texts.statements(text))
        if len(found) > 1:
            raise EngineError("a prepared statement is one statement", "42601")
        self._statements[name] = found[0] if found else ""
        self._say(wire.PARSE_COMPLETE)

    def _bind(self, body: bytes) -> None:
        portal, name, formats = wire.bind_of(body)
        self._portals[portal] = _Portal(self._statement(name), formats)
        self._say(wire.BIND_COMPLETE)

    def _describe(self, body: bytes) -> None:
        kind, name = wire.describe_of(body)
        if kind == "S":
            self._say(wire.NO_PARAMETERS)
            assert self.connection is not None, "greeted before it asks"
            columns = self.connection.columns(self._statement(name))
            self._say(wire.row_description(columns) if columns else wire.NO_DATA)
            return
        portal = self._portal(name)
        columns = self._answer_of(portal).columns
        formats = wire.formats_for(columns, portal.formats)
        self._say(wire.row_description(columns, formats) if columns else wire.NO_DATA)

    def _execute(self, body: bytes) -> None:
        name, limit = wire.execute_of(body)
        if limit:
            raise EngineError("a limit of rows for a portal is not served", "0A000")
        portal = self._portal(name)
        if not portal.statement:
            self._say(wire.EMPTY_QUERY)
            return
        answer = self._answer_of(portal)
        formats = wire.formats_for(answer.columns, portal.formats)
        self._send(portal.statement, answer, formats if any(formats) else [])

    def _close(self, body: bytes) -> None:
        kind, name = wire.describe_of(body)
        (self._statements if kind == "S" else self._portals).pop(name, None)
        self._say(wire.CLOSE_COMPLETE)

    def _answer_of(self, portal: _Portal) -> Answer:
        if portal.answer is None:
            portal.answer = self._run(portal.statement) if portal.statement else Answer()
        return portal.answer

    def _statement(self, name: str) -> str:
        if name not in self._statements:
            raise EngineError(f"no statement is called {name!r}", "26000")
        return self._statements[name]

    def _portal(self, name: str) -> _Portal:
        if name not in self._portals:
            raise EngineError(f"no portal is called {name!r}", "34000")
        return self._portals[name]
