"""H16-H19: which CPUs serve the network."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.host.rules.finding import HostFinding, HostRule
from assay.host.view import NET, View

SCALING = "Linux, networking/scaling.rst"


def _interrupts(view: View) -> dict[str, dict[int, int]]:
    """By interface its interrupts: how often, by CPU."""
    lines = (view.read("/proc/interrupts") or "").splitlines()
    if not lines:
        return {}
    cpus = [int(word.removeprefix("CPU")) for word in lines[0].split()]
    found: dict[str, dict[int, int]] = {}
    for line in lines[1:]:
        number, _, rest = line.strip().partition(":")
        words = rest.split()
        name = next((n for n in view.queues if n in line or _is_of(view, n, number)), None)
        if name is None or not number.isdigit():
            continue
        counts = found.setdefault(name, dict.fromkeys(cpus, 0))
        for cpu, word in zip(cpus, words, strict=False):
            if word.isdigit():
                counts[cpu] += int(word)
    return found


def _is_of(view: View, interface: str, number: str) -> bool:
    folders = (f"{NET}/{interface}/device/msi_irqs", f"{NET}/{interface}/device/../msi_irqs")
    return number.isdigit() and number in view.names(folders[0])


def _one_cpu(view: View) -> Iterator[HostFinding]:
    for name, counts in _interrupts(view).items():
        total, most = sum(counts.values()), max(counts, key=lambda c: counts[c])
        if view.cpus > 1 and len(view.queues[name]) > 1 and total > 1000:
            share = counts[most] / total
            if share > max(0.5, 1.5 / len(view.queues[name])):
                yield HostFinding(
                    "H16",
                    "S2",
                    f"{share:.0%} of {name}'s interrupts are served by CPU {most}",
                    "one CPU is the limit of all its queues",
                    SCALING,
                    "one interrupt for each core of its node",
                )


def _rps(view: View) -> Iterator[HostFinding]:
    for name, queues in view.queues.items():
        for queue in queues:
            path = f"{NET}/{name}/queues/{queue}/rps_cpus"
            bits = view.cpus_of(path)
            if bits is None:
                continue
            if bits and len(queues) >= view.cpus:
                yield HostFinding(
                    "H18",
                    "S3",
                    f"{path} is {bits:x}, though there is a queue for each of {view.cpus} CPUs",
                    "packets take a second trip to another CPU for nothing",
                    SCALING,
                    "off",
                    ((path, "0"),),
                )
            elif bits and bits & (bits - 1) == 0 and view.cpus > 1:
                yield HostFinding(
                    "H18",
                    "S2",
                    f"{path} is {bits:x}: all its packets go to one CPU of {view.cpus}",
                    "a mask copied from a machine of another size, or written for a test",
                    SCALING,
                    "all CPUs of its node, or none",
                    ((path, f"{(1 << view.cpus) - 1:x}"),),
                )
            elif not bits and len(queues) == 1 and view.cpus >= 4:
                yield HostFinding(
                    "H18",
                    "S3",
                    f"{name} has one queue for {view.cpus} CPUs, and {path} is 0",
                    "one CPU does all the work of the network",
                    SCALING,
                    "try it as a study: it moves work, and may hurt",
                    ((path, f"{(1 << view.cpus) - 2:x}"),),
                )


def _balanced_by_two(view: View) -> Iterator[HostFinding]:
    daemon = next(
        (p for p in view.names("/proc") if p.isdigit() and _name(view, p) == "irqbalance"), None
    )
    if daemon is None:
        return
    everything = (1 << view.cpus) - 1
    pinned = []
    for number in view.names("/proc/irq"):
        bits = view.cpus_of(f"/proc/irq/{number}/smp_affinity")
        if number.isdigit() and bits not in (None, everything, 0):
            pinned.append(number)
    if pinned:
        yield HostFinding(
            "H17",
            "S2",
            f"irqbalance runs ({daemon}), and interrupts {', '.join(pinned[:8])} have masks of "
            "their own",
            "it may move them again at any time",
            SCALING,
            "ban those interrupts from it (--banirq, or a policy script) rather than stopping it",
        )


def _name(view: View, pid: str) -> str:
    return view.read(f"/proc/{pid}/comm") or ""


def _xps(view: View) -> Iterator[HostFinding]:
    if len(view.nodes) < 2:
        return
    for name in view.queues:
        queues = [q for q in view.names(f"{NET}/{name}/queues") if q.startswith("tx-")]
        unset = [q for q in queues if not view.cpus_of(f"{NET}/{name}/queues/{q}/xps_cpus")]
        if unset and len(queues) < view.cpus:
            yield HostFinding(
                "H19",
                "S3",
                f"{name}: {len(unset)} of {len(queues)} queues to send have no CPUs of their own",
                "CPUs of different nodes share a queue and its lock",
                SCALING,
                "for each queue the CPUs of one node",
            )


def _no_queues(view: View) -> str | None:
    return None if any(view.queues.values()) else "no network interface but loopback"


def _no_interrupts(view: View) -> str | None:
    is_there = re.search(r"CPU0", view.read("/proc/interrupts") or "")
    return _no_queues(view) if is_there else "interrupts are not shown here"


RULES = (
    HostRule("H16", "interrupts on one CPU", SCALING, _one_cpu, _no_interrupts),
    HostRule("H17", "interrupts balanced by two", SCALING, _balanced_by_two),
    HostRule("H18", "receive steering masks", SCALING, _rps, _no_queues),
    HostRule(
        "H19",
        "transmit steering",
        SCALING,
        _xps,
        lambda view: None if len(view.nodes) > 1 else "one NUMA node",
    ),
)
