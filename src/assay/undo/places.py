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


def attached() -> Path:
    """Of attached servers, a file each."""
    return user_state() / "attached"


def has_journals() -> bool:
    """Whether anything may be left to bring back: the cheap question before each command."""
    return any(any(folder.glob(SHOWN)) for folder in (Path(TRANSACTIONS), attached()))
