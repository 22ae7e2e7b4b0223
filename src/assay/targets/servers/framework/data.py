"""Prepared data: made once, kept by what they depend on, copied for each run.

They lie under `$XDG_CACHE_HOME/assay/data` (`~/.cache` by default), each in a folder
named by the digest of all that shapes it. A folder is complete or not there: it
is filled beside its place and renamed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay import native
from assay.core.digest import canonical, digest
from assay.core.errors import MissingError, RunError
from assay.targets.private_folder import ROOM

FULL_BYTES = 16 << 20
"""With less a disk is full for any server: files grow by so much at once."""


def cache() -> Path:
    """The folder of what Assay keeps and could make again."""
    kept = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(kept).expanduser() / "assay"


def key(*parts: Any) -> str:
    """The name of data that depend on these parts and on nothing else."""
    return digest(canonical(list(parts)))[:32]


def prepared(name: str, make: Callable[[Path], None]) -> Path:
    """The data of that name; `make` fills a folder with them if they are not there yet."""
    folder = cache() / "data"
    done = folder / name
    if done.is_dir():
        return done
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_orphans(folder)
        partial = folder / f".{name}.{os.getpid()}"
        partial.mkdir()
    except OSError as error:
        raise no_room(folder, str(error)) from error
    try:
        make(partial)
        # Somebody else may have made them meanwhile, and they are the same.
        with suppress(OSError):
            partial.rename(done)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return done


def load_data(verb: str, request: Mapping[str, Any], log: Path) -> None:
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


def copy(source: Path, destination: Path) -> None:
    """Copies a folder's contents, owners and all; MissingError, and nothing half, if it cannot."""
    command = ["cp", "-a", "--reflink=auto", f"{source}/.", str(destination)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        shutil.rmtree(destination, ignore_errors=True)
        raise no_room(destination, done.stderr.strip().splitlines()[-1])


def _remove_orphans(folder: Path) -> None:
    """Folders that a process which is gone was filling."""
    for partial in folder.glob(".*.*"):
        owner = partial.name.rpartition(".")[2]
        if not Path(f"/proc/{owner}").exists():
            shutil.rmtree(partial, ignore_errors=True)


def is_full(folder: Path) -> bool:
    """Whether the disk that a folder is on has no room left for a server's data."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < FULL_BYTES


def no_room(folder: Path, why: str) -> MissingError:
    """What is said of a folder that data do not fit into."""
    return MissingError(f"data cannot be put into {folder}: {why}", next_step=ROOM)
