"""Which rights of root this process has: the capabilities of capabilities(7)."""

from __future__ import annotations

import re
from pathlib import Path

NUMBERS = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
    "CAP_NET_ADMIN": 12,
    "CAP_SYS_ADMIN": 21,
}


def lacking(*names: str) -> list[str]:
    """Those of the named capabilities that this process has not in force."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"(?m)^CapEff:\s+([0-9a-f]+)$", status)
    has = int(found[1], 16) if found else 0
    return [name for name in names if not has >> NUMBERS[name] & 1]
