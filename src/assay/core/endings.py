"""How a process ended, in words."""

from __future__ import annotations

import signal
from pathlib import Path


def memory_kills() -> int:
    """How many processes the kernel has ended so far because memory ran out, the machine's or that
    of a control group."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def how_it_ended(code: int, kills_before: int) -> str:
    """Of an exit code as Python has it; `kills_before` is `memory_kills` when it was started."""
    if code >= 0:
        return f"it ended with code {code}"
    how = f"it was killed by {signal.Signals(-code).name}"
    if -code == signal.SIGKILL and memory_kills() > kills_before:
        return f"{how}, as the kernel does when memory runs out, and did meanwhile"
    return how
