"""Who holds the lock of a file (flock(2)), as the kernel lists it (/proc/locks in proc(5)).

Nothing is locked to find that out: whoever tried the lock could be in the way of its next holder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.linux.processes import identity, read, read_folder

EXCLUSIVE = "FLOCK  ADVISORY  WRITE"
"""How the kernel writes such a lock."""


@dataclass(frozen=True)
class LockHolder:
    """Who holds a lock: a process as `identity` names it, empty where it is not ours to see."""

    process: str


def lock_holder(path: Path) -> LockHolder | None:
    """The process with an exclusive lock of a file; None where nobody has one, or it is gone."""
    try:
        found = path.lstat()
    except OSError:
        return None
    listed = list(_exclusive())
    for pid in {pid for pid, _ in listed}:
        if _locks(pid, found) and (named := identity(pid)):
            return LockHolder(named)
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    return LockHolder("") if any(of == place for _, of in listed) else None


def _exclusive() -> Iterator[tuple[int, str]]:
    """Process and file ("device:inode") of every exclusive lock that is held."""
    for line in read(Path("/proc/locks")).splitlines():
        # Number, "->" where it is waited for, kind, mode, what it is for, process, file, range.
        words = line.split()
        if words[1:4] == EXCLUSIVE.split():
            yield int(words[4]), words[5]


def _locks(pid: int, found: os.stat_result) -> bool:
    """Whether a process has the file open by a descriptor that holds such a lock."""
    for descriptor in read_folder(Path(f"/proc/{pid}/fd")):
        try:
            is_same = os.path.samestat(descriptor.stat(), found)
        except OSError:
            continue
        if is_same and EXCLUSIVE in read(Path(f"/proc/{pid}/fdinfo/{descriptor.name}")):
            return True
    return False
