"""Sets of CPUs as people and the kernel write them: lists ("0-2,5") and masks ("fe")."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from assay.linux.tree import Tree

ONLINE = "/sys/devices/system/cpu/online"
_LIST = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_GROUP = 32
"""CPUs in each group of digits of a mask."""


def online(tree: Tree) -> list[int]:
    """The CPUs that run, in order."""
    return cpu_list(tree.read(ONLINE) or "0")


def cpu_list(text: str) -> list[int]:
    """The CPUs of "0-2,5"."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.strip().isdigit():
            found += range(int(first), int(last or first) + 1)
    return found


def listed(text: str) -> list[int]:
    """The CPUs of "0-2,5", or of "0x27"; ValueError if it is neither."""
    text = text.strip()
    if text.startswith("0x"):
        mask = int(text, 16)
        return [cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1]
    if not _LIST.fullmatch(text):
        raise ValueError(f'{text!r} is no list of CPUs such as "0-2,5", nor a mask such as "0x27"')
    return sorted(set(cpu_list(text)))


def as_list(cpus: Iterable[int]) -> str:
    """ "0-2,5": as short as it can be written; "none" of none."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) or "none"


def as_mask(cpus: Iterable[int]) -> str:
    """ "27", and with a comma after each 32 CPUs: as the kernel takes it."""
    bits = sum(1 << cpu for cpu in set(cpus))
    groups = []
    while bits >> _GROUP:
        groups.append(f"{bits & 0xFFFFFFFF:08x}")
        bits >>= _GROUP
    return ",".join([f"{bits:x}", *reversed(groups)])


def shares(cpus: list[int], parts: int) -> list[list[int]]:
    """The CPUs dealt out in order, to neighbours alike: 0-7 and 8-15 of sixteen in two."""
    ends = [len(cpus) * part // parts for part in range(parts + 1)]
    return [cpus[begin:end] for begin, end in pairwise(ends)]
