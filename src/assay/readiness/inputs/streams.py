"""Reading what others packed: within bounds, and never seeking."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Protocol, cast

MOST_BYTES = 2 << 30
MOST_MEMBERS = 100_000
"""Bounds of one package, unpacked: what exceeds them is refused, and what was read of it kept."""

CHUNK = 1 << 16


class PackageRefusal(Exception):
    """A package is not read, or not to its end; the text says why."""


class Readable(Protocol):
    """What can be read forwards."""

    def read(self, size: int = -1, /) -> bytes: ...


@dataclass
class Budget:
    """What may still be unpacked of a package."""

    bytes_left: int = MOST_BYTES
    members_left: int = MOST_MEMBERS

    def spend(self, count: int) -> None:
        """Account for unpacked bytes."""
        self.bytes_left -= count
        if self.bytes_left < 0:
            raise PackageRefusal(f"it unpacks to more than {MOST_BYTES >> 20} MiB")

    def member(self) -> None:
        """Account for one more member."""
        self.members_left -= 1
        if self.members_left < 0:
            raise PackageRefusal(f"it has more than {MOST_MEMBERS:,} members")


@dataclass
class BudgetedStream:
    """A stream of which each byte counts."""

    inner: Readable
    budget: Budget

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, and never all at once."""
        data = self.inner.read(CHUNK if size < 0 else size)
        self.budget.spend(len(data))
        return data


@dataclass
class Window:
    """A stretch of a stream: `left` bytes from here."""

    inner: Readable
    left: int

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes of the stretch."""
        wanted = self.left if size < 0 else min(size, self.left)
        data = self.inner.read(wanted) if wanted else b""
        if wanted and not data:
            raise PackageRefusal("it is cut short")
        self.left -= len(data)
        return data

    def skip(self) -> None:
        """Go to its end."""
        while self.left and self.read(CHUNK):
            pass

    def readable(self) -> bool:
        """For the readers of the standard library."""
        return True

    def seekable(self) -> bool:
        """Forwards only."""
        return False

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Refused: forwards only."""
        raise io.UnsupportedOperation("seek")

    closed = False


@contextmanager
def unpacked(kind: str, file: IO[bytes], length: int) -> Iterator[Readable]:
    """What is compressed in the `length` bytes of a file from where it stands."""
    window = Window(file, length)
    if kind == "gzip":
        with gzip.GzipFile(fileobj=window) as stream:
            yield stream
    elif kind == "bzip2":
        with bz2.BZ2File(window) as stream:
            yield stream
    elif kind in ("xz", "lzma"):
        with lzma.LZMAFile(cast("IO[bytes]", window)) as stream:
            yield stream
    elif kind == "zstd":
        with _zstd(window) as stream:
            yield stream
    else:
        yield window


@contextmanager
def _zstd(window: Window) -> Iterator[Readable]:
    """Python has no Zstandard before 3.14: the program `zstd` does it."""
    program = shutil.which("zstd")
    if program is None:
        raise PackageRefusal(
            "it is packed by Zstandard, and the program zstd is not here; install it"
        )
    # The file itself as input: between two pipes each side could wait for the other for ever.
    process = subprocess.Popen(
        [program, "-dc", "--memory=256MB"],
        stdin=_descriptor(window.inner),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        process.stdout.close()
        process.kill()
        process.wait()


def _descriptor(stream: Readable) -> int:
    """The file's own descriptor, moved to where the stream stands: it had read ahead."""
    if not isinstance(stream, io.BufferedReader):
        raise PackageRefusal("it is packed by Zstandard inside another package")
    os.lseek(stream.fileno(), stream.tell(), os.SEEK_SET)
    return stream.fileno()
