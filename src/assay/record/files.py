"""Files of a bundle, which may come from a stranger: no link is followed, nothing but a plain file
is read or written, and no new file takes the place of another but by being renamed."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import IO

from assay.core.cache import needs_room
from assay.core.digest import digest
from assay.core.errors import AlteredError, BundleError

BYTES_MAX = 1 << 30
"""More than any file of a bundle has."""
PARTIAL = ".new"
"""How the name of a file ends that is being written."""
MAKE_ROOM = "make room there"
_QUIET = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""A link is refused, and a pipe that nobody writes to is not waited for."""


def read(path: Path, after: int = 0) -> bytes:
    """Its contents from a byte on; AlteredError if it is no plain file or too large."""
    with plain(path, os.O_RDONLY) as file:
        file.seek(after)
        return file.read(BYTES_MAX)


def identity(folder: Path) -> str:
    """What a bundle is known by, and its first run follows: the digest of its plan and its host."""
    parts = [read(folder / name) for name in ("plan.json", "host.json")]
    return digest(b"".join(digest(part).encode() for part in parts))


def plain(path: Path, flags: int) -> IO[bytes]:
    """A plain file, opened; AlteredError if it is a link, a pipe, a device, too large or gone."""
    _require_folder(path.parent)
    try:
        held = os.open(path, flags | _QUIET)
    except OSError as error:
        raise AlteredError(f"{path} is no file of a bundle: {_why(path, error)}") from error
    mode = "rb" if flags == os.O_RDONLY else "r+b"
    found = os.fstat(held)
    if not stat.S_ISREG(found.st_mode) or found.st_size > BYTES_MAX:
        os.close(held)
        why = "it is too large" if stat.S_ISREG(found.st_mode) else "it is no plain file"
        raise AlteredError(f"{path} is no file of a bundle: {why}")
    return os.fdopen(held, mode)


def replace(path: Path, data: bytes) -> None:
    """Write a file so that after a crash it is the old one or the new one, never a part. What a
    link of its name stands for is left alone: the link is replaced."""
    _require_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PARTIAL}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with needs_room(path.parent, MAKE_ROOM):
        held = os.open(temporary, flags, 0o666)
        try:
            with os.fdopen(held, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def partial(folder: Path) -> list[Path]:
    """Files whose writing was cut off."""
    return [p for p in folder.iterdir() if p.name.startswith(".") and p.name.endswith(PARTIAL)]


def extend(path: Path, held: int, data: bytes, at: int) -> None:
    """Write to an open file from a place on, and to the disk. MissingError if it has no room; what
    was written of it is then a part."""
    with needs_room(path.parent, MAKE_ROOM):
        rest = memoryview(data)
        while rest:
            written = os.pwrite(held, rest, at)
            rest, at = rest[written:], at + written
        os.fsync(held)


def require_writable_through_no_link(path: Path) -> None:
    """AlteredError if a file that is to be written is anything but a plain file, or its folder is a
    link."""
    _require_folder(path.parent)
    found = _looked_at(path)
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise AlteredError(f"{path} is no file of a bundle: it is no plain file")


def require_own(folder: Path, next_step: str) -> None:
    """BundleError for a folder that another user made, or that everybody may write to: what is in
    it is obeyed, and is not to change meanwhile."""
    found = folder.stat()
    if found.st_uid == os.geteuid() and not found.st_mode & stat.S_IWOTH:
        return
    what = "belongs to another user" if found.st_uid != os.geteuid() else "is open to everybody"
    raise BundleError(f"{folder} {what}", next_step=next_step)


def _require_folder(folder: Path) -> None:
    """The bundle's own folder may be reached by a link of the user's; one inside it may not."""
    inside = (folder.parent / "plan.json").exists() or (folder.parent / "study.toml").exists()
    if inside and folder.is_symlink():
        raise AlteredError(f"{folder} is no folder of a bundle: it is a link")


def _looked_at(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _why(path: Path, error: OSError) -> str:
    return "it is a link" if path.is_symlink() else str(error.strerror)
