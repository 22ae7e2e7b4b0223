"""Where the threads and pages of a process are: CPUs, network namespace, NUMA nodes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from assay.linux.processes import read, read_folder, tree

NODES = Path("/sys/devices/system/node")


@dataclass(frozen=True)
class Placement:
    """Of a process and its descendants: how many threads may run on each list of CPUs, their own
    pages by NUMA node, and their network namespace, None if it could not be read."""

    cpus: Mapping[str, int]
    nodes: Mapping[int, int]
    network: str | None = None


def placement(pid: int) -> Placement:
    """Where the threads and pages of a process and its descendants are now."""
    cpus: dict[str, int] = {}
    nodes: dict[int, int] = {}
    for member in tree(pid):
        for task in read_folder(Path(f"/proc/{member}/task")):
            found = re.search(r"(?m)^Cpus_allowed_list:\s+(\S+)$", read(task / "status"))
            if found:
                cpus[found[1]] = cpus.get(found[1], 0) + 1
        # Reading them walks all pages of a process: only where there is more than one node.
        maps = read(Path(f"/proc/{member}/numa_maps")) if _has_nodes() else ""
        for line in maps.splitlines():
            if " anon=" in line:
                for node, pages in re.findall(r" N(\d+)=(\d+)", line):
                    nodes[int(node)] = nodes.get(int(node), 0) + int(pages)
    network = None
    with suppress(OSError):
        network = os.readlink(f"/proc/{pid}/ns/net")
    return Placement(cpus, nodes, network)


@lru_cache(maxsize=1)
def _has_nodes() -> bool:
    """Whether this machine has more than one NUMA node."""
    return len(list(NODES.glob("node[0-9]*"))) > 1
