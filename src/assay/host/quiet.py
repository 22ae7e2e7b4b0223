"""Waiting for a quiet machine: used before a block that was void is run again.

Nothing of ours runs while this looks, so all busy time belongs to others.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

STAT = Path("/proc/stat")


def wait_until_quiet(limit_cpus: float, patience_s: float, sample_s: float = 0.5) -> bool:
    """Wait until other processes take less than `limit_cpus`; False when patience ran out."""
    end = time.monotonic() + patience_s
    while busy_cpus(sample_s) > limit_cpus:
        if time.monotonic() >= end:
            return False
    return True


def busy_cpus(over_s: float) -> float:
    """CPUs' worth of work on the whole machine over the next `over_s` seconds."""
    before = _busy_ticks()
    time.sleep(over_s)
    return (_busy_ticks() - before) / os.sysconf("SC_CLK_TCK") / over_s


def _busy_ticks() -> int:
    """user, nice, system, irq, softirq and steal of all CPUs (proc(5))."""
    fields = [int(v) for v in STAT.read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields[:8]
    return user + nice + system + irq + softirq + steal
