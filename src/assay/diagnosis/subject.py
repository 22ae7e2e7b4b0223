"""Which server is meant: a process by its number or its name, or the address it answers at."""

from __future__ import annotations

import os
from pathlib import Path

from assay.core.address import ServerAddress, parse_url
from assay.core.errors import InputError, MissingError
from assay.diagnosis.records import ExaminedServer
from assay.linux.processes import read, read_folder, tree
from assay.linux.procfs import listener, parent
from assay.targets import TARGETS
from assay.targets.servers.framework.adapter import Adapter
from assay.targets.servers.framework.attachment import ATTACH
from assay.targets.servers.framework.target import ServerTarget

LOCAL = ("", "localhost", "::1")


def adapter_of(kind: str) -> Adapter | None:
    """What Assay knows of a kind of server; None if it is none that clients connect to."""
    target = TARGETS.get(kind)
    return target.adapter if isinstance(target, ServerTarget) else None


def find_subject(who: str, url: str = "") -> ExaminedServer:
    """The server with this PID or name, or at `url` where `who` is empty.

    InputError if there is no such process, or several that do not belong together, or the address
    is none or holds a password; MissingError
    if the address is on another machine, or its process cannot be seen.
    """
    if not who and not url:
        raise InputError("which server?", next_step="give its PID or its name, or --attach URL")
    address = _address(url) if url else None
    pid = _at(address) if address and not who else _named(who)
    if not Path(f"/proc/{pid}").exists():
        raise InputError(f"there is no process {pid}", next_step="see `ps -e`")
    return _subject(pid, url)


def _address(url: str) -> ServerAddress:
    """Without a password, as whoever reads the diagnosis would read it too."""
    try:
        return parse_url(ATTACH["attach"].read(url), {})
    except ValueError as error:
        message, _, remedy = str(error).partition(": ")
        raise InputError(f"--attach: {message}", next_step=remedy) from error


def _named(who: str) -> int:
    if who.isdigit():
        return int(who)
    named = {pid for pid in _processes() if who in (_comm(pid), _exe(pid)) or _kind(pid) == who}
    named.discard(os.getpid())
    first = sorted(pid for pid in named if parent(pid) not in named)
    if not first:
        raise InputError(f"no process is called {who}", next_step="see `ps -e`, or give its PID")
    if len(first) > 1:
        listed = ", ".join(map(str, first[:8]))
        raise InputError(f"{len(first)} servers are called {who}", next_step=f"give one: {listed}")
    return first[0]


def _at(address: ServerAddress) -> int:
    if address.socket is None and address.host not in LOCAL and not address.host.startswith("127."):
        raise MissingError(
            f"{address} is on another machine, and doctor looks at processes",
            next_step="run it there",
        )
    pid = None if address.socket else listener(address.port)
    if pid is None:
        raise MissingError(
            f"the process behind {address} cannot be seen",
            next_step="give its PID before --attach, or run as root",
        )
    return pid


def _subject(pid: int, url: str) -> ExaminedServer:
    members = tree(pid)
    threads = sum(1 for m in members for _ in read_folder(Path(f"/proc/{m}/task")))
    try:
        executable = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        executable = ""
    return ExaminedServer(pid, _comm(pid), _kind(pid), executable, "", len(members), threads, url)


def _kind(pid: int) -> str:
    """The target that a process is of, by its name or its executable's."""
    names = {_comm(pid), _exe(pid)}
    for kind in TARGETS:
        adapter = adapter_of(kind)
        if adapter is not None and adapter.programs and adapter.programs[0].name in names:
            return kind
    return ""


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _comm(pid: int) -> str:
    return read(Path(f"/proc/{pid}/comm")).strip()


def _exe(pid: int) -> str:
    try:
        return Path(os.readlink(f"/proc/{pid}/exe")).name
    except OSError:
        return ""
