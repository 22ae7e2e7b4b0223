"""Where the threads and pages of a process are: CPUs, network namespace, NUMA nodes."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.linux.processes import read, read_folder, tree

NODES = Path("/sys/devices/system/node")


def placement(pid: int, role: str) -> dict[str, Any]:
    """Of a process and its descendants: how many threads may run on each list of CPUs, their
    network, and their own pages by NUMA node."""
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
    shown: dict[str, Any] = {f"{role}_cpus": cpus, f"{role}_nodes": nodes}
    with suppress(OSError):
        shown[f"{role}_network"] = os.readlink(f"/proc/{pid}/ns/net")
    return shown


@lru_cache(maxsize=1)
def _has_nodes() -> bool:
    """Whether this machine has more than one NUMA node."""
    return len(list(NODES.glob("node[0-9]*"))) > 1
