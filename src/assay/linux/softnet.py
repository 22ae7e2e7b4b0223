"""Packets and network interrupts by CPU: /proc/net/softnet_stat and /proc/softirqs."""

from __future__ import annotations

from pathlib import Path

SOFTNET = Path("/proc/net/softnet_stat")


SOFTIRQS = Path("/proc/softirqs")


COLUMNS = {"processed": 0, "dropped": 1, "time_squeeze": 2, "received_rps": 9, "flow_limit": 10}
"""Of softnet_stat, a line a CPU, in hexadecimal (net/core/net-procfs.c); column 12 is the CPU."""


CPU_COLUMN = 12


RAISED = ("NET_RX", "NET_TX")


def packets() -> dict[str, float]:
    """Counters of this machine since its start, by CPU: `softnet_received_rps.cpu0`, ..."""
    return _softnet(SOFTNET.read_text()) | _softirqs(SOFTIRQS.read_text())


def _softnet(text: str) -> dict[str, float]:
    found = {}
    for line, row in enumerate(text.splitlines()):
        words = [int(word, 16) for word in row.split()]
        cpu = words[CPU_COLUMN] if len(words) > CPU_COLUMN else line
        for name, column in COLUMNS.items():
            if column < len(words):
                found[f"softnet_{name}.cpu{cpu}"] = float(words[column])
    return found


def _softirqs(text: str) -> dict[str, float]:
    head, *rows = text.splitlines()
    cpus = head.split()
    found: dict[str, float] = {}
    for row in rows:
        name, _, counts = row.strip().partition(":")
        if name in RAISED:
            pairs = zip(cpus, counts.split(), strict=False)
            found |= {f"softirq_{name.lower()}.{cpu.lower()}": float(n) for cpu, n in pairs}
    return found
