"""What the kernel shows of where server and client run, and of packets by CPU over a window."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.native import CpuShare, Health
from assay.targets.processes import read, read_folder, tree

SOFTNET = Path("/proc/net/softnet_stat")
SOFTIRQS = Path("/proc/softirqs")
NODES = Path("/sys/devices/system/node")
COLUMNS = {"processed": 0, "dropped": 1, "time_squeeze": 2, "received_rps": 9, "flow_limit": 10}
"""Of softnet_stat, a line a CPU, in hexadecimal (net/core/net-procfs.c); column 12 is the CPU."""
CPU_COLUMN = 12
RAISED = ("NET_RX", "NET_TX")


def packets() -> dict[str, float]:
    """Counters of this machine since its start, by CPU: `softnet_received_rps.cpu0`, ..."""
    return _softnet(SOFTNET.read_text()) | _softirqs(SOFTIRQS.read_text())


def _softnet(text: str) -> dict[str, float]:
    found = {}
    for line, row in enumerate(text.splitlines()):
        words = [int(word, 16) for word in row.split()]
        cpu = words[CPU_COLUMN] if len(words) > CPU_COLUMN else line
        for name, column in COLUMNS.items():
            if column < len(words):
                found[f"softnet_{name}.cpu{cpu}"] = float(words[column])
    return found


def _softirqs(text: str) -> dict[str, float]:
    head, *rows = text.splitlines()
    cpus = head.split()
    found = {}
    for row in rows:
        name, _, counts = row.strip().partition(":")
        if name in RAISED:
            pairs = zip(cpus, counts.split(), strict=False)
            found |= {f"softirq_{name.lower()}.{cpu.lower()}": float(n) for cpu, n in pairs}
    return found


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
        # Reading them walks all pages of a process: only where there is something to tell.
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


def health_of(
    health: Health, cpus: list[CpuShare], server_cpus: tuple[int, ...], is_networked: bool
) -> Health:
    """The client's view, with the idle share of those CPUs that the server may use.

    Where packets are given to other CPUs, their work there belongs to no process: it is what is
    studied, and no disturbance.
    """
    own = [share for share in cpus if share.cpu in server_cpus]
    changed: Mapping[str, float] = {}
    if own:
        changed = {"server_idle": max(0.0, 1 - sum(c.busy for c in own) / len(own))}
    if is_networked:
        left = health.foreign_cpu - sum(c.softirq for c in cpus)
        changed = {**changed, "foreign_cpu": max(0.0, left)}
    return health.model_copy(update=dict(changed))
