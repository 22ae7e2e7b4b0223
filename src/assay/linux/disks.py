"""What disks did: /proc/diskstats, as Linux has it in admin-guide/iostats.rst."""

from __future__ import annotations

from dataclasses import dataclass, fields

from assay.linux.tree import Tree

DISKSTATS = "/proc/diskstats"
COLUMNS = {"reads": 3, "read_ms": 6, "writes": 7, "write_ms": 10, "busy_ms": 12, "queue_ms": 13}
FLUSHES, FLUSH_MS = 18, 19
"""Columns that kernels have from 5.5 on."""


@dataclass(frozen=True)
class DiskCounts:
    """Of one device since the start: requests, and their times in ms. `queue_ms` over `busy_ms` is
    the mean number of requests under way. Flushes are None where the kernel counts none."""

    reads: int
    read_ms: int
    writes: int
    write_ms: int
    busy_ms: int
    queue_ms: int
    flushes: int | None
    flush_ms: int | None

    def since(self, before: DiskCounts) -> DiskCounts:
        """The growth."""
        pairs = ((getattr(self, f.name), getattr(before, f.name)) for f in fields(self))
        return DiskCounts(*(None if a is None or b is None else a - b for a, b in pairs))  # type: ignore[arg-type]  # flushes alone are None


def disks(tree: Tree) -> dict[str, DiskCounts]:
    """By device that was ever used; empty where the kernel shows none."""
    found = {}
    for line in (tree.read(DISKSTATS) or "").splitlines():
        words = line.split()
        if len(words) <= COLUMNS["queue_ms"] or words[3] == words[7] == "0":
            continue
        flushes = [int(words[c]) if len(words) > c else None for c in (FLUSHES, FLUSH_MS)]
        numbers = [int(words[column]) for column in COLUMNS.values()]
        found[words[2]] = DiskCounts(*numbers, *flushes)
    return found
