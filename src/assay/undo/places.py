"""Where journals lie of what was changed and is to be taken back.

Every command looks here first, so these are the places alone: what the journals mean is said in
`host/transaction/journal.py` and `targets/servers/framework/attached_settings.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

TRANSACTIONS = "/var/lib/assay/txn"
"""Of transactions of the host, a folder each; below the root of the host's tree."""


def attached() -> Path:
    """Of attached servers, a file each."""
    kept = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(kept).expanduser() / "assay" / "attached"
