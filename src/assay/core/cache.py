"""The one cache: what was made or fetched, and what is needed for a moment.

Everything kept lies under `$XDG_CACHE_HOME/assay` (by default `~/.cache/assay`), a folder each,
complete or not there: it is filled under another name in the same folder and then renamed. The
process that fills it holds a lock on it. Others that want the same one wait for that lock; a
folder without a lock was left by a process that is gone, and is removed by the next one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.core.errors import MissingError
from assay.core.paths import user_cache

PARTIAL = ".partial-"
FULL = (errno.ENOSPC, errno.EDQUOT)
ROOM = "make room there, or let XDG_CACHE_HOME and TMPDIR point to another disk"


def cache(name: str) -> Path:
    """The folder of one kind of content; it may not exist yet."""
    return user_cache() / name


def keep(place: Path, fill: Callable[[Path], None]) -> Path:
    """The folder `place`, filled by `fill` if it is not there; if that fails nothing is left.

    MissingError where the disk has no room for it; errors of `fill` as they are.
    """
    while not place.is_dir():
        partial, lock = _begin(place)
        try:
            if partial is None:
                fcntl.flock(lock, fcntl.LOCK_EX)  # until the process that fills it has ended
                continue
            _fill(partial, place, fill)
        finally:
            os.close(lock)
    return place


def _begin(place: Path) -> tuple[Path | None, int]:
    """A folder to fill, and its lock; or None, and the lock of the one that another fills."""
    # Short, since servers put sockets below it, whose paths have at most 107 bytes.
    prefix = f"{PARTIAL}{zlib.crc32(place.name.encode()):08x}-"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with turn(place.parent):
            for other in _sweep(place.parent, PARTIAL):
                if other.name.startswith(prefix):
                    with suppress(FileNotFoundError):  # it has just been renamed
                        return None, _open(other)
            partial = Path(tempfile.mkdtemp(prefix=prefix, dir=place.parent))
            partial.chmod(0o755)
            return partial, _hold(partial)
    except OSError as error:
        raise no_room(place.parent, str(error)) from error


def _fill(partial: Path, place: Path, fill: Callable[[Path], None]) -> None:
    try:
        with needs_room(place.parent):
            if not place.is_dir():
                fill(partial)
                partial.rename(place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """One process at a time, of all that work in a folder."""
    with (folder / ".turn").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def scratch(kind: str) -> Iterator[Path]:
    """An empty folder of this process in `$TMPDIR`, which goes with it; one that a killed process
    of this user left is removed first. MissingError where there is no room for it."""
    parent = Path(tempfile.gettempdir())
    prefix = f"assay-{kind}-"
    _sweep(parent, prefix)
    try:
        hidden = Path(tempfile.mkdtemp(prefix=f".{prefix}", dir=parent))
        lock = _hold(hidden)
        made = hidden.rename(parent / f"{prefix}{secrets.token_hex(8)}")
    except OSError as error:
        raise no_room(parent, str(error)) from error
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def _sweep(parent: Path, prefix: str) -> list[Path]:
    """Remove folders of this user without a lock; returns those that have one."""
    held = []
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            try:
                lock = _hold(folder)
            except BlockingIOError:
                held.append(folder)
                continue
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
    return held


def _open(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _hold(folder: Path) -> int:
    """A lock on a folder for as long as this descriptor is open; BlockingIOError if it is held."""
    lock = _open(folder)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(lock)
        raise
    return lock


@contextmanager
def needs_room(folder: Path, next_step: str = ROOM) -> Iterator[None]:
    """MissingError where what is written into a folder finds no room."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise no_room(folder, str(error), next_step) from error


def no_room(folder: Path, why: str, next_step: str = ROOM) -> MissingError:
    """The error of a folder that cannot take what is to be put there."""
    return MissingError(f"data cannot be put into {folder}: {why}", next_step=next_step)
