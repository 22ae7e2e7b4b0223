"""The members of packages: .deb, .rpm, wheels and other zip files, tar archives.

Each member is a name, of which nothing is believed, and a stream that must be read before the
next member. Whatever is wrong with a package is a `PackageRefusal`.
"""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from assay.readiness.inputs.kinds import HEAD_BYTES, is_tar, kind_of
from assay.readiness.inputs.streams import (
    CHUNK,
    Budget,
    BudgetedStream,
    PackageRefusal,
    Readable,
    Window,
    unpacked,
)

Member = tuple[str, Readable]
BROKEN: tuple[type[Exception], ...] = (
    OSError, EOFError, ValueError, LookupError, RuntimeError, NotImplementedError, zlib.error,
    lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile,
)  # fmt: skip
"""What readers of the standard library raise for what is damaged."""


def members(path: Path, kind: str, budget: Budget) -> Iterator[Member]:
    """The regular files in a package, one after the other."""
    readers = {"deb": _deb, "rpm": _rpm, "zip": _zip}
    try:
        if kind in readers:
            yield from readers[kind](path, budget)
        else:
            yield from _tar(path, kind, budget)
    except BROKEN as error:
        raise PackageRefusal(damage(error)) from error


def damage(error: BaseException) -> str:
    """What is said of a package that a reader of the standard library gave up."""
    return f"it is damaged or cut short: {str(error) or type(error).__name__}"


def _tar(path: Path, kind: str, budget: Budget) -> Iterator[Member]:
    with path.open("rb") as file:
        if kind != "tar" and not is_tar(path.name):
            raise PackageRefusal(f"it is compressed ({kind}), and its name does not say of what")
        yield from _tar_of(kind, file, path.stat().st_size, budget)


EXTENSION_BYTES_MAX = 1 << 20
"""Of a header that holds a long name or attributes of a member."""
_EXTENSIONS = frozenset({
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE,
})  # fmt: skip


class _Header(tarfile.TarInfo):
    """A header of a member; tarfile reads what extends one whole, however long it says it is."""

    @classmethod
    def frombuf(cls, buf: bytes, encoding: str, errors: str) -> _Header:  # type: ignore[override]
        found = super().frombuf(buf, encoding, errors)
        if found.type in _EXTENSIONS and found.size > EXTENSION_BYTES_MAX:
            raise PackageRefusal("a header in it is longer than any name")
        return found


def _tar_of(kind: str, file: IO[bytes], length: int, budget: Budget) -> Iterator[Member]:
    with (
        unpacked(kind, file, length) as stream,
        tarfile.open(  # type: ignore[call-overload]
            fileobj=BudgetedStream(stream, budget), mode="r|", tarinfo=_Header
        ) as archive,
    ):
        for member in archive:
            budget.member()
            if not member.isreg() or member.issparse():
                continue
            content = archive.extractfile(member)
            if content is not None:
                yield member.name, content
            archive.members = []  # they would all be kept


def _deb(path: Path, budget: Budget) -> Iterator[Member]:
    """An `ar` archive, of which the member data.tar.* holds the files."""
    with path.open("rb") as file:
        file.seek(8)
        while header := file.read(60):
            if len(header) < 60 or header[58:] != b"`\n":
                raise PackageRefusal("it is damaged: no header of a member where one must be")
            name = header[:16].decode("latin-1").rstrip(" /")
            size = _length(header[48:58])
            here = file.tell()
            if name.startswith("data.tar"):
                kind = kind_of(file.read(HEAD_BYTES), "")
                file.seek(here)
                yield from _tar_of(kind, file, size, budget)
                return
            file.seek(here + size + size % 2)
    raise PackageRefusal("it is a Debian package without files")


def _length(field: bytes) -> int:
    """A member's length; PackageRefusal unless it is of digits, so that reading gets on."""
    if not field.strip().isdigit():
        raise PackageRefusal("it is damaged: the length of a member is no number")
    return int(field)


def _zip(path: Path, budget: Budget) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            budget.member()
            if info.filename and not info.filename.endswith("/"):
                with archive.open(info) as content:
                    yield info.filename, BudgetedStream(content, budget)


_RPM_LEAD, _RPM_INTRO = 96, b"\x8e\xad\xe8"


def _rpm(path: Path, budget: Budget) -> Iterator[Member]:
    """A lead, two headers of which only the length matters, and a cpio archive."""
    with path.open("rb") as file:
        file.seek(_RPM_LEAD)
        _skip_rpm_header(file)
        file.seek(-file.tell() % 8, 1)
        _skip_rpm_header(file)
        here = file.tell()
        kind = kind_of(file.read(HEAD_BYTES), "")
        file.seek(here)
        with unpacked(kind, file, path.stat().st_size - here) as stream:
            yield from _cpio(BudgetedStream(stream, budget), budget)


def _skip_rpm_header(file: IO[bytes]) -> None:
    start = file.read(16)
    if start[:3] != _RPM_INTRO or len(start) < 16:
        raise PackageRefusal("it is damaged: no header of an RPM where one must be")
    entries, size = int.from_bytes(start[8:12], "big"), int.from_bytes(start[12:], "big")
    file.seek(entries * 16 + size, 1)


def _cpio(stream: Readable, budget: Budget) -> Iterator[Member]:
    """The "new ASCII" form. Contents of links with several names come with the last of them."""
    while True:
        header = exactly(stream, 110)
        if header[:6] not in (b"070701", b"070702"):
            raise PackageRefusal("its files are not in a cpio archive of the usual form")
        fields = [int(header[i : i + 8], 16) for i in range(6, 110, 8)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        if name_size > 4096:
            raise PackageRefusal("it is damaged: a name of more than 4,096 bytes")
        name = exactly(stream, name_size).rstrip(b"\0").decode("utf-8", "replace")
        exactly(stream, -(110 + name_size) % 4)
        if name == "TRAILER!!!":
            return
        budget.member()
        content = Window(stream, size)
        if mode & 0o170000 == 0o100000 and size:
            yield name, content
        content.skip()
        exactly(stream, -size % 4)


def exactly(stream: Readable, count: int) -> bytes:
    """So many bytes, or a refusal."""
    data = b""
    while len(data) < count:
        part = stream.read(min(count - len(data), CHUNK))
        if not part:
            raise PackageRefusal("it is cut short")
        data += part
    return data
