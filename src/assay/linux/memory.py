"""How much memory the machine can still give."""

from __future__ import annotations

from pathlib import Path

from assay.linux.processes import read


def available_bytes(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """MemAvailable, in bytes; None where the kernel does not say."""
    for line in read(meminfo).splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return 1024 * int(value.split()[0])
    return None
