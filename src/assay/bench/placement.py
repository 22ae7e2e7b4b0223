"""Who may run where: words before a command that bind it, and what the kernel then shows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from assay.changes import HostValue
from assay.core.errors import MissingError
from assay.host import steering
from assay.linux.cpus import as_list, listed, online
from assay.linux.placement import Placement
from assay.linux.tree import Tree

ON_NODE = 0.9
"""The share of a server's own memory that must be where it was bound to."""


@dataclass(frozen=True)
class Placing:
    """Words before the commands of server and client, and what they come to."""

    server: tuple[str, ...]
    client: tuple[str, ...]
    server_cpus: list[int]
    """Empty where the server may run anywhere."""
    client_cpus: list[int]
    pin: str | None
    numa: str | None
    everything: list[int]
    memory_nodes: frozenset[int] = frozenset()

    @property
    def is_any(self) -> bool:
        """Whether anything is bound."""
        return bool(self.server or self.client)

    def shown(self, server: Placement | None, client: Placement | None) -> dict[str, HostValue]:
        """By named change what every thread may use, as the kernel has it."""
        found = {}
        if self.pin is not None:
            found["pin"] = self._pinned(server, client)
        if self.numa is not None:
            found["numa"] = self._placed({} if server is None else server.nodes)
        return found

    def _pinned(self, server: Placement | None, client: Placement | None) -> HostValue:
        cpus = {} if server is None else server.cpus
        holds = _judged(cpus, self.server_cpus, self.everything)
        said = f"server {_lists(cpus)}"
        if client is not None:
            holds = _judged(client.cpus, self.client_cpus, self.everything) and holds
            said += f"; client {_lists(client.cpus)}"
        return HostValue(said, holds)

    def _placed(self, pages: Mapping[int, int]) -> HostValue:
        """Pages by node, of memory that is the server's own."""
        total = sum(pages.values())
        on = sum(n for node, n in pages.items() if node in self.memory_nodes)
        said = ", ".join(f"node {node}: {n} pages" for node, n in sorted(pages.items())) or "none"
        spread = self.numa != "interleave" or all(
            pages.get(n, 0) > total / len(self.memory_nodes) / 2 for n in self.memory_nodes
        )
        return HostValue(said, total > 0 and on >= ON_NODE * total and spread)


def placing(steer: Mapping[str, str], host: Tree) -> Placing:
    """How an arm places server and client; MissingError if this machine cannot."""
    everything = [cpu for cpu in online(host) if cpu in os.sched_getaffinity(0)] or online(host)
    pin, numa = steer.get("pin"), steer.get("numa")
    server_cpus: list[int] = []
    client_cpus: list[int] = []
    server: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    nodes: frozenset[int] = frozenset()
    if pin not in (None, "none"):
        server_cpus, client_cpus = steering.cpus_of(pin, everything)
        server, client = taskset(server_cpus), taskset(client_cpus)
    if numa not in (None, "none"):
        words, nodes = _numactl(numa, host)
        server = (*server, *words)
    elif numa == "none":
        nodes = frozenset(steering.nodes(host))
    return Placing(server, client, server_cpus, client_cpus, pin, numa, everything, nodes)


def taskset(cpus: list[int]) -> tuple[str, ...]:
    """Words that bind a command to CPUs; MissingError without the program."""
    found = shutil.which("taskset")
    if found is None:
        raise MissingError("taskset is not here", next_step="sudo apt-get install util-linux")
    return (found, "--cpu-list", as_list(cpus))


def _numactl(level: str, host: Tree) -> tuple[tuple[str, ...], frozenset[int]]:
    nodes = steering.nodes(host)
    if len(nodes) < 2:
        raise MissingError(
            "this machine has one NUMA node", next_step="run the study where there are several"
        )
    found = shutil.which("numactl")
    if found is None:
        raise MissingError("numactl is not here", next_step="sudo apt-get install numactl")
    first, second, *_ = sorted(nodes)
    if level == "interleave":
        return (found, "--interleave=all", "--"), frozenset(nodes)
    memory = first if level == "local" else second
    return (found, f"--cpunodebind={first}", f"--membind={memory}", "--"), frozenset({memory})


def _judged(seen: Mapping[str, int], wanted: list[int], everything: list[int]) -> bool:
    """Whether threads are bound to some CPUs and no others; where nothing is wanted, whether one
    of them may use every CPU, as others may have bound themselves."""
    if not seen:
        return False
    sets = [set(listed(text)) for text in seen]
    if not wanted:
        return any(cpus >= set(everything) for cpus in sets)
    return all(cpus <= set(wanted) for cpus in sets)


def _lists(seen: Mapping[str, int]) -> str:
    """Lists of CPUs, and how many threads have each."""
    if not seen:
        return "not seen"
    return ", ".join(f"{text} ({n} threads)" for text, n in sorted(seen.items()))
