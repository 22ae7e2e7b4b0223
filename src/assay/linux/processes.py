"""Processes and their files in /proc, which may go at any moment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def tree(pid: int) -> list[int]:
    """A process and all that descend from it."""
    found = [pid]
    for member in found:
        found += children(member)
    return found


def children(pid: int) -> list[int]:
    """Processes that any thread of a process started and that still run."""
    found = []
    for task in read_folder(Path(f"/proc/{pid}/task")):
        found += [int(word) for word in read(task / "children").split()]
    return found


def marked(entry: str) -> list[int]:
    """Processes with an entry in their environment ("NAME=value"), wherever they have gone; not
    those of others, whose environment is not shown."""
    found = []
    for folder in read_folder(Path("/proc")):
        if folder.name.isdigit() and entry in read(folder / "environ").split("\0"):
            found.append(int(folder.name))
    return found


def read(path: Path) -> str:
    """The text of a file of a process; empty if it has gone or is not ours."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def read_folder(path: Path) -> Iterator[Path]:
    """What is in a folder of a process; nothing if it has gone or is not ours."""
    try:
        yield from path.iterdir()
    except OSError:
        return


def identity(pid: int) -> str:
    """A process by its number and its start in ticks since boot ("812:5531"), so that a later one
    with the same number is not it; empty if there is none."""
    fields = read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return f"{pid}:{fields[19]}" if len(fields) > 19 else ""


def is_alive(name: str) -> bool:
    """Whether the process that `identity` named so still runs."""
    number = name.partition(":")[0]
    return number.isdigit() and identity(int(number)) == name


def written_bytes(pid: int) -> dict[int, int]:
    """What a process and each that descends from it have had written to storage so far, by process:
    pages made dirty and writes past the page cache (`write_bytes` of /proc/PID/io). Empty where the
    kernel does not show it to us."""
    found = {}
    for member in tree(pid):
        for line in read(Path(f"/proc/{member}/io")).splitlines():
            name, _, value = line.partition(":")
            if name == "write_bytes":
                found[member] = int(value)
    return found
