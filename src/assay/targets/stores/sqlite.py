"""SQLite: a database in a file and a library, with the load in the same process.

Settings are SQLite's PRAGMAs by their own names. Each connection reads back what is in
force; SQLite ignores many a wrong value without a word, which the read-back finds.
"""

from __future__ import annotations

from typing import Any

from assay.core.parameters import Parameter
from assay.targets.setting_values import BYTES, quantity
from assay.targets.stores.framework.store import Store

WORDS = {
    "auto_vacuum": ("none", "full", "incremental"),
    "secure_delete": ("off", "on", "fast"),
    "synchronous": ("off", "normal", "full", "extra"),
    "temp_store": ("default", "file", "memory"),
}
"""PRAGMAs that take a word and report its number."""

SWITCHES = {"off": "0", "false": "0", "no": "0", "on": "1", "true": "1", "yes": "1"}

PASSING = frozenset(
    {
        "analysis_limit",
        "automatic_index",
        "busy_timeout",
        "cache_size",
        "cache_spill",
        "journal_mode",
        "journal_size_limit",
        "locking_mode",
        "mmap_size",
        "synchronous",
        "temp_store",
        "threads",
        "wal_autocheckpoint",
    }
)


class SQLite(Store):
    """The store."""

    kind = "sqlite"
    text = "SQLite, a database in a file and a library; the load runs in its process"
    library = "libsqlite3.so"
    package = "libsqlite3-0"
    passing = PASSING

    def setting(self, name: str, default: str) -> Parameter:
        words = WORDS.get(name, ())
        known = f"one of {', '.join(words)}; " if words else ""
        return Parameter(name, "any", f"{known}the library has {default or 'nothing'} by default")

    def told(self, setting: Parameter, value: Any) -> Any:
        size = _bytes(value)
        return value if size is None else size

    def is_same(self, setting: Parameter, given: Any, reported: Any) -> bool:
        return _meaning(setting.name, given) == _meaning(setting.name, reported)


SQLITE = SQLite()


def _meaning(name: str, value: object) -> str:
    """What a value means, as the text that SQLite reports; sizes count in 1024."""
    word = str(value).strip().lower()
    known = WORDS.get(name, ())
    if word in known:
        return str(known.index(word))
    size = _bytes(word)
    return SWITCHES.get(word, word) if size is None else str(size)


def _bytes(value: object) -> int | None:
    """The bytes of a size with a unit, such as "256MiB"; None of anything else."""
    word = str(value).strip()
    size = quantity(word, BYTES) if word[-1:].lower() == "b" else None
    return None if size is None else int(size)
