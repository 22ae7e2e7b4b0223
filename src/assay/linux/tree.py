"""The files of a host, or of a folder that stands for one (`--root`).

Every path is absolute and is looked up under the root. Values are read as the kernel has them.
What writes them is `host/transaction/writable.py`.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from assay.core.errors import InputError, MissingError

MOST_BYTES = 1 << 20
"""More than any setting is long."""


@dataclass(frozen=True)
class Tree:
    """The files under one root."""

    root: Path = Path("/")

    @property
    def is_host(self) -> bool:
        """Whether it is this machine itself."""
        return self.root == Path("/")

    def place(self, path: str) -> Path:
        """Where a path lies; InputError if it is not an absolute one."""
        parts = PurePosixPath(path)
        if not parts.is_absolute() or ".." in parts.parts:
            raise InputError(f"{path} is no absolute path", next_step="begin it with /")
        return self.root / parts.relative_to("/")

    def read(self, path: str) -> str | None:
        """Its contents, unchanged; None if there is no such file."""
        try:
            with self.place(path).open("rb") as file:
                return file.read(MOST_BYTES).decode("utf-8", "surrogateescape")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise MissingError(
                f"{path} cannot be read: {error.strerror}",
                next_step="run as root" if error.errno in (errno.EACCES, errno.EPERM) else "",
            ) from error

    def may_write(self, path: str) -> bool:
        """Whether this process may; for a file that is not there, in the nearest folder above."""
        place = self.place(path)
        while not place.exists() and place != self.root:
            place = place.parent
        return os.access(place, os.W_OK)
