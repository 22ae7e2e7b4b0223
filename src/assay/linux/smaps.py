"""Pages of processes: the one reader of /proc/PID/smaps."""

from __future__ import annotations

import os
import re
from pathlib import Path

from assay.linux.processes import read, tree

_SUMMED = {
    "Anonymous": "touched_bytes",
    "AnonHugePages": "anon_huge_bytes",
    "Private_Hugetlb": "private_hugetlb_bytes",
}


_LARGEST = {
    "shared": "shared_bytes",
    "ShmemPmdMapped": "shmem_huge_bytes",
    "Shared_Hugetlb": "shared_hugetlb_bytes",
    "mapped": "hugetlb_mapped_bytes",
}


_BASE_PAGE = os.sysconf("SC_PAGE_SIZE")


_LINE = re.compile(r"^(?:(\w+):\s+(\d+) kB|[0-9a-f]+-[0-9a-f]+ .*?(/dev/zero.*)?)$", re.MULTILINE)
"""A field of a mapping, or the line that begins one: shared memory of no file has that name."""


def memory(pid: int) -> dict[str, int]:
    """Pages of a server's processes, in bytes, from smaps.

    Private pages are summed over the processes, shared ones are those of the process
    that maps most. A page of the kernel's pool is counted once it was touched:
    `hugetlb_mapped_bytes` is what may be touched, by the process that maps most, and
    `kernel_page_bytes` the size of such a page, if any is mapped. `touched_bytes` are what could
    be in transparent huge pages: memory of no file, and what processes share of such.
    """
    found = dict.fromkeys((*_SUMMED.values(), *_LARGEST.values()), 0)
    for member in tree(pid):
        own, page_bytes = _pages(read(Path(f"/proc/{member}/smaps")))
        for field, name in _SUMMED.items():
            found[name] += own.get(field, 0)
        for field, name in _LARGEST.items():
            found[name] = max(found[name], own.get(field, 0))
        if page_bytes:
            found["kernel_page_bytes"] = max(page_bytes, found.get("kernel_page_bytes", 0))
    found["touched_bytes"] += found.pop("shared_bytes")
    return found


def _pages(smaps: str) -> tuple[dict[str, int], int]:
    """Sums of a process' fields, and the largest page of a mapping that is of the pool."""
    sums: dict[str, int] = {}
    largest = page = size = 0
    is_shared = False
    for field, kib, shared in _LINE.findall(smaps):
        if not field:
            is_shared = bool(shared)
            continue
        bytes_ = int(kib) * 1024
        if field == "Rss" and is_shared:
            sums["shared"] = sums.get("shared", 0) + bytes_
        sums[field] = sums.get(field, 0) + bytes_
        if field == "Size":
            size = bytes_
        elif field == "KernelPageSize":
            page = bytes_
            if page > _BASE_PAGE:
                sums["mapped"] = sums.get("mapped", 0) + size
        elif field in ("Shared_Hugetlb", "Private_Hugetlb") and bytes_:
            largest = max(largest, page)
    return sums, largest
