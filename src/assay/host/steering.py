"""What a named change of the machine is here: values of the kernel's files, from its own CPUs.

    governor   the same word for every CPU
    rps        rps_cpus of each queue that receives, and where flows are followed their tables
    xps        xps_cpus of each queue that sends
    irq        smp_affinity of each interrupt of a device
    pool       the number of huge pages of one size

Queues share the CPUs out in order: of 16 CPUs and two queues, 0-7 and 8-15. "others" leaves out
of a queue's share the CPUs that serve the device's interrupts; a device without any (veth, lo)
has the first of each share stand for them. That gives the masks fe and fe00 of TiDB's tests on
16 CPUs, and others elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from assay.core.errors import InputError, MissingError
from assay.host.sizing import Need, fits, missing
from assay.host.transaction.plan import mask
from assay.host.view import NET, View
from assay.linux.cpus import as_list, as_mask, listed, online, shares
from assay.linux.tree import Tree

LOOPBACK = "lo"
FLOWS = 32768
"""Flows that are followed, as networking/scaling.rst suggests for a server of some thousand."""
FLOW_TABLE = "/proc/sys/net/core/rps_sock_flow_entries"
SEED = "0xfe/0xfe00"
SEED_CPUS = 16

Values = dict[str, str]


def values(key: str, level: str, tree: Tree, device: str) -> Values:
    """Paths and values of a level; MissingError with what this machine lacks for it."""
    return _KEYS[key](level, tree, device)


def _governor(level: str, tree: Tree, device: str) -> Values:
    folders = [f"/sys/devices/system/cpu/cpu{n}/cpufreq" for n in online(tree)]
    files = [f"{folder}/scaling_governor" for folder in folders]
    files = [file for file in files if tree.read(file) is not None]
    if not files:
        raise MissingError(
            "no CPU has a governor here, as in most virtual machines: its host decides",
            next_step="run the study on the metal",
        )
    known = (tree.read(f"{folders[0]}/scaling_available_governors") or level).split()
    if level not in known:
        raise MissingError(
            f"no governor {level} is here, but {', '.join(known)}",
            next_step="name one of them, or load its module",
        )
    return dict.fromkeys(files, level)


def _receive(level: str, tree: Tree, device: str) -> Values:
    queues = _queues(tree, device, "rx")
    sets = _receivers(level, tree, device, queues)
    found = {f"{q}/rps_cpus": as_mask(cpus) for q, cpus in zip(queues, sets, strict=True)}
    # A table of a former level would be used as long as it is there.
    flows = FLOWS if level == "flow" else 0
    found |= {f"{queue}/rps_flow_cnt": str(flows // len(queues)) for queue in queues}
    if level == "flow":
        found[FLOW_TABLE] = str(FLOWS)
    return found


def _receivers(level: str, tree: Tree, device: str, queues: list[str]) -> list[list[int]]:
    cpus = online(tree)
    if level == "off":
        return [[] for _ in queues]
    if level in ("all", "flow"):
        return [cpus for _ in queues]
    if level == "seed":
        if len(cpus) != SEED_CPUS:
            raise MissingError(
                f"rps_cpus fe and fe00 are CPUs 1-7 and 9-15: right where there are {SEED_CPUS}, "
                f"of which 0 and 8 serve the interrupts; here are {as_list(cpus)}",
                next_step='write "others", which makes the masks from the CPUs that are here',
            )
        return _by_queue("rps", SEED, cpus, queues, device)
    if level != "others":
        return _by_queue("rps", level, cpus, queues, device)
    serving = _serving(tree, device)
    found = []
    for queue, share in zip(queues, shares(cpus, len(queues)), strict=True):
        left = [c for c in share if c not in (serving or share[:1])]
        if not left:
            raise MissingError(
                f"{queue}: of its share of the CPUs ({as_list(share)}) none is left besides those "
                "that serve interrupts",
                next_step="give the device fewer queues than half of the CPUs, or name CPUs",
            )
        found.append(left)
    return found


def _transmit(level: str, tree: Tree, device: str) -> Values:
    queues = _queues(tree, device, "tx")
    if len(queues) < 2:
        raise MissingError(
            f"{device} has one queue to send by, so there is nothing to choose",
            next_step="two or more: [network] queues = 2",
        )
    cpus = online(tree)
    if level == "off":
        sets: list[list[int]] = [[] for _ in queues]
    elif level == "own":
        sets = shares(cpus, len(queues))
    else:
        sets = _by_queue("xps", level, cpus, queues, device)
    return {f"{q}/xps_cpus": as_mask(s) for q, s in zip(queues, sets, strict=True)}


def _interrupt(level: str, tree: Tree, device: str) -> Values:
    numbers = interrupts(tree, device)
    if not numbers:
        raise MissingError(
            f"{device} has no interrupts here",
            next_step='name a network card in the factor: device = "eth0"',
        )
    cpus = online(tree)
    if level == "first":
        sets = [cpus[:1] for _ in numbers]
    elif level == "spread":
        sets = [[cpus[n % len(cpus)]] for n in range(len(numbers))]
    else:
        sets = [_here("irq", level, cpus) for _ in numbers]
    return {f"/proc/irq/{n}/smp_affinity": as_mask(s) for n, s in zip(numbers, sets, strict=True)}


_KEYS: Mapping[str, Callable[[str, Tree, str], Values]] = {
    "governor": _governor,
    "rps": _receive,
    "xps": _transmit,
    "irq": _interrupt,
}


def _by_queue(
    key: str, level: str, cpus: list[int], queues: list[str], device: str
) -> list[list[int]]:
    """CPUs named for all queues alike, or for each."""
    parts = level.split("/")
    if len(parts) not in (1, len(queues)):
        raise MissingError(
            f"{key} = {level} is for {len(parts)} queues; {device} has {len(queues)}",
            next_step=f"name one set of CPUs, or {len(queues)} with / between them",
        )
    sets = [_here(key, part, cpus) for part in parts]
    return sets if len(sets) == len(queues) else sets * len(queues)


def _here(key: str, text: str, cpus: list[int]) -> list[int]:
    """CPUs that are named and are there."""
    named = listed(text)
    strange = [cpu for cpu in named if cpu not in cpus]
    if strange:
        raise MissingError(
            f"{key} = {text} names CPU {as_list(strange)}; this machine has {as_list(cpus)}",
            next_step="a mask is right for one number of CPUs only: write it for those here",
        )
    return named


def _queues(tree: Tree, device: str, way: str) -> list[str]:
    """Folders of a device's queues, in order."""
    folder = f"{NET}/{device}/queues"
    names = [n for n in View(tree).names(folder) if re.fullmatch(rf"{way}-\d+", n)]
    if not names:
        raise MissingError(f"{device} has no queues here", next_step="`ip link` lists the devices")
    return [f"{folder}/{n}" for n in sorted(names, key=lambda n: int(n.partition("-")[2]))]


def interrupts(tree: Tree, device: str) -> list[int]:
    """Numbers of a device's message-signalled interrupts; a virtio card's are its parent's."""
    own = tree.place(f"{NET}/{device}/device")
    if not own.exists():
        return []
    own = own.resolve()
    for folder in (own / "msi_irqs", own.parent / "msi_irqs"):
        if folder.is_dir():
            return sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit())
    return []


def _serving(tree: Tree, device: str) -> set[int]:
    """CPUs that really serve a device's interrupts; none of one that has none."""
    found: set[int] = set()
    for number in interrupts(tree, device):
        effective = tree.read(f"/proc/irq/{number}/effective_affinity")
        bits = 0 if effective is None else mask(effective)
        found |= {cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1}
    return found


def pool(page_bytes: int, need_bytes: int, tree: Tree) -> Values:
    """A pool that has so many bytes free for this server alone; MissingError if it cannot be."""
    view = View(tree)
    found = next((p for p in view.pools if p.page_bytes == page_bytes), None)
    if found is None:
        sizes = ", ".join(f"{p.page_bytes >> 20} MiB" for p in view.pools) or "none"
        raise MissingError(
            f"this kernel has no huge pages of {page_bytes >> 20} MiB, but {sizes}",
            next_step="leave that level out, or run the study where they are",
        )
    need = Need(need_bytes, page_bytes)
    why = fits(need, found, view)
    if why:
        raise MissingError(f"the pool cannot grow: {why}", next_step="end what uses the memory")
    return {f"{found.path}/nr_hugepages": str(found.total + missing(need, found))}


def cpus_of(level: str, cpus: list[int]) -> tuple[list[int], list[int]]:
    """CPUs of server and client at a level of "pin"; all of them where it says nothing."""
    if level == "none":
        return cpus, cpus
    if level == "same":
        return cpus[:1], cpus[:1]
    if level == "split":
        if len(cpus) < 2:
            raise MissingError("one CPU cannot be split", next_step='pin = "same"')
        first, second = shares(cpus, 2)
        return first, second
    server, _, client = level.partition("/")
    try:
        return _here("pin", server, cpus), _here("pin", client, cpus) if client else cpus
    except ValueError as error:
        raise InputError(str(error), next_step='write for example "0-3/4-7"') from error


def nodes(tree: Tree) -> dict[int, list[int]]:
    """CPUs by NUMA node."""
    folder = "/sys/devices/system/node"
    return {
        int(name.removeprefix("node")): listed(tree.read(f"{folder}/{name}/cpulist") or "0")
        for name in View(tree).nodes
    }
