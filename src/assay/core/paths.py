"""The folders of a user's files, as the XDG base directory specification has them.

Every command looks there before anything else, so this module imports nothing of the project.
"""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path:
    """What can be made again: `$XDG_CACHE_HOME/assay`, by default `~/.cache/assay`."""
    return _of_assay("XDG_CACHE_HOME", "~/.cache")


def user_state() -> Path:
    """What must outlive a process: `$XDG_STATE_HOME/assay`, by default `~/.local/state/assay`."""
    return _of_assay("XDG_STATE_HOME", "~/.local/state")


def _of_assay(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or default).expanduser() / "assay"
