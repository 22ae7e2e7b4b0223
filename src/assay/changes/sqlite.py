"""Changes of SQLite: its journal, what a commit waits for, and how pages are read and kept.

Source: SQLite's own documentation of its PRAGMAs. SQLite counts what its page cache does, and
Assay how often it found the database locked. A write-ahead log against a rollback journal is
the nearest to several versions of a row: readers and the writer do not wait for each other.
"""

from __future__ import annotations

from assay.changes.builders import number, part, size
from assay.changes.declaration import Dose
from assay.changes.signature import counted, falls, rises, stays
from assay.changes.witness import ReadBack

SQLITE = frozenset({"sqlite"})
JOURNALS = ("delete", "truncate", "persist", "memory", "wal", "off")
PAGES = (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)

SQLITE_CHANGES = (
    part(
        "sqlite.journal_mode",
        "how a change can be undone: a journal of old pages, which readers wait for, or a log of "
        "new ones (wal); memory and off can lose the database",
        SQLITE,
        "journal_mode",
        {name: name for name in JOURNALS},
        off="delete",
        on="wal",
        witness=ReadBack(),
        dose=Dose("busy.waits", "waits for the database's lock per operation"),
        signature=rises("throughput"),
    ),
    part(
        "sqlite.synchronous",
        "what a commit waits for: nothing, the important moments, always, the folder too",
        SQLITE,
        "synchronous",
        {name: name for name in ("off", "normal", "full", "extra")},
        off="full",
        on="normal",
        witness=ReadBack(),
        signature=falls("latency_p50"),
    ),
    size(
        "sqlite.mmap_size",
        "how much of the file is read through a mapping instead of by calls",
        SQLITE,
        "mmap_size",
        off="0B",
        on="256MiB",
        effort="A",
        dose=Dose("cache.misses", "pages not found in the cache per operation"),
        signature=falls("cpu_per_operation"),
    ),
    part(
        "sqlite.page_size",
        "bytes of a page; the data are made for each level",
        SQLITE,
        "page_size",
        {str(n): n for n in PAGES},
        off="4096",
        on="16384",
        witness=ReadBack(),
        effort="C",
        signature=falls("cpu_per_operation"),
        remakes_data=True,
    ),
    number(
        "sqlite.cache_size",
        "page cache of each connection: pages, or KiB where it is negative",
        SQLITE,
        "cache_size",
        off=-2000,
        on=-64000,
        effort="A",
        dose=Dose("cache.misses", "pages not found in the cache per operation"),
        signature=falls(counted("cache.misses")),
    ),
    part(
        "sqlite.locking_mode",
        "the lock on the file is given back after each transaction, or kept; one thread only",
        SQLITE,
        "locking_mode",
        {name: name for name in ("normal", "exclusive")},
        off="normal",
        on="exclusive",
        witness=ReadBack(),
        requires={"threads": (1,)},
        signature=falls("cpu_per_operation"),
    ),
    part(
        "sqlite.temp_store",
        "where temporary tables are; these workloads have none",
        SQLITE,
        "temp_store",
        {name: name for name in ("default", "file", "memory")},
        off="default",
        on="memory",
        witness=ReadBack(),
        effort="A",
        signature=stays("cpu_per_operation"),
    ),
    number(
        "sqlite.placebo",
        "rows that ANALYZE looks at: nothing is analysed",
        SQLITE,
        "analysis_limit",
        off=0,
        on=1,
        effort="A",
        signature=stays("cpu_per_operation"),
    ),
)
