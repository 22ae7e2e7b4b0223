"""One item: written and looked at again, or brought back if it is still ours."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

from assay.host.transaction.plan import Item, is_same, mask
from assay.host.transaction.writable import HostTree, RefusedError
from assay.linux.tree import Tree

COMPACT = "/proc/sys/vm/compact_memory"
TRIES = 5
"""Looks at a pool that grows no more: between them memory is compacted."""
GROW_S = 20.0
"""How long a pool may grow."""

Outcome = Literal["restored", "untouched", "drifted", "held"]


def put(tree: HostTree, item: Item) -> str:
    """Write it; what the file holds then. RefusedError if that is not what was asked for."""
    if item.kind == "file":
        tree.create(item.path, item.new)
        return item.new
    tree.write(item.path, item.new)
    found = _grown(tree, item) if item.kind == "pool" else tree.read(item.path) or ""
    if not is_same(item.compare, found, item.new):
        raise RefusedError(
            f"{item.path}: {item.new.strip()} was asked for, and it is {found.strip()}",
            next_step=_hint(item),
        )
    _check_effective(tree, item)
    return found


def take_back(tree: HostTree, item: Item, ours: Sequence[str]) -> Outcome:
    """Bring back what was there, if what is there now is one of our values.

    Held means that a pool is still in use and is to be tried again.
    """
    now = tree.read(item.path)
    if _is_as_before(tree, item, now):
        return "untouched"
    if not _is_ours(item, now, ours):
        return "drifted"
    if item.kind == "file":
        if item.old is None:
            tree.remove(item.path)
        else:
            tree.create(item.path, item.old)
        return "restored"
    if item.kind == "pool":
        return _shrink(tree, item)
    for write in item.restore:
        tree.write(write.path, write.value)
    return "restored"


def _is_as_before(tree: Tree, item: Item, now: str | None) -> bool:
    """Whether it and all others of its group are as they were."""
    pairs = [(now, item.old), *((tree.read(path), old) for path, old in item.watch.items())]
    return all(
        a == b or (a is not None and b is not None and is_same(item.compare, a, b))
        for a, b in pairs
    )


def _is_ours(item: Item, now: str | None, ours: Sequence[str]) -> bool:
    if now is None:
        return False
    if item.kind == "pool":
        # A pool may have been growing when the process was killed.
        ends = sorted((int(item.old or 0), int(item.new)))
        return ends[0] <= int(now) <= ends[1]
    return any(is_same(item.compare, now, value) for value in ours)


def _grown(tree: HostTree, item: Item) -> str:
    """A pool after as many looks as it takes, as long as it comes nearer to what was asked for."""
    wanted, end = int(item.new), time.monotonic() + GROW_S
    tries, nearest = 0, None
    while tries < TRIES and time.monotonic() < end:
        away = abs(int(tree.read(item.path) or "") - wanted)
        if away == 0:
            break
        tries = tries + 1 if nearest is not None and away >= nearest else 0
        nearest = away
        if tree.is_host and tree.may_write(COMPACT):
            tree.write(COMPACT, "1")
            time.sleep(0.1)
        tree.write(item.path, item.new)
    return tree.read(item.path) or ""


def _shrink(tree: HostTree, item: Item) -> Outcome:
    """Back to what it was, or to what is in use: less would leave surplus pages behind."""
    old = int(item.old or 0)
    wanted = max(old, in_use(tree, item.path))
    tree.write(item.path, str(wanted))
    return "restored" if wanted == old else "held"


def in_use(tree: Tree, pool: str) -> int:
    """Pages of a pool that are mapped or promised."""
    folder = pool.rpartition("/")[0]

    def count(name: str) -> int:
        return int(tree.read(f"{folder}/{name}") or 0)

    return max(0, count("nr_hugepages") - count("free_hugepages") + count("resv_hugepages"))


def _check_effective(tree: Tree, item: Item) -> None:
    """An interrupt may be served by some of the CPUs that were asked for, and by no others."""
    if item.effective is None:
        return
    shown = tree.read(item.effective)
    if shown is None:
        return
    effective, asked = mask(shown), mask(item.new)
    if not effective or effective & ~asked:
        raise RefusedError(
            f"{item.effective} is {shown.strip()}, though {item.new.strip()} was asked for",
            next_step="this interrupt cannot be moved there",
        )


def _hint(item: Item) -> str:
    if item.kind == "pool":
        return "memory is in pieces: ask for fewer, or reserve them when the machine starts"
    return "the kernel took another value: see its documentation of this file"
