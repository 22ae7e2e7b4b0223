"""The journal of a change: what is about to happen is on the disk before it happens.

    8 hexadecimal digits (CRC-32 of the JSON), a space, one JSON object with "event", a newline

A line that was not written whole can only be the last one, and what it would have announced has not
happened. Zeros after the last line are room that was reserved. Any other damage is an error: a
journal is never guessed at.
"""

from __future__ import annotations

import json
import os
import secrets
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.core.errors import RestoreError
from assay.undo.files import MODE, open_trusted, read_trusted, sync_folder

Event = dict[str, Any]
"""One line, as JSON; its writer checks the fields when it reads them back."""


class Journal:
    """One journal. `after_append` is called after each line: a seam for tests."""

    def __init__(self, path: Path, after_append: Callable[[], None] | None = None) -> None:
        self.path = path
        self._after_append = after_append

    @classmethod
    def create(cls, path: Path, event: str, **fields: Any) -> Journal:
        """A new journal with its first event: there whole or not at all.

        FileExistsError if there is one; RestoreError if it cannot be written.
        """
        partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        journal = cls(path)
        try:
            cls(partial).append(event, **fields)
            os.link(partial, path)
            sync_folder(path.parent)
        except FileExistsError:
            raise
        except OSError as error:
            raise journal._unwritable(error) from error
        finally:
            partial.unlink(missing_ok=True)
        return journal

    def append(self, event: str, **fields: Any) -> None:
        """Add an event; it is on the disk when this returns. RestoreError if it cannot be."""
        line = _line({"event": event, **fields})
        try:
            # The file is opened for both: a torn line before this one would hide it.
            descriptor = self._open()
            try:
                data = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
                end, has_torn = _whole_bytes(data)
                if has_torn:
                    os.ftruncate(descriptor, end)
                _write(descriptor, line, end)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._unwritable(error) from error
        if self._after_append is not None:
            self._after_append()

    def reserve(self, size: int) -> None:
        """Take room on the disk for events of so many bytes. RestoreError if there is none."""
        try:
            descriptor = self._open()
            try:
                os.posix_fallocate(descriptor, os.fstat(descriptor).st_size, size)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._unwritable(error) from error

    def events(self) -> list[Event]:
        """All that were written whole, in order; none where there is no journal. RestoreError if
        a line before the last is damaged, or the file may not be obeyed."""
        lines = self._lines()
        found = [_parse(line) for line in lines]
        damaged = [number for number, event in enumerate(found) if event is None]
        if damaged and damaged != [len(found) - 1]:
            raise RestoreError(
                f"{self.path}, line {damaged[0] + 1}: damaged",
                next_step="compare by hand what it says with what is so, then remove it",
            )
        return [event for event in found if event is not None]

    def remove(self) -> None:
        """All was brought back: the journal goes. RestoreError if it cannot."""
        try:
            self.path.unlink(missing_ok=True)
            sync_folder(self.path.parent)
        except OSError as error:
            raise self._unwritable(error) from error

    def _open(self) -> int:
        if not self.path.exists():
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(self.path, flags, MODE)
        return open_trusted(self.path, os.O_RDWR)

    def _lines(self) -> list[bytes]:
        try:
            data = read_trusted(self.path)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RestoreError(
                f"{self.path} cannot be read: {error.strerror}", next_step="run as its owner"
            ) from error
        return data.rstrip(b"\0").splitlines(keepends=True)

    def _unwritable(self, error: OSError) -> RestoreError:
        return RestoreError(
            f"{self.path} cannot be written: {error.strerror}",
            next_step="make room and the right to write there; any `assay` command tries again",
        )


def _line(event: Event) -> bytes:
    text = json.dumps(event, sort_keys=True)
    return f"{zlib.crc32(text.encode()):08x} {text}\n".encode()


def _write(descriptor: int, data: bytes, at: int) -> None:
    while data:
        written = os.pwrite(descriptor, data, at)
        data, at = data[written:], at + written


def _whole_bytes(data: bytes) -> tuple[int, bool]:
    """Where whole lines end, and whether a torn one follows."""
    lines = data.rstrip(b"\0").splitlines(keepends=True)
    has_torn = bool(lines) and _parse(lines[-1]) is None
    whole = lines[:-1] if has_torn else lines
    return sum(map(len, whole)), has_torn


def _parse(line: bytes) -> Event | None:
    if not line.endswith(b"\n"):
        return None
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    if checksum != f"{zlib.crc32(text):08x}".encode():
        return None
    event = json.loads(text)
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None
