"""The files of a host, or of a folder that stands for one (`--root`).

Every path is absolute and is looked up under the root. Values are read and written
as the kernel has them: whole, in one write, so that a refusal is the kernel's own.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from assay.core.errors import InputError, MissingError

MOST_BYTES = 1 << 20
"""More than any setting is long."""


class RefusedError(MissingError):
    """The kernel did not take a value, or a file could not be written."""


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
        """What stands there, as it stands; None if there is no such file."""
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

    def write(self, path: str, value: str) -> None:
        """One write of a value into a file that is there; RefusedError with the kernel's reason."""
        try:
            descriptor = os.open(self.place(path), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
            try:
                os.write(descriptor, value.encode("utf-8", "surrogateescape"))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise refused(path, value, error) from error

    def create(self, path: str, text: str) -> None:
        """A file with this text, there whole or not at all, even if the power goes."""
        place = self.place(path)
        partial = place.with_name(f".{place.name}.assay")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                file.write(text.encode("utf-8", "surrogateescape"))
                file.flush()
                os.fsync(file.fileno())
            partial.chmod(0o644)
            partial.rename(place)
            sync_folder(place.parent)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise refused(path, text, error) from error

    def remove(self, path: str) -> None:
        """Take a file away, and the drop-in folder of a unit that it leaves empty; none is fine."""
        place = self.place(path)
        try:
            place.unlink(missing_ok=True)
            if place.parent.name.endswith(".service.d") and not any(place.parent.iterdir()):
                place.parent.rmdir()
                place = place.parent
            if place.parent.is_dir():
                sync_folder(place.parent)
        except OSError as error:
            raise refused(path, "", error) from error

    def may_write(self, path: str) -> bool:
        """Whether this process may; for a file that is not there, in the nearest folder above."""
        place = self.place(path)
        while not place.exists() and place != self.root:
            place = place.parent
        return os.access(place, os.W_OK)


def sync_folder(folder: Path) -> None:
    """What was renamed or removed in it stays so after a crash."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refused(path: str, value: str, error: OSError) -> RefusedError:
    """The error of a write, in words of this file."""
    name = errno.errorcode.get(error.errno or 0, "?")
    shown = value.strip().splitlines()[0][:60] if value.strip() else "nothing"
    steps = {
        "EACCES": "run as root",
        "EPERM": "run as root, outside a container",
        "EROFS": "it is read-only here, as in a container: change it on the host",
        "EOVERFLOW": "it names a CPU that this machine has not",
        "EINVAL": "the kernel does not know this value: `assay host check` lists what it takes",
    }
    return RefusedError(
        f"{path} does not take {shown}: {error.strerror} ({name})",
        next_step=steps.get(name, "see the kernel's documentation of this file"),
    )
