"""Pages of processes: the one reader of /proc/PID/smaps and smaps_rollup."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay.linux.processes import read, tree

_SUMMED = {
    "Anonymous": "touched_bytes",
    "AnonHugePages": "anon_huge_bytes",
    "Private_Hugetlb": "private_hugetlb_bytes",
}
_LARGEST = {
    "ShmemPmdMapped": "shmem_huge_bytes",
    "Shared_Hugetlb": "shared_hugetlb_bytes",
}
HUGETLB = ("Private_Hugetlb", "Shared_Hugetlb")
"""Fields of pages of the kernel's pools, once they were touched."""
_BASE_PAGE = os.sysconf("SC_PAGE_SIZE")
_LINE = re.compile(
    r"^(?:(\w+):\s+(\d+)(?: kB)?|[0-9a-f]+-[0-9a-f]+ .*?(/dev/zero.*)?)$", re.MULTILINE
)
"""A field of a mapping, or the line that begins one: shared memory of no file has that name."""
_ELIGIBLE = "THPeligible"
"""Whether the kernel's policy and what the process asked for allow a mapping transparent pages."""


@dataclass(frozen=True)
class Pages:
    """All mappings of one process together. Everything is in bytes."""

    fields: Mapping[str, int] = field(default_factory=dict)
    """The sum of each field."""
    shared: int = 0
    """Touched memory of no file that processes share."""
    pool_mapped: int = 0
    """What may be touched of the kernel's pools."""
    pool_touched: Mapping[int, int] = field(default_factory=dict)
    """What was touched of the kernel's pools, by size of page."""
    eligible: int = 0
    """Touched memory of no file that may be in transparent huge pages as things are."""

    @property
    def pool_bytes(self) -> int:
        """What was touched of the kernel's pools."""
        return sum(self.fields.get(name, 0) for name in HUGETLB)


def parse(text: str) -> Pages:
    """The pages that a file of smaps shows, or one of smaps_rollup, which has no sizes of pages."""
    sums: dict[str, int] = {}
    touched: dict[int, int] = {}
    shared = mapped = page = size = anonymous = eligible = 0
    is_shared = False
    for name, kib, no_file in _LINE.findall(text):
        if not name:
            is_shared = bool(no_file)
            continue
        if name == _ELIGIBLE:
            eligible += anonymous if kib != "0" else 0
            continue
        amount = int(kib) * 1024
        sums[name] = sums.get(name, 0) + amount
        if name == "Rss" and is_shared:
            shared += amount
        elif name == "Size":
            size = amount
        elif name == "Anonymous":
            anonymous = amount
        elif name == "KernelPageSize":
            page = amount
            mapped += size if page > _BASE_PAGE else 0
        elif name in HUGETLB and amount:
            touched[page] = touched.get(page, 0) + amount
    return Pages(sums, shared, mapped, touched, eligible)


def memory(pid: int) -> dict[str, int]:
    """Pages of a server's processes, in bytes.

    Private pages are summed over the processes, shared ones are those of the process
    that maps most. A page of the kernel's pool is counted once it was touched:
    `hugetlb_mapped_bytes` is what may be touched, by the process that maps most, and
    `kernel_page_bytes` the size of such a page, if any is mapped. `touched_bytes` are what could
    be in transparent huge pages: memory of no file, and what processes share of such.
    `eligible_bytes` are what of a process's own memory the kernel would put there as things are.
    """
    further = ("hugetlb_mapped_bytes", "eligible_bytes")
    found = dict.fromkeys((*_SUMMED.values(), *_LARGEST.values(), *further), 0)
    shared = 0
    for member in tree(pid):
        own = parse(read(Path(f"/proc/{member}/smaps")))
        shared = max(shared, own.shared)
        found["eligible_bytes"] += own.eligible
        for name, total in _SUMMED.items():
            found[total] += own.fields.get(name, 0)
        for name, total in _LARGEST.items():
            found[total] = max(found[total], own.fields.get(name, 0))
        found["hugetlb_mapped_bytes"] = max(found["hugetlb_mapped_bytes"], own.pool_mapped)
        if own.pool_touched:
            largest = max(own.pool_touched)
            found["kernel_page_bytes"] = max(largest, found.get("kernel_page_bytes", 0))
    found["touched_bytes"] += shared
    return found
