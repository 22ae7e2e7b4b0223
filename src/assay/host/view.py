"""What rules look at: the host's files, and those of one server's process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from assay.core.errors import MissingError
from assay.host.traits import UNKNOWN, ServerTraits
from assay.host.transaction.plan import choice, mask
from assay.linux import smaps
from assay.linux.cpus import cpu_list
from assay.linux.pools import Pool, pools, pools_of_node
from assay.linux.tree import Tree

THP = "/sys/kernel/mm/transparent_hugepage"
NET = "/sys/class/net"


@dataclass(frozen=True)
class ServerProcess:
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
        return pools(self.tree)

    def pools_of(self, node: str) -> list[Pool]:
        """A node's share of them."""
        return pools_of_node(self.tree, node)

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
    def server(self) -> ServerProcess | None:
        """The process, if one was named; None if it is gone or none was."""
        if self.pid is None or self.read(f"/proc/{self.pid}/status") is None:
            return None
        proc = f"/proc/{self.pid}"
        status = _fields(self.read(f"{proc}/status") or "")
        rollup = self.read(f"{proc}/smaps_rollup")
        pages = smaps.parse(rollup) if rollup else None
        capabilities = int(status.get("CapEff", "0"), 16)
        return ServerProcess(
            kind=self.kind or status.get("Name", ""),
            pid=self.pid,
            command=tuple(w for w in (self.read(f"{proc}/cmdline") or "").split("\0") if w),
            memlock=_memlock(self.read(f"{proc}/limits") or ""),
            huge_bytes=None if pages is None else pages.pool_bytes,
            anon_huge_bytes=None if pages is None else pages.fields.get("AnonHugePages", 0),
            has_ipc_lock=bool(capabilities >> 14 & 1),
            groups=frozenset(int(g) for g in status.get("Groups", "").split()),
        )


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _memlock(limits: str) -> int | None:
    found = re.search(r"(?m)^Max locked memory\s+(\S+)", limits)
    return None if found is None or found[1] == "unlimited" else int(found[1])
