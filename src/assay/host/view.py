"""What rules look at: the host's files, and those of one server's process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from assay.core.errors import MissingError
from assay.host.traits import UNKNOWN, ServerTraits
from assay.host.transaction.plan import choice, mask
from assay.linux.cpus import cpu_list
from assay.linux.tree import Tree

HUGE = "/sys/kernel/mm/hugepages"
THP = "/sys/kernel/mm/transparent_hugepage"
NET = "/sys/class/net"


@dataclass(frozen=True)
class Pool:
    """A pool of huge pages of one size: page size in bytes, the rest in pages."""

    path: str
    page_bytes: int
    total: int
    free: int
    reserved: int
    surplus: int
    overcommit: int

    @property
    def available(self) -> int:
        """Pages that nobody has and nobody was promised."""
        return self.free - self.reserved


@dataclass(frozen=True)
class Server:
    """A server's process. Memory in bytes."""

    kind: str
    pid: int
    command: tuple[str, ...]
    memlock: int | None
    """What it may lock; None is no limit."""
    huge_bytes: int | None
    """What it maps of pools; None if this user may not see it."""
    anon_huge_bytes: int | None
    has_ipc_lock: bool
    groups: frozenset[int]


@dataclass(frozen=True)
class View:
    """A host, and the server that it is looked at for: a kind, a process, or neither."""

    tree: Tree
    kind: str = ""
    pid: int | None = None
    traits: ServerTraits = UNKNOWN

    def read(self, path: str) -> str | None:
        """A file without its last newline; None if it is not there or not for this user."""
        try:
            text = self.tree.read(path)
        except MissingError:
            return None
        return None if text is None else text.strip()

    def number(self, path: str) -> int | None:
        """A file that is a number; None if it is not there or is none."""
        text = self.read(path)
        return int(text) if text and re.fullmatch(r"-?\d+", text) else None

    def names(self, folder: str) -> list[str]:
        """The entries of a folder, sorted; none if it is not there."""
        place = self.tree.place(folder)
        return sorted(p.name for p in place.iterdir()) if place.is_dir() else []

    @cached_property
    def memory(self) -> Mapping[str, int]:
        """/proc/meminfo: kB as bytes, counts as they are."""
        found = {}
        for line in (self.read("/proc/meminfo") or "").splitlines():
            name, _, rest = line.partition(":")
            words = rest.split()
            if words and words[0].isdigit():
                found[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
        return found

    @cached_property
    def cpus(self) -> int:
        """CPUs that are online."""
        return len(cpu_list(self.read("/sys/devices/system/cpu/online") or "0"))

    @cached_property
    def nodes(self) -> list[str]:
        """NUMA nodes."""
        entries = self.names("/sys/devices/system/node")
        return [n for n in entries if re.fullmatch(r"node\d+", n)]

    @cached_property
    def pools(self) -> list[Pool]:
        """Every size that the kernel has, the smallest first."""
        return sorted((self._pool(HUGE, n) for n in self._sizes(HUGE)), key=lambda p: p.page_bytes)

    def pools_of(self, node: str) -> list[Pool]:
        """A node's share of them."""
        folder = f"/sys/devices/system/node/{node}/hugepages"
        return [self._pool(folder, name) for name in self._sizes(folder)]

    @cached_property
    def default_pool(self) -> Pool | None:
        """The pool of the default size."""
        size = self.memory.get("Hugepagesize")
        return next((p for p in self.pools if p.page_bytes == size), None)

    def thp(self, name: str = "enabled") -> str | None:
        """The policy in force; None where there are no transparent huge pages."""
        raw = self.read(f"{THP}/{name}")
        return None if raw is None else choice(raw)

    @cached_property
    def queues(self) -> dict[str, list[str]]:
        """Receive queues by network interface, those of loopback left out."""
        found = {}
        for name in self.names(NET):
            if name == "lo":
                continue
            queues = self.names(f"{NET}/{name}/queues")
            found[name] = [q for q in queues if q.startswith("rx-")]
        return found

    def cpus_of(self, path: str) -> int | None:
        """A mask of CPUs as bits; None if it is not there."""
        raw = self.read(path)
        try:
            return None if raw is None else mask(raw)
        except ValueError:
            return None

    @cached_property
    def server(self) -> Server | None:
        """The process, if one was named; None if it is gone or none was."""
        if self.pid is None or self.read(f"/proc/{self.pid}/status") is None:
            return None
        proc = f"/proc/{self.pid}"
        status = _fields(self.read(f"{proc}/status") or "")
        rollup = self.read(f"{proc}/smaps_rollup")
        capabilities = int(status.get("CapEff", "0"), 16)
        return Server(
            kind=self.kind or status.get("Name", ""),
            pid=self.pid,
            command=tuple(w for w in (self.read(f"{proc}/cmdline") or "").split("\0") if w),
            memlock=_memlock(self.read(f"{proc}/limits") or ""),
            huge_bytes=_kilobytes(rollup, "Private_Hugetlb", "Shared_Hugetlb"),
            anon_huge_bytes=_kilobytes(rollup, "AnonHugePages"),
            has_ipc_lock=bool(capabilities >> 14 & 1),
            groups=frozenset(int(g) for g in status.get("Groups", "").split()),
        )

    def _sizes(self, folder: str) -> list[str]:
        return [n for n in self.names(folder) if re.fullmatch(r"hugepages-\d+kB", n)]

    def _pool(self, folder: str, name: str) -> Pool:
        path = f"{folder}/{name}"

        def count(file: str) -> int:
            return self.number(f"{path}/{file}") or 0

        return Pool(
            path=path,
            page_bytes=int(name.removeprefix("hugepages-").removesuffix("kB")) * 1024,
            total=count("nr_hugepages"),
            free=count("free_hugepages"),
            reserved=count("resv_hugepages"),
            surplus=count("surplus_hugepages"),
            overcommit=count("nr_overcommit_hugepages"),
        )


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _kilobytes(rollup: str | None, *names: str) -> int | None:
    """The sum of some lines as bytes; None if there is nothing to read."""
    if not rollup:
        return None
    fields = _fields(rollup)
    return sum(int((fields.get(name) or "0").split()[0]) * 1024 for name in names)


def _memlock(limits: str) -> int | None:
    found = re.search(r"(?m)^Max locked memory\s+(\S+)", limits)
    return None if found is None or found[1] == "unlimited" else int(found[1])
