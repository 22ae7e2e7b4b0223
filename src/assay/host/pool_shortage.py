"""What this machine's pools of huge pages lack for a server, and the command that sets it aside."""

from __future__ import annotations

from assay.linux.pools import KERNEL, pools
from assay.linux.tree import Tree

SLACK = 1.15
"""A server maps more than its pool: its own tables about the pages, and shared structures."""


def pool_shortage(need: int, page: int | None = None) -> tuple[str, str] | None:
    """What is short of `need` bytes in huge pages, of one size or any, and the next step; None if
    there are enough."""
    known = {pool.page_bytes: pool for pool in pools(Tree())}
    if page is not None and page not in known:
        return f"this kernel has no huge pages of {page >> 20} MiB", "choose another huge page size"
    fitting = [pool for size, pool in known.items() if page in (None, size)]
    free = sum(pool.page_bytes * pool.available for pool in fitting)
    if free >= need:
        return None
    size = page or min(known, default=2 << 20)
    count = -(-int(need * SLACK) // size)
    return (
        f"{need >> 20} MiB of huge pages are needed and {free >> 20} MiB are free",
        f"echo {count} | sudo tee {KERNEL}/hugepages-{size >> 10}kB/nr_hugepages",
    )
