"""The pools of huge pages that the kernel has set aside, one for each size of page."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay.linux.tree import Tree

KERNEL = "/sys/kernel/mm/hugepages"
NODES = "/sys/devices/system/node"


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


def pools(tree: Tree, folder: str = KERNEL) -> list[Pool]:
    """Every size that the kernel has, the smallest first; of a node with the node's folder."""
    place = tree.place(folder)
    names = [p.name for p in place.iterdir()] if place.is_dir() else []
    found = [_pool(tree, folder, name) for name in names if re.fullmatch(r"hugepages-\d+kB", name)]
    return sorted(found, key=lambda pool: pool.page_bytes)


def pools_of_node(tree: Tree, node: str) -> list[Pool]:
    """A NUMA node's share of them."""
    return pools(tree, f"{NODES}/{node}/hugepages")


def _pool(tree: Tree, folder: str, name: str) -> Pool:
    path = f"{folder}/{name}"

    def count(file: str) -> int:
        text = (tree.read(f"{path}/{file}") or "").strip()
        return int(text) if text.isdigit() else 0

    return Pool(
        path=path,
        page_bytes=int(name.removeprefix("hugepages-").removesuffix("kB")) * 1024,
        total=count("nr_hugepages"),
        free=count("free_hugepages"),
        reserved=count("resv_hugepages"),
        surplus=count("surplus_hugepages"),
        overcommit=count("nr_overcommit_hugepages"),
    )
