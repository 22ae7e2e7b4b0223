"""A folder that stands for a host, with what the kernel would show of it."""

from __future__ import annotations

from pathlib import Path

from assay.host.transaction import HostPlan, HostTree, Item, file_item, tree_at, value_item

FILES = {
    "/proc/sys/kernel/random/boot_id": "4d0f6f5e-0000-4000-8000-000000000001\n",
    "/proc/sys/kernel/osrelease": "6.1.0-test\n",
    "/proc/meminfo": "MemTotal: 16000000 kB\nHugepagesize:       2048 kB\n",
    "/proc/sys/vm/nr_hugepages": "4\n",
    "/proc/sys/vm/swappiness": "60\n",
    "/proc/sys/vm/dirty_bytes": "0\n",
    "/proc/sys/vm/dirty_ratio": "20\n",
    "/proc/sys/vm/dirty_background_bytes": "1048576\n",
    "/proc/sys/vm/dirty_background_ratio": "0\n",
    "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "/sys/devices/system/cpu/possible": "0-3\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never\n",
    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "4\n",
    "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "4\n",
    "/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages": "0\n",
    "/sys/class/net/eth0/queues/rx-0/rps_cpus": "0\n",
    "/proc/irq/24/smp_affinity": "f\n",
    "/proc/irq/24/effective_affinity": "1\n",
    "/etc/sysctl.d/README": "fragments\n",
}

VALUES = {
    "vm.swappiness": "10",
    "vm.dirty_bytes": "268435456",
    "vm.dirty_background_ratio": "5",
    "net.ipv4.tcp_rmem": "4096 131072 16777216",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always",
    "/sys/kernel/mm/transparent_hugepage/defrag": "never",
    "vm.nr_hugepages": "64",
    "/sys/class/net/eth0/queues/rx-0/rps_cpus": "e",
}

FRAGMENT = "/etc/sysctl.d/60-assay-test.conf"


def make(folder: Path) -> HostTree:
    """The folder filled, as a tree."""
    for path, text in FILES.items():
        place = folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tree_at(folder)


def items(tree: HostTree) -> list[Item]:
    """Nine changes: each kind and each group."""
    found = [value_item(tree, name, value) for name, value in VALUES.items()]
    found.append(file_item(tree, FRAGMENT, "# assay test\nvm.swappiness = 10\n"))
    return [item for item in found if item is not None]


def plan(tree: HostTree) -> HostPlan:
    """All of them."""
    return HostPlan.of(items(tree), tree)


def shown(tree: HostTree) -> dict[str, str]:
    """Every file of the host but those of Assay's journals."""
    return {
        f"/{place.relative_to(tree.root)}": place.read_text()
        for place in sorted(tree.root.rglob("*"))
        if place.is_file() and not place.is_relative_to(tree.root / "var")
    }  # fmt: skip
