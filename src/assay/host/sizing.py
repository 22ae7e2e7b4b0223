"""How many huge pages a server needs, from its own figure; and how many a machine can give.

need = ceil((asked x (1 + headroom) + extra) / page). The extra is a fixed reserve, as SAP
ASE's users plan it for its expansion; the headroom a share, as restarts overlap a little.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from assay.core.errors import InputError, MissingError
from assay.host.view import View
from assay.linux import smaps
from assay.linux.pools import Pool

GUARD_SHARE, GUARD_BYTES = 0.10, 1 << 30
"""What must remain after pools and what is in use: a tenth of the memory, and a GiB."""

LARGE = 16 << 30
"""Below this a server is better served by pages of 2 MiB than of 1 GiB."""


@dataclass(frozen=True)
class MemoryFigure:
    """What a server says that it will map, each mapping on its own. Sizes in bytes."""

    source: str
    mappings: Mapping[str, int]

    def asked(self, page_bytes: int) -> int:
        """All of it: every mapping takes whole pages."""
        return sum(-(-size // page_bytes) * page_bytes for size in self.mappings.values())


MARIADB_ASKS = (
    "innodb_buffer_pool_size",
    "innodb_buffer_pool_chunk_size",
    "innodb_log_buffer_size",
    "key_buffer_size",
    "aria_pagecache_buffer_size",
)
"""Variables of MariaDB that say what it takes from large pages."""

MARIADB_WHOLE = "innodb_buffer_pool_size_max"
"""A variable of versions whose buffer pool is one mapping and no chunks (MDEV-29445)."""

MARIADB_SMALL = 16 << 20
"""For InnoDB's smaller and passing buffers: 4 to 12 MiB were seen of 10.11.19."""


def mariadb_figure(variables: Mapping[str, int]) -> MemoryFigure:
    """Of MariaDB: at most what it takes. KeyError where one of MARIADB_ASKS is missing.

    Its buffer pool, in whole chunks where it still has such; the log buffer, which there is twice;
    the caches of MyISAM's and Aria's pages. Held against the smaps of 10.11.19.
    """
    pool, chunk, log, keys, aria = (variables[name] for name in MARIADB_ASKS)
    is_whole = MARIADB_WHOLE in variables or not chunk
    mappings = {
        "buffer pool": pool if is_whole else -(-pool // chunk) * chunk,
        "log buffer": log,
        "log buffer, second": log,
        "key buffer": keys,
        "Aria": aria,
        "small ones": MARIADB_SMALL,
    }
    return MemoryFigure("its variables", {name: size for name, size in mappings.items() if size})


def postgresql_figure(shared_memory_size: str) -> MemoryFigure:
    """Of PostgreSQL 15 and later: `shared_memory_size`, which has everything in it, in MB."""
    found = re.fullmatch(r"(\d+)\s*(MB)?", shared_memory_size.strip())
    if found is None:
        raise MissingError(
            f"shared_memory_size is {shared_memory_size!r}", next_step="PostgreSQL 15 or later"
        )
    return MemoryFigure("shared_memory_size", {"shared memory": int(found[1]) << 20})


def in_use(view: View) -> dict[int, int]:
    """Bytes that the server's process has of each size of page, from smaps: the proof.

    Pages of pools by their size; transparent huge pages count as 2 MiB ones of no pool and are
    left out. MissingError if this user may not see it.
    """
    text = view.read(f"/proc/{view.pid}/smaps")
    if text is None:
        raise MissingError(
            f"the memory of process {view.pid} is not shown to this user", next_step="run as root"
        )
    return dict(smaps.parse(text).pool_touched)


@dataclass(frozen=True)
class Need:
    """What a server asks for. Sizes in bytes."""

    asked: int
    page_bytes: int
    headroom: float = 0.0
    extra: int = 0

    def __post_init__(self) -> None:
        if min(self.asked, self.extra, self.headroom) < 0 or self.page_bytes <= 0:
            raise InputError("sizes are positive", next_step="such as --bytes 8GiB")

    @property
    def pages(self) -> int:
        """Pages, rounded up."""
        return math.ceil((self.asked * (1 + self.headroom) + self.extra) / self.page_bytes)

    @property
    def wasted(self) -> int:
        """What the last page and the headroom hold beyond what was asked for."""
        return self.pages * self.page_bytes - self.asked

    @property
    def memlock_kb(self) -> int:
        """The limit that lets a process lock them, in units of limits.d and ulimit -l."""
        return self.pages * self.page_bytes // 1024

    def formula(self) -> str:
        """How the number came about."""
        return (
            f"ceil(({self.asked} x {1 + self.headroom:g} + {self.extra}) / {self.page_bytes})"
            f" = {self.pages}"
        )


def fits(need: Need, pool: Pool, view: View) -> str | None:
    """Why the machine should not give that many; None if it can.

    What is in use by others is what is not available, less what pools already hold.
    """
    total = view.memory.get("MemTotal", 0)
    pools = sum(p.total * p.page_bytes for p in view.pools)
    in_use = max(0, total - view.memory.get("MemAvailable", total) - pools)
    others = pools - pool.total * pool.page_bytes
    room = total - in_use - others - max(GUARD_BYTES, int(GUARD_SHARE * total))
    wanted = need.pages * need.page_bytes
    if wanted > room:
        return (
            f"{wanted / 2**30:.1f} GiB are needed and {max(0, room) / 2**30:.1f} GiB can be given: "
            f"{total / 2**30:.1f} in all, {in_use / 2**30:.1f} in use, "
            f"{others / 2**30:.1f} in other pools, and a tenth or 1 GiB is left free"
        )
    return None


def missing(need: Need, pool: Pool) -> int:
    """Pages that the pool lacks now, without those that are promised."""
    return max(0, need.pages - pool.available)
