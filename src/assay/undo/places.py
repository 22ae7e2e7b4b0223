"""Where journals lie of what was changed and is to be brought back.

Every command looks here first, so this module imports nothing of the project. `journal.py` says
what a journal is.
"""

from __future__ import annotations

import os
from pathlib import Path

TRANSACTIONS = "/var/lib/assay/txn"
"""Of transactions of the host, a folder each; below the root of the host's tree."""
LOCK = "/var/lib/assay/lock"
"""Held by the process that changes the host; below the root of the host's tree."""
SHOWN = "[!.]*"
"""What is not hidden: hidden files are not complete yet."""


def attached() -> Path:
    """Of attached servers, a file each."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "assay" / "attached"


def has_journals() -> bool:
    """Whether anything may be left to bring back: the cheap question before each command."""
    return any(any(folder.glob(SHOWN)) for folder in (Path(TRANSACTIONS), attached()))
