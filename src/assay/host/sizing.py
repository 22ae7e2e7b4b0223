"""How many huge pages a server needs, from its own figure; and how many a machine can give.

need = ceil((asked x (1 + headroom) + extra) / page). The extra is a fixed reserve, as SAP
ASE's users plan it for its expansion; the headroom a share, as restarts overlap a little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay._errors import InputError
from assay.host.check.view import Pool, View

GUARD_SHARE, GUARD_BYTES = 0.10, 1 << 30
"""What must remain besides pools and what is in use: a tenth of the memory, and a GiB."""

LARGE = 16 << 30
"""Below this a server is better served by pages of 2 MiB than of 1 GiB."""


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
            f"{wanted / 2**30:.1f} GiB are wanted and {max(0, room) / 2**30:.1f} GiB can be given: "
            f"{total / 2**30:.1f} in all, {in_use / 2**30:.1f} in use, "
            f"{others / 2**30:.1f} in other pools, and a tenth or 1 GiB is left free"
        )
    return None


def missing(need: Need, pool: Pool) -> int:
    """Pages that the pool lacks now, beside those that are promised."""
    return max(0, need.pages - pool.available)
