"""Data of servers: loaded once, kept in the cache by what they depend on, copied for each run."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay import native
from assay.core.cache import no_room
from assay.core.digest import canonical, digest
from assay.core.errors import MissingError, RunError

FULL_BYTES = 16 << 20
"""With less a disk is full for any server: files grow by so much at once."""


def key(*parts: Any) -> str:
    """The name of data that depend on these parts and on nothing else."""
    return digest(canonical(list(parts)))[:32]


def load_data(verb: str, request: Mapping[str, Any], log: Path) -> native.DataState:
    """Have `assayer` load data and look at them; RunError if they are not as they should be."""
    with log.open("ab") as file:
        session = native.Session(verb, request, log=file, result_type=native.DataState)
        try:
            *_, state = session.messages()
        except MissingError as error:
            raise RunError(f"data were not loaded: {error.message}") from error
        finally:
            session.stop()
    if not isinstance(state, native.DataState) or state.faults:
        faults = getattr(state, "faults", None) or ["no result"]
        raise RunError(f"data were not loaded as they should: {'; '.join(faults)}")
    return state


def bytes_on_disk(folder: Path) -> int:
    """What the files below a folder take of the disk; a file that goes meanwhile takes nothing."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(FileNotFoundError):
                total += 512 * (Path(place) / name).lstat().st_blocks
    return total


def copy(source: Path, destination: Path) -> None:
    """Copies a folder's contents, which are then ours; MissingError, and nothing half, if it
    cannot."""
    how = ["-a", "--no-preserve=ownership", "--reflink=auto"]
    command = ["cp", *how, f"{source}/.", str(destination)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        shutil.rmtree(destination, ignore_errors=True)
        raise no_room(destination, done.stderr.strip().splitlines()[-1])


def is_full(folder: Path) -> bool:
    """Whether the disk that a folder is on has no room left for a server's data."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < FULL_BYTES
