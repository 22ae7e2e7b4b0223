"""How often nginx found a lock taken: the kernel counts a probe of the slow path.

A round of waiting begins where a lock function looks whether there is more than one
CPU (`ngx_ncpu`). That address is found by disassembling the function, so the file must
have symbols: Assay's own builds have, a distribution's have not. After giving up the
CPU a waiter begins another round, which counts again. Nothing is counted, and nothing
slowed, where no lock is taken; a round is slowed by a trap into the kernel,
in every arm alike. Where the kernel refuses probes, there is no such counter. Taking
probes away takes the kernel some 80 ms for each function and CPU.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

ONLINE = Path("/sys/devices/system/cpu/online")
UPROBE_TYPE = Path("/sys/bus/event_source/devices/uprobe/type")
CALLS = {"x86_64": 298, "aarch64": 241}
"""The number of perf_event_open."""

CLOSE_ON_EXEC = 8
ATTRIBUTES = 112
PROGRAM_HEADER_LOAD = 1


class Probes:
    """Counts from now on, in all that run this file. `refused` says why it cannot."""

    def __init__(self, binary: Path, functions: Sequence[str]) -> None:
        self.refused = ""
        self._open: dict[str, list[int]] = {}
        try:
            for function, offset in slow_paths(binary, functions).items():
                self._open[function] = []
                for cpu in _online():
                    self._open[function].append(_probe(binary, offset, cpu))
            if not self._open:
                self.refused = f"{binary.name} has no symbols, or objdump is not here"
        except OSError as error:
            self.close()
            self.refused = f"the kernel refuses probes: {os.strerror(error.errno or 0)}"

    def counts(self) -> dict[str, float]:
        """`contended`, by function; empty where it is not counted."""
        return {
            f"contended.{function}": float(sum(_value(fd) for fd in probes))
            for function, probes in self._open.items()
        }

    def close(self) -> None:
        """Take the probes away. Safe to call twice."""
        for fd in (fd for probes in self._open.values() for fd in probes):
            os.close(fd)
        self._open = {}


def slow_paths(binary: Path, functions: Sequence[str]) -> dict[str, int]:
    """Where each of these lock functions begins to wait, as offsets in the file."""
    return dict(_slow_paths(binary, binary.stat().st_mtime_ns, tuple(functions)))


@lru_cache(maxsize=32)
def _slow_paths(binary: Path, modified_ns: int, functions: tuple[str, ...]) -> dict[str, int]:
    """The same, looked up once for each file: disassembling takes a while."""
    objdump = shutil.which("objdump")
    if objdump is None:
        return {}
    found = {}
    for function in functions:
        done = subprocess.run(
            [objdump, "-d", "--no-show-raw-insn", f"--disassemble={function}", str(binary)],
            capture_output=True,
            text=True,
            errors="replace",
        )
        looks = re.findall(r"(?m)^\s*([0-9a-f]+):.*<ngx_ncpu>", done.stdout)
        if len(looks) == 1:
            found[function] = int(looks[0], 16)
    segments = _segments(binary.read_bytes()) if found else []
    return {f: _in_file(address, segments) for f, address in found.items()}


def _segments(elf: bytes) -> list[tuple[int, int, int]]:
    """Loaded segments of a 64-bit ELF file: address, offset and bytes in the file."""
    (begin,) = struct.unpack_from("<Q", elf, 32)
    size, number = struct.unpack_from("<HH", elf, 54)
    found = []
    for index in range(number):
        kind, _, offset, address, _, length = struct.unpack_from(
            "<IIQQQQ", elf, begin + index * size
        )
        if kind == PROGRAM_HEADER_LOAD:
            found.append((address, offset, length))
    return found


def _in_file(address: int, segments: Iterable[tuple[int, int, int]]) -> int:
    return next(o + address - a for a, o, length in segments if a <= address < a + length)


def _online() -> list[int]:
    """CPUs that are on."""
    found: list[int] = []
    for part in ONLINE.read_text().strip().split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _probe(binary: Path, offset: int, cpu: int) -> int:
    """A counter of passes over one place of a file on one CPU; OSError if it is refused.

    One of a process would be switched in and out with it, at every wait of the server.
    """
    path = ctypes.create_string_buffer(os.fsencode(binary))
    attributes = struct.pack(
        "=IIQQQQQIIQQ",
        int(UPROBE_TYPE.read_text()),
        ATTRIBUTES,
        0,  # config: a probe, not one of the return
        0,
        0,
        0,
        0,  # counting from the start
        0,
        0,
        ctypes.addressof(path),
        offset,
    ).ljust(ATTRIBUTES, b"\0")
    number = CALLS.get(os.uname().machine)
    if number is None or sys.byteorder != "little":
        raise OSError(38, "no probes on this architecture")
    libc = ctypes.CDLL(None, use_errno=True)
    fd: int = libc.syscall(
        ctypes.c_long(number),
        ctypes.create_string_buffer(attributes, len(attributes)),
        ctypes.c_int(-1),
        ctypes.c_int(cpu),
        ctypes.c_int(-1),
        ctypes.c_ulong(CLOSE_ON_EXEC),
    )
    if fd < 0:
        raise OSError(ctypes.get_errno(), "perf_event_open")
    return fd


def _value(fd: int) -> int:
    with suppress(OSError):
        (value,) = struct.unpack("<Q", os.read(fd, 8))
        return int(value)
    return 0
