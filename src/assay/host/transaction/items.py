"""What a value of a path becomes in a plan: how it is compared, and what changes with it.

Values hang together: writing `vm.dirty_bytes` clears `vm.dirty_ratio`, and writing the
0 that it was before is refused, so the one of the two that counted is what is written
back. A governor may change the energy preference. So an item knows its neighbours.
"""

from __future__ import annotations

import re

from assay.core.errors import InputError, MissingError
from assay.host.transaction.plan import OURS, Compare, Item, Write, check_own, choice, is_same
from assay.linux.tree import Tree

_DIRTY = re.compile(r"/proc/sys/vm/(dirty|dirty_background)_(bytes|ratio)$")
_GOVERNOR = re.compile(r"(/sys/devices/system/cpu/.*cpufreq)/scaling_governor$")
_POOL = re.compile(r"/sys/.*/hugepages-\d+kB/nr_hugepages$")
_MASK = re.compile(r"/(rps_cpus|xps_cpus|smp_affinity|default_smp_affinity)$")
_CHOICE = re.compile(r"/transparent_hugepage/.*(enabled|defrag|shmem_enabled)$")

DEFAULT_POOL = "/proc/sys/vm/nr_hugepages"


def sysctl(name: str) -> str:
    """The path of a key such as "vm.swappiness"; a path stays what it is."""
    if name.startswith("/"):
        return name
    if not re.fullmatch(r"[a-z0-9_-]+(\.[A-Za-z0-9_/-]+)+", name) or ".." in name:
        raise InputError(
            f"{name} is neither a path nor a key of sysctl",
            next_step="write vm.swappiness=10 or /sys/.../rps_cpus=3",
        )
    return "/proc/sys/" + name.replace(".", "/")


def value_item(tree: Tree, name: str, new: str, *, reason: str = "", rule: str = "") -> Item | None:
    """The item that gives a path or key a value; None where it has it already.

    MissingError if there is no such file: nothing is created under /proc or /sys.
    """
    item = _found(tree, name, new)
    item = item.model_copy(update={"reason": reason, "rule": rule})
    return None if _has_it(item) else item


def path_of(tree: Tree, name: str) -> str:
    """The file of a path or key of sysctl; the pool of the default size among all pools."""
    path = sysctl(name)
    return _default_pool(tree) if path == DEFAULT_POOL else path


def _found(tree: Tree, name: str, new: str) -> Item:
    path = path_of(tree, name)
    if not path.startswith(("/proc/", "/sys/")):
        raise InputError(f"{path} is no setting of the kernel", next_step="see /proc/sys and /sys")
    old = tree.read(path)
    if old is None:
        raise MissingError(f"{path} is not here", next_step="this kernel or machine has no such")
    return _item(tree, path, old, new)


def has_value(tree: Tree, name: str, value: str) -> tuple[str, bool]:
    """What a path or key holds, in one line, and whether that means the value."""
    item = _found(tree, name, value)
    assert item.old is not None, "it was found"
    value_now = choice(item.old) if item.compare == "choice" else " ".join(item.old.split())
    return value_now, _has_it(item)


def file_item(tree: Tree, path: str, text: str, *, reason: str = "", rule: str = "") -> Item | None:
    """The item that puts a file of ours in place, so that a setting outlives a boot."""
    check_own(path, text)
    old = tree.read(path)
    if old == text:
        return None
    if old is not None and not old.startswith(OURS):
        raise InputError(f"{path} is there and is not Assay's", next_step="move it away")
    return Item(kind="file", path=path, old=old, new=text, reason=reason, rule=rule)


def _item(tree: Tree, path: str, old: str, new: str) -> Item:
    if dirty := _DIRTY.match(path):
        return _dirty(tree, path, old, new, dirty[1], dirty[2])
    if governor := _GOVERNOR.match(path):
        return _governor(tree, path, old, new, governor[1])
    if _POOL.search(path):
        if not new.isdigit():
            raise InputError(f"{path}={new}: a number of pages", next_step="such as 512")
        return Item(kind="pool", path=path, old=old, new=new, group="huge pages")
    compare: Compare = "exact"
    effective = None
    if _MASK.search(path):
        compare = "mask"
        if path.endswith("/smp_affinity") and path.startswith("/proc/irq/"):
            effective = path.replace("smp_affinity", "effective_affinity")
    elif _CHOICE.search(path):
        compare = "choice"
    back = choice(old) if compare == "choice" else old.strip()
    return Item(
        kind="value",
        path=path,
        old=old,
        new=new,
        compare=compare,
        restore=[Write(path=path, value=back)],
        effective=effective,
    )


def _dirty(tree: Tree, path: str, old: str, new: str, family: str, member: str) -> Item:
    other_member = {"bytes": "ratio", "ratio": "bytes"}[member]
    other = f"/proc/sys/vm/{family}_{other_member}"
    neighbour = tree.read(other) or "0"
    counted = (path, old) if old.strip() != "0" else (other, neighbour)
    return Item(
        kind="value",
        path=path,
        old=old,
        new=new,
        watch={other: neighbour},
        restore=[Write(path=counted[0], value=counted[1].strip())],
        group=family,
    )


def _governor(tree: Tree, path: str, old: str, new: str, folder: str) -> Item:
    restore = [Write(path=path, value=old.strip())]
    preference = f"{folder}/energy_performance_preference"
    neighbour = tree.read(preference)
    if neighbour is not None:
        restore.append(Write(path=preference, value=neighbour.strip()))
    return Item(
        kind="value",
        path=path,
        old=old,
        new=new,
        watch={} if neighbour is None else {preference: neighbour},
        restore=restore,
        group="governor",
    )


def _default_pool(tree: Tree) -> str:
    """The folder of the default size, which holds the pool's counters."""
    found = re.search(r"Hugepagesize:\s+(\d+) kB", tree.read("/proc/meminfo") or "")
    if found is None:
        raise MissingError("this kernel has no huge pages", next_step="see CONFIG_HUGETLBFS")
    return f"/sys/kernel/mm/hugepages/hugepages-{found[1]}kB/nr_hugepages"


def _has_it(item: Item) -> bool:
    return item.old is not None and is_same(item.compare, item.old, item.new)
