"""Files whose contents are obeyed: no other user may have written them.

A journal names values and commands. So it is read only if it is a regular file, no link, owned by
this user or by root, and writable by its owner alone.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from assay.core.errors import RestoreError

MOST_BYTES = 64 << 20
"""More than any journal is long."""
MODE = 0o644
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def open_trusted(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a file that may be obeyed. OSError if it cannot be opened; RestoreError if
    it is no regular file, belongs to another user, may be written by others, or is too large."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        _require_trusted(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_trusted(path: Path) -> bytes:
    """The contents of such a file; errors as for `open_trusted`."""
    with open(open_trusted(path), "rb") as file:
        return file.read(MOST_BYTES)


def _require_trusted(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        why = "it is no regular file"
    elif found.st_uid not in (os.geteuid(), 0):
        why = f"it belongs to user {found.st_uid}"
    elif found.st_mode & _OTHERS_WRITE:
        why = "others than its owner may write it"
    elif found.st_size > MOST_BYTES:
        why = f"it has {found.st_size} bytes"
    else:
        return
    raise RestoreError(
        f"{path} is not obeyed: {why}", next_step="look at what it says, then remove it"
    )


def sync_folder(folder: Path) -> None:
    """What was made, renamed or removed in it stays so after a crash."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
