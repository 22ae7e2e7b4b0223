"""Where journals lie of what was changed and is to be brought back.

Every command looks here first, so this module imports next to nothing. `journal.py` says what a
journal is.
"""

from __future__ import annotations

from pathlib import Path

from assay.core.paths import user_state

TRANSACTIONS = "/var/lib/assay/txn"
"""Of transactions of the host, a folder each; below the root of the host's tree."""
LOCK = "/var/lib/assay/lock"
"""Held by the process that changes the host; below the root of the host's tree."""
SHOWN = "[!.]*"
"""What is not hidden: hidden files are not complete yet."""
ENDED = (b'"event": "confirmed"', b'"event": "rolled-back"')
"""In the last line of a transaction that has ended; it stays for `assay host status`."""


def attached() -> Path:
    """Of attached servers, a file each."""
    return user_state() / "attached"


def has_journals() -> bool:
    """Whether anything may be left to bring back: the cheap question before each command."""
    return any(map(_may_be_open, _shown(Path(TRANSACTIONS)))) or bool(_shown(attached()))


def _shown(folder: Path) -> list[Path]:
    """Nothing where this user may not look: it wrote nothing there."""
    try:
        return list(folder.glob(SHOWN))
    except PermissionError:
        return []


def _may_be_open(transaction: Path) -> bool:
    """False only if the last line of its journal says that there is nothing more to do."""
    try:
        log = (transaction / "log").read_bytes()
    except OSError:
        return True
    last = log.rstrip(b"\0").splitlines(keepends=True)[-1:]
    return not any(event in line and line.endswith(b"\n") for line in last for event in ENDED)
