"""Huge pages that this machine has set aside, and the command that sets more aside."""

from __future__ import annotations

from pathlib import Path

KERNEL = Path("/sys/kernel/mm/hugepages")
ROOM = 1.15
"""A server maps more than its pool: its own tables about the pages, and shared structures."""


def lacking_pages(need: int, page: int | None = None) -> tuple[str, str] | None:
    """What is short of `need` bytes in huge pages, of one size or any, and the next step."""
    pools = {int(p.name.split("-")[1][:-2]) << 10: p for p in KERNEL.glob("hugepages-*kB")}
    if page is not None and page not in pools:
        return f"this kernel has no huge pages of {page >> 20} MiB", "choose another huge page size"
    fitting = {size: pool for size, pool in pools.items() if page in (None, size)}
    free = sum(size * _free(pool) for size, pool in fitting.items())
    if free >= need:
        return None
    size = page or min(pools, default=2 << 20)
    count = -(-int(need * ROOM) // size)
    pool = fitting.get(size, KERNEL / f"hugepages-{size >> 10}kB")
    return (
        f"{need >> 20} MiB of huge pages are needed and {free >> 20} MiB are free",
        f"echo {count} | sudo tee {pool / 'nr_hugepages'}",
    )


def _free(pool: Path) -> int:
    """Pages that nobody has or was promised."""
    free, promised = (int((pool / f"{n}_hugepages").read_text()) for n in ("free", "resv"))
    return free - promised
