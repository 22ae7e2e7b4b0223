"""A folder that behaves as a host does (`--root`): files answer a write as the kernel would.

What is imitated is what plans depend on: choices keep all words and move the brackets,
one of a pair of dirty limits clears the other, masks of CPUs that are not there are
refused, a pool's new pages are free, and a value ends with a newline.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from assay.host.transaction.plan import mask
from assay.host.transaction.writable import HostTree, refused

POSSIBLE = "/sys/devices/system/cpu/possible"
_DIRTY = re.compile(r"(.*/vm/dirty(?:_background)?)_(bytes|ratio)$")
_MASK = re.compile(r"/(rps_cpus|xps_cpus|smp_affinity|default_smp_affinity)$")


class FixtureTree(HostTree):
    """A tree under a folder that is not the root of this machine."""

    def write(self, path: str, value: str) -> None:
        before = self.read(path)
        if before is None:
            raise refused(path, value, OSError(errno.ENOENT, os.strerror(errno.ENOENT)))
        value = value.strip()
        if "[" in before:
            value = self._chosen(path, before, value)
        elif dirty := _DIRTY.match(path):
            self._clear_other(path, value, *dirty.groups())
        elif _MASK.search(path):
            self._check_mask(path, value)
        elif path.endswith("/nr_hugepages"):
            self._resize(path, int(value) - int(before))
        super().write(path, f"{value}\n")

    def _chosen(self, path: str, before: str, value: str) -> str:
        words = before.replace("[", "").replace("]", "").split()
        if value not in words:
            raise refused(path, value, OSError(errno.EINVAL, os.strerror(errno.EINVAL)))
        return " ".join(f"[{word}]" if word == value else word for word in words)

    def _clear_other(self, path: str, value: str, family: str, member: str) -> None:
        if member == "bytes" and value == "0":
            raise refused(path, value, OSError(errno.EINVAL, os.strerror(errno.EINVAL)))
        other = f"{family}_{'ratio' if member == 'bytes' else 'bytes'}"
        if self.read(other) is not None:
            super().write(other, "0\n")

    def _resize(self, path: str, pages: int) -> None:
        """Pages come and go as free ones."""
        free = path.replace("nr_hugepages", "free_hugepages")
        count = self.read(free)
        if count is not None:
            super().write(free, f"{max(0, int(count) + pages)}\n")

    def _check_mask(self, path: str, value: str) -> None:
        try:
            asked = mask(value)
        except ValueError:
            raise refused(path, value, OSError(errno.EINVAL, os.strerror(errno.EINVAL))) from None
        last = int((self.read(POSSIBLE) or "0").strip().rpartition("-")[2].rpartition(",")[2])
        if asked >> (last + 1):
            raise refused(path, value, OSError(errno.EOVERFLOW, os.strerror(errno.EOVERFLOW)))


def tree_at(root: str | os.PathLike[str]) -> HostTree:
    """The tree under a root: this machine's own, or a folder that stands for one."""
    place = Path(root).resolve()
    return HostTree() if place == HostTree().root else FixtureTree(place)
