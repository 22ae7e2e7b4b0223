"""The control group of a process: what it may have, and how long it was held up.

Both hierarchies are read: cpu.max and cpu.stat of the unified one, cpu.cfs_quota_us of the older.
A limit of a group above counts as well. Source: Linux, admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from assay.core.errors import MissingError
from assay.linux.tree import Tree

ROOT = "/sys/fs/cgroup"
NO_LIMIT = 1 << 60
"""Bytes above which a limit of the older hierarchy is none."""


@dataclass(frozen=True)
class GroupLimits:
    """`cpus`: CPUs that the group may use, `memory`: bytes, None without a limit; `throttled_us`:
    how long its tasks were held up since its start, None where that is not counted."""

    cpus: float | None
    memory: int | None
    throttled_us: int | None


def limits_of(tree: Tree, pid: int) -> GroupLimits | None:
    """The limits of a process' groups; None where its groups cannot be read."""
    text = _read(tree, f"/proc/{pid}/cgroup")
    if text is None:
        return None
    cpus: list[float] = []
    memory: list[int] = []
    throttled: list[int] = []
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for folder in _folders(controllers, path):
            cpus += _cpus(tree, folder)
            memory += _memory(tree, folder)
        for folder in list(_folders(controllers, path))[:1]:
            throttled += _throttled(_read(tree, f"{folder}/cpu.stat") or "")
    return GroupLimits(
        min(cpus, default=None), min(memory, default=None), max(throttled, default=None)
    )


def _folders(controllers: str, path: str) -> Iterator[str]:
    """The group's own folder, then those above it."""
    tops = [f"{ROOT}/{controllers}"] if controllers else [ROOT, f"{ROOT}/unified"]
    for top in tops:
        parts = PurePosixPath(path).parts[1:]
        for depth in range(len(parts), -1, -1):
            yield "/".join((top, *parts[:depth]))


def _cpus(tree: Tree, folder: str) -> Iterator[float]:
    words = (_read(tree, f"{folder}/cpu.max") or "").split()
    if not words:
        words = [
            (_read(tree, f"{folder}/cpu.cfs_{n}_us") or "").strip() for n in ("quota", "period")
        ]
    if len(words) == 2 and all(w.isdigit() for w in words) and int(words[1]):
        yield int(words[0]) / int(words[1])


def _memory(tree: Tree, folder: str) -> Iterator[int]:
    for name in ("memory.max", "memory.limit_in_bytes"):
        text = (_read(tree, f"{folder}/{name}") or "").strip()
        if text.isdigit() and int(text) < NO_LIMIT:
            yield int(text)


def _throttled(stat: str) -> Iterator[int]:
    for line in stat.splitlines():
        name, _, value = line.partition(" ")
        if name == "throttled_usec":
            yield int(value)
        elif name == "throttled_time":
            yield int(value) // 1000


def _read(tree: Tree, path: str) -> str | None:
    try:
        return tree.read(path)
    except MissingError:
        return None
