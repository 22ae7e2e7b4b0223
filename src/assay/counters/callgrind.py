"""Instructions counted by callgrind, for machines without counters of the processor.

Valgrind runs a program on a processor of its own making and counts what it executes: the same
number each time, where the program does the same. It is a count of instructions in user space and
nothing else: no time, no cache and no TLB of this machine can be read from it, and everything
takes tens of times as long.

Source: valgrind manual, "Callgrind"; its "Format specification".
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import MissingError, RunError

LABEL = (
    "instructions of user space, counted by callgrind (no time, and no counter of the processor)"
)
MISSING = "valgrind is not installed"

_PARTS = re.compile(r"^totals:\s*(\d+)", re.MULTILINE)
_SUMMARIES = re.compile(r"^summary:\s*(\d+)", re.MULTILINE)
_EVENTS = re.compile(r"^events:\s*Ir\b", re.MULTILINE)


@dataclass(frozen=True)
class Instructions:
    """How many, and what they are."""

    count: int
    label: str = LABEL


def find() -> Path:
    """The program. MissingError where there is none."""
    found = shutil.which("valgrind")
    if found is None:
        raise MissingError(MISSING, next_step="install the package valgrind")
    return Path(found)


def count(command: Sequence[str], patience_s: float = 600.0) -> Instructions:
    """The instructions of a program from its start to its end, its children's not included.

    MissingError without valgrind, RunError if the program fails or takes too long.
    """
    with tempfile.TemporaryDirectory(prefix="assay-callgrind-") as folder:
        out = Path(folder) / "out"
        program = [str(find()), "--tool=callgrind", f"--callgrind-out-file={out}", "--quiet"]
        try:
            done = subprocess.run(
                [*program, "--", *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=patience_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise RunError(
                f"{command[0]} took longer than {patience_s:g} s under valgrind"
            ) from error
        if done.returncode or not out.exists():
            said = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise RunError(f"{command[0]} failed under valgrind ({done.returncode}): {said}")
        return Instructions(read(out.read_text("utf-8", "replace")))


def read(text: str) -> int:
    """The number of instructions in a callgrind file. RunError if it holds none."""
    # `summary` stands before a part's lines and `totals` after them; a file may have several parts.
    parts = _PARTS.findall(text) or _SUMMARIES.findall(text)
    if not parts or not _EVENTS.search(text):
        raise RunError("callgrind's file has no count of instructions (Ir)")
    return sum(int(part) for part in parts)
