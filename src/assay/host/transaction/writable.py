"""A host whose files may be written: a value as the kernel takes it, a file of ours whole.

A value goes in one write, so that a refusal is the kernel's own.
"""

from __future__ import annotations

import errno
import os

from assay.core.errors import MissingError
from assay.linux.tree import Tree
from assay.undo.files import sync_folder


class RefusedError(MissingError):
    """The kernel did not take a value, or a file could not be written."""


class HostTree(Tree):
    """The files under one root, read and written."""

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
