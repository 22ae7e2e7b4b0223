"""A plan: every value that is to be written, what it was, and how it is brought back.

A plan is data. It is made by looking only, is shown, saved and sent to others, and is
applied only where everything still is as it was when the plan was made.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.core.errors import InputError
from assay.linux.tree import Tree

Kind = Literal["value", "pool", "file"]
Compare = Literal["exact", "choice", "mask"]

OURS = "# assay"
"""How a file begins that Assay wrote."""

FOLDERS = (
    "/etc/sysctl.d/",
    "/etc/tmpfiles.d/",
    "/etc/systemd/system/",
    "/etc/security/limits.d/",
    "/etc/default/grub.d/",
    "/etc/udev/rules.d/",
)
"""Where Assay's files may be."""

KERNEL = ("/proc/sys/", "/proc/irq/", "/sys/")
"""Where the values of the kernel are."""

PROGRAMS = ("/core_pattern", "/modprobe", "/hotplug", "/uevent_helper", "/poweroff_cmd")
"""Values that name a program, which the kernel then runs as root."""


class PlanPart(BaseModel):
    """The base of what a plan is made of: unknown fields are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Write(PlanPart):
    """One value for one file."""

    path: str
    value: str


class Item(PlanPart):
    """One change: a kernel's value, a pool of huge pages, or a file of our own.

    `old` is what stood there, raw (None: no such file); `watch` are others that the write
    may change, raw as well; `restore` are the writes that bring all of them back.
    `effective` is a file that says what is really in force, if another one does.
    """

    kind: Kind
    path: str
    old: str | None
    new: str
    compare: Compare = "exact"
    watch: dict[str, str] = {}
    restore: list[Write] = []
    effective: str | None = None
    group: str = ""
    reason: str = ""
    rule: str = ""


class HostPlan(PlanPart):
    """Items in the order in which they are written."""

    id: str
    boot_id: str
    kernel: str
    items: list[Item]

    @classmethod
    def of(cls, items: list[Item], tree: Tree, name: str | None = None) -> HostPlan:
        """A plan for the host as it is now."""
        boot, kernel = identity(tree)
        return cls(id=name or new_id(), boot_id=boot, kernel=kernel, items=items)

    @classmethod
    def load(cls, path: Path) -> HostPlan:
        """A saved plan; InputError says which field is wrong."""
        try:
            return cls.parse(path.read_text())
        except OSError as error:
            raise InputError(
                f"{path}: {error.strerror}", next_step="`assay host plan --out FILE` makes one"
            ) from error
        except ValueError as error:
            raise InputError(f"{path}: {error}", next_step="make the plan anew") from error

    @classmethod
    def parse(cls, text: str) -> HostPlan:
        """A plan out of its JSON; ValueError in one line if it is none."""
        try:
            plan = cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ValueError(f"{where or 'plan'}: {first['msg']}") from error
        if not re.fullmatch(r"[0-9A-Za-z-]{1,64}", plan.id):
            raise ValueError(f"id: {plan.id!r} is no name of a plan")
        for item in plan.items:
            if item.kind == "file":
                check_own(item.path, item.new)
            check_kernel(item)
        return plan

    def text(self) -> str:
        """Its JSON."""
        return json.dumps(self.model_dump(), indent=1) + "\n"


def new_id() -> str:
    """A name for a plan, which no other has; later ones sort after it."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


def check_own(path: str, text: str) -> None:
    """ValueError unless it is a file that may be ours: its place, its name, its first line."""
    name = path.rpartition("/")[2]
    if ".." in path or not path.startswith(FOLDERS) or "assay" not in name:
        raise ValueError(f"{path} is not a place for a file of Assay's")
    if not text.startswith(OURS):
        raise ValueError(f"{path}: a file of Assay's begins with {OURS!r}")


def check_kernel(item: Item) -> None:
    """ValueError unless all that an item writes, or brings back, is a value of the kernel; only the
    path of a file of ours is none."""
    paths = [*item.watch, *(write.path for write in item.restore)]
    paths += [item.path] if item.kind != "file" else []
    paths += [item.effective] if item.effective is not None else []
    for path in paths:
        if not path.startswith(KERNEL) or ".." in path or path.endswith(PROGRAMS):
            raise ValueError(f"{path} is no value of the kernel that a plan may write")


def identity(tree: Tree) -> tuple[str, str]:
    """The boot and the kernel."""
    boot = tree.read("/proc/sys/kernel/random/boot_id") or ""
    kernel = tree.read("/proc/sys/kernel/osrelease") or ""
    return boot.strip(), kernel.strip()


def is_same(compare: Compare, one: str, other: str) -> bool:
    """Whether two raw values mean the same."""
    return _meaning(compare, one) == _meaning(compare, other)


def choice(raw: str) -> str:
    """The word in brackets of "always [madvise] never"; the whole where none is."""
    found = re.search(r"\[([^\]]+)\]", raw)
    return found[1] if found else raw.strip()


def mask(raw: str) -> int:
    """The CPUs of "0000,000000fe" as bits; ValueError if it is no mask."""
    groups = raw.strip().split(",")
    return int("".join(g.rjust(8, "0") for g in groups) or "0", 16)


def _meaning(compare: Compare, raw: str) -> object:
    if compare == "choice":
        return choice(raw)
    if compare == "mask":
        try:
            return mask(raw)
        except ValueError:
            return raw.strip()
    return " ".join(raw.split())


def current(tree: Tree, item: Item) -> Mapping[str, str | None]:
    """The item's files as they are now."""
    return {path: tree.read(path) for path in (item.path, *item.watch)}
