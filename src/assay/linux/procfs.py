"""What /proc shows of a running server: its executable, environment and pages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.linux.processes import read, read_folder, tree


def listens(pid: int, port: int) -> bool:
    """Whether a process or one of its descendants listens on a port of TCP."""
    sockets = _sockets(port, str(pid))
    return bool(sockets) and any(not sockets.isdisjoint(_open(member)) for member in tree(pid))


def _sockets(port: int, whose: str = "self") -> set[str]:
    """What listens on a port in a process' network, as processes have it open."""
    tables = read(Path(f"/proc/{whose}/net/tcp")) + read(Path(f"/proc/{whose}/net/tcp6"))
    rows = (line.split() for line in tables.splitlines())
    wanted = f"{port:04X}"
    # Columns: number, local address, remote address, state (0A is LISTEN), ..., inode.
    return {f"socket:[{r[9]}]" for r in rows if len(r) > 9 and r[3] == "0A" and r[1][-4:] == wanted}


def ports(pids: Iterable[int]) -> list[int]:
    """The ports of TCP that some processes listen on, in order."""
    opened: set[str] = set()
    tables = ""
    for pid in pids:
        opened |= _open(pid)
        tables = tables or "".join(read(Path(f"/proc/{pid}/net/{t}")) for t in ("tcp", "tcp6"))
    rows = [r for line in tables.splitlines() if len(r := line.split()) > 9 and r[3] == "0A"]
    return sorted({int(r[1][-4:], 16) for r in rows if f"socket:[{r[9]}]" in opened})


def listener(port: int) -> int | None:
    """The first process of those that listen on a port of TCP; None where that cannot be seen."""
    found = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()]
    sockets = _sockets(port)
    listening = {pid for pid in found if not sockets.isdisjoint(_open(pid))}
    first = [pid for pid in listening if parent(pid) not in listening]
    return first[0] if len(first) == 1 else None


@dataclass(frozen=True)
class Listening:
    """Where a process and its descendants accept connections: ports of TCP, and Unix sockets."""

    ports: tuple[int, ...]
    sockets: tuple[str, ...]


def listening(pid: int) -> Listening:
    """Where it accepts connections; nothing where its descriptors are not ours to see."""
    held = {inode for member in tree(pid) for inode in _open(member)}
    ports = set()
    for table in ("tcp", "tcp6"):
        for row in (line.split() for line in read(Path(f"/proc/{pid}/net/{table}")).splitlines()):
            if len(row) > 9 and row[3] == "0A" and f"socket:[{row[9]}]" in held:
                ports.add(int(row[1].rpartition(":")[2], 16))
    paths = []
    # Columns: number, references, protocol, flags (10000 accepts), type, state, inode, path.
    for row in (line.split() for line in read(Path(f"/proc/{pid}/net/unix")).splitlines()):
        if len(row) > 7 and row[3] == "00010000" and f"socket:[{row[6]}]" in held:
            paths.append(row[7])
    return Listening(tuple(sorted(ports)), tuple(sorted(paths)))


def parent(pid: int) -> int:
    """The process that started it, or has it now; 0 if it is gone."""
    fields = read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _open(pid: int) -> set[str]:
    """What a process has open."""
    found = set()
    for descriptor in read_folder(Path(f"/proc/{pid}/fd")):
        with suppress(OSError):
            found.add(os.readlink(descriptor))
    return found


def maps_file(pid: int, file: Path) -> bool:
    """Whether a process has mapped a file, such as its executable or a library."""
    lines = read(Path(f"/proc/{pid}/maps")).splitlines()
    return str(file.resolve()) in {line.split(maxsplit=5)[-1] for line in lines}


def libraries(pid: int) -> list[str]:
    """The files whose code a process has mapped, beside its executable, in order."""
    rows = (line.split(maxsplit=5) for line in read(Path(f"/proc/{pid}/maps")).splitlines())
    found = {row[5] for row in rows if len(row) > 5 and "x" in row[1]}
    with suppress(OSError):
        found.discard(os.readlink(f"/proc/{pid}/exe"))
    return sorted(path for path in found if Path(path).is_file())


def status(pid: int) -> dict[str, int | bool]:
    """What the kernel shows of a process: its threads by name without numbers ("threads.io_thd_"),
    and `thp_enabled` if it knows."""
    shown: dict[str, int | bool] = {}
    for task in read_folder(Path(f"/proc/{pid}/task")):
        name = f"threads.{read(task / 'comm').strip().rstrip('0123456789')}"
        shown[name] = shown.get(name, 0) + 1
    found = re.search(r"^THP_enabled:\s+(\d)$", read(Path(f"/proc/{pid}/status")), re.MULTILINE)
    return shown | ({"thp_enabled": found[1] == "1"} if found else {})
