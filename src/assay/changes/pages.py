"""Kinds of pages that a server's memory may be in, and how the kernel is told of them.

Each target that can have them says in its own file how it is told: a function from kind to
application, which `host.py` collects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.changes.declaration import Application

PAGE_KINDS = ("4k", "thp", "2m", "1g")
"""Base pages, transparent huge pages, and those of a pool by their size."""

POOLED = {"2m": 2 << 20, "1g": 1 << 30}
"""Kinds that come from a pool, and their bytes."""

THP = "/sys/kernel/mm/transparent_hugepage/enabled"
SHMEM = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
POLICIES = frozenset({THP, SHMEM})
"""Where the kernel is told which memory may be in transparent huge pages."""

PagesOf = Callable[[str], Application]


def by_policy(kind: str, settings: dict[str, Any], *keys: str) -> Application:
    """A kind by settings of a target, and by the kernel's policy: transparent for all, or none."""
    policy = "always" if kind == "thp" else "never"
    return Application(settings, host=dict.fromkeys((THP, *keys), policy))


def switch(kind: str) -> str:
    """Whether a target is to take pages of a pool: "on" or "off"."""
    return "on" if kind in POOLED else "off"
