"""What a library must be able to do, and how it says that it could not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .wire import Column, Row


class EngineError(Exception):
    """The library refused; `code` is an SQLSTATE."""

    def __init__(self, message: str, code: str = "XX000") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Answer:
    """What one statement came to: rows of columns, or a count of rows that were changed."""

    columns: tuple[Column, ...] = ()
    rows: Iterable[Row] = ()
    count: int = 0
    """Of the rows, or of what was changed."""


@dataclass(frozen=True)
class Described:
    """A setting that a library has: what it says of it by itself."""

    name: str
    default: str | None
    kind: str
    """flag, count, number or text."""
    text: str
    scope: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


class Connection(Protocol):
    """One client's own connection to the library. It is used by one thread at a time."""

    def run(self, statement: str) -> Answer:
        """Runs one statement; EngineError if it fails."""
        ...

    def columns(self, statement: str) -> tuple[Column, ...]:
        """The columns it would return, without running it; none if it returns no rows."""
        ...

    def load(self, table: str, columns: str, file: Path) -> int:
        """Loads rows of COPY's text format from a file; how many there were."""
        ...

    def interrupt(self) -> None:
        """Asks what it runs now to end; called by another thread."""
        ...

    def close(self) -> None: ...


class Engine(Protocol):
    """A library with its data."""

    name: str

    def version(self) -> str: ...

    def connect(self) -> Connection: ...

    def described(self) -> list[Described]:
        """Its settings, as it tells them itself."""
        ...

    def close(self) -> None:
        """Ends in order: what was written lies on the disk."""
        ...
