"""Work of others on this machine, and waiting until it is over.

Nothing of ours runs while this looks, so all busy time belongs to others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

STAT = Path("/proc/stat")


Waiting = Callable[[float, float, float], None]
"""Told while a run waits: CPUs that others take, seconds waited so far, seconds at most."""


def wait_until_quiet(
    limit_cpus: float, patience_s: float, waiting: Waiting, sample_s: float = 0.5
) -> bool:
    """Wait until other processes take less than `limit_cpus`; False when patience ran out.

    `waiting` is called after each sample that was too busy, and never on a quiet machine.
    """
    began = time.monotonic()
    while (busy := busy_cpus(sample_s)) > limit_cpus:
        spent_s = time.monotonic() - began
        if spent_s >= patience_s:
            return False
        waiting(busy, spent_s, patience_s)
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
