"""What /proc shows of a running server: its executable, environment and pages."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay._errors import RunError
from assay.targets.embedded import contents_digest
from assay.targets.processes import read, read_folder, tree

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


def listens(pid: int, port: int) -> bool:
    """Whether a process or one of its descendants listens on a port of TCP."""
    sockets = _sockets(port, str(pid))
    return bool(sockets) and any(not sockets.isdisjoint(_open(member)) for member in tree(pid))


def _sockets(port: int, whose: str = "self") -> set[str]:
    """What listens on a port in a process' network, as processes have it open."""
    tables = read(Path(f"/proc/{whose}/net/tcp")) + read(Path(f"/proc/{whose}/net/tcp6"))
    rows = (line.split() for line in tables.splitlines())
    wanted = f"{port:04X}"
    # Columns: number, local address, remote address, state (0A is LISTEN), ..., inode.
    return {f"socket:[{r[9]}]" for r in rows if len(r) > 9 and r[3] == "0A" and r[1][-4:] == wanted}


def listener(port: int) -> int | None:
    """The first process of those that listen on a port of TCP; None where that cannot be seen."""
    found = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()]
    sockets = _sockets(port)
    listening = {pid for pid in found if not sockets.isdisjoint(_open(pid))}
    first = [pid for pid in listening if _parent(pid) not in listening]
    return first[0] if len(first) == 1 else None


def _parent(pid: int) -> int:
    fields = read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _open(pid: int) -> set[str]:
    """What a process has open."""
    found = set()
    for descriptor in read_folder(Path(f"/proc/{pid}/fd")):
        with suppress(OSError):
            found.add(os.readlink(descriptor))
    return found


def mapped_digest(pid: int, file: Path) -> str:
    """The digest of a file that a process has mapped; RunError if it has not."""
    mapped = {line.split(maxsplit=5)[-1] for line in read(Path(f"/proc/{pid}/maps")).splitlines()}
    if str(file.resolve()) not in mapped:
        raise RunError(f"the process has not loaded {file}")
    return contents_digest(file)


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


def status(pid: int) -> dict[str, Any]:
    """What the kernel shows of a process: its threads by name without numbers ("threads.io_thd_"),
    and `thp_enabled` if it knows."""
    shown: dict[str, Any] = {}
    for task in read_folder(Path(f"/proc/{pid}/task")):
        name = f"threads.{read(task / 'comm').strip().rstrip('0123456789')}"
        shown[name] = shown.get(name, 0) + 1
    found = re.search(r"^THP_enabled:\s+(\d)$", read(Path(f"/proc/{pid}/status")), re.MULTILINE)
    return shown | ({"thp_enabled": found[1] == "1"} if found else {})
