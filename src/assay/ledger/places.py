"""Where the ledger is, and the list of folders from which it can be made anew.

The list is a plain file next to the database, appended to before the database is touched, so that
nothing is lost where the database is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from assay.core import password
from assay.core.errors import InputError
from assay.core.paths import user_state

OFF = "off"
POSTGRESQL = ("postgresql", "postgres")


@dataclass(frozen=True)
class LedgerPlace:
    """A ledger: a file of SQLite, or the URL of a PostgreSQL database."""

    file: Path | None = None
    url: str = ""

    def __str__(self) -> str:
        """Without a password."""
        if self.file is not None:
            return str(self.file)
        parts = urlsplit(self.url)
        return f"postgresql at {parts.hostname or 'localhost'}{parts.path}"


def ledger_place(given: str | None = None) -> LedgerPlace | None:
    """The ledger that `given` or ASSAY_LEDGER names, or the user's own; None where it is off.

    InputError for anything else, without repeating what may hold a password.
    """
    text = given or password.given(password.LEDGER) or ""
    if text == OFF:
        return None
    if not text:
        return LedgerPlace(file=_folder() / "ledger.sqlite3")
    scheme, _, rest = text.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return LedgerPlace(file=Path(rest[1:]).expanduser())
    if scheme in POSTGRESQL and rest:
        return LedgerPlace(url=f"postgresql://{rest}")
    raise InputError(
        f"{password.LEDGER} names no ledger: its scheme is {scheme[:20]!r}"
        if rest
        else f"{password.LEDGER} names no ledger",
        next_step="sqlite:///FILE, postgresql://user@host/database, or off",
    )


def remember(folder: Path) -> None:
    """Put a bundle's folder on the list. OSError where the list cannot be written."""
    if folder.resolve() in known_folders():
        return
    listed = _list()
    listed.parent.mkdir(parents=True, exist_ok=True)
    with listed.open("a", encoding="utf-8") as file:
        file.write(json.dumps(str(folder.resolve())) + "\n")


def known_folders() -> list[Path]:
    """The folders of the list, each once; lines that are none are left out."""
    try:
        lines = _list().read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    found: dict[Path, None] = {}
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, str) and value:
            found[Path(value)] = None
    return list(found)


def _folder() -> Path:
    return user_state() / "ledger"


def _list() -> Path:
    return _folder() / "bundles"
