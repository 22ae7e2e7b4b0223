"""RocksDB: a log-structured store in a library, with the load in the same process.

Settings are RocksDB's own options, of the database, its column family and its
block-based table, by the names that an OPTIONS file has; what no option's text can
say (which cache, which memtable, what a read verifies and a write waits for) Assay
has beside them. Which library: Debian's, unless a study names another file or a build.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from assay.builds.rocksdb import CHECKSUM
from assay.core.errors import MissingError
from assay.core.parameters import Parameter
from assay.host.pool_shortage import pool_shortage
from assay.targets.setting_values import BYTES, ServerSetting, quantity
from assay.targets.stores.framework.store import Store

OURS = (
    Parameter(
        "cache",
        "choice",
        "how blocks are cached; hyper-clock, which takes no lock, is not in every library",
        "lru",
        ("lru", "hyper-clock"),
    ),
    ServerSetting(
        "cache_bytes", "count", "the block cache, which all threads share", 32 << 20, units=BYTES
    ),
    ServerSetting(
        "row_cache_bytes", "count", "a cache of rows before it; 0 is none", 0, units=BYTES
    ),
    Parameter(
        "memtable",
        "choice",
        "where writes are held in memory",
        "skiplist",
        ("skiplist", "vector", "hash-skiplist", "hash-linklist"),
    ),
    Parameter("verify_checksums", "flag", "reads verify the checksums of the blocks read", True),
    Parameter("sync", "flag", "a write waits until the log is on the disk", False),
    Parameter("wal", "flag", "writes are logged", True),
    Parameter(
        "statistics",
        "choice",
        "what RocksDB counts; all includes the time its mutex is waited for, which costs two reads "
        "of the clock; not every library accepts another level than the default",
        "except-detailed-timers",
        (
            "off",
            "except-histograms-or-timers",
            "except-timers",
            "except-detailed-timers",
            "except-time-for-mutex",
            "all",
        ),
    ),
)

CHECKED = "block.checksum.compute.count"

PARTS = (":", ";", "{")
"""In a value of several parts, which RocksDB reports in words of its own: what is in force of such
an option `assayer store` judges."""

MEMTABLE_BYTES = 64 << 20
"""What a memtable holds by default before it is written out."""

MEMTABLES = 2
"""Memtables that there are at once: one that is filled, and one that is written out."""

HEAP_BYTES = 16 << 20
"""What glibc takes from a pool of 2 MiB pages for a heap while it makes it; it keeps half."""
HEAPS = 8
"""Heaps that are about half full: of threads that load, flush, compact and count."""
FURTHER_BYTES = 128 << 20
"""All else that the process has from malloc, a look at all records after the window included, and
what glibc takes at once for its first heap."""

PASSING = frozenset(
    {
        "adaptive_readahead",
        "allow_concurrent_memtable_write",
        "allow_mmap_reads",
        "async_io",
        "cache",
        "cache_bytes",
        "cache_index_and_filter_blocks",
        "enable_pipelined_write",
        "enable_write_thread_adaptive_yield",
        "keep_log_file_num",
        "max_background_jobs",
        "max_open_files",
        "memtable",
        "memtable_huge_page_size",
        "pin_l0_filter_and_index_blocks_in_cache",
        "row_cache_bytes",
        "stats_dump_period_sec",
        "statistics",
        "sync",
        "unordered_write",
        "use_adaptive_mutex",
        "use_direct_io_for_flush_and_compaction",
        "use_direct_reads",
        "use_fsync",
        "verify_checksums",
        "wal",
        "wal_bytes_per_sync",
        "write_buffer_size",
    }
)


class RocksDB(Store):
    """The store."""

    kind = "rocksdb"
    text = "RocksDB, a log-structured store in a library; the load runs in its process"
    library = "librocksdb.so"
    package = "librocksdb-dev"
    recipe = "rocksdb"
    ours = OURS
    given = MappingProxyType({"compression": "kNoCompression"})  # not every library has one
    passing = PASSING
    functions = CHECKSUM
    role = "crc32c"

    def counted(self, counters: Mapping[str, float]) -> dict[str, float]:
        """Its name ends as a histogram's, and those are left out when nothing happened."""
        is_left_out = "block.cache.hit" in counters and CHECKED not in counters
        return {CHECKED: 0} if is_left_out else {}

    def is_same(self, setting: Parameter, given: Any, reported: Any) -> bool:
        has_parts = any(mark in str(given) for mark in PARTS)
        return has_parts or super().is_same(setting, given, reported)

    def huge_bytes(self, settings: Mapping[str, Any], page_bytes: int) -> int:
        """A guess of all that malloc gives it; what falls short glibc takes from base pages, which
        the witness tells."""
        if page_bytes > HEAP_BYTES:
            raise MissingError(
                "RocksDB's memory is malloc's, and glibc asks for four pages of 1 GiB for the heap "
                "of each thread, eight while it makes it",
                next_step="leave 1g out",
            )
        sizes = {"cache_bytes": 32 << 20, "row_cache_bytes": 0, "write_buffer_size": MEMTABLE_BYTES}
        cache, rows, memtable = (
            int(quantity(settings.get(name, default), BYTES) or 0)
            for name, default in sizes.items()
        )
        heaps = (HEAPS + settings.get("threads", 2)) * HEAP_BYTES
        whole: int = cache + rows + MEMTABLES * memtable + heaps + FURTHER_BYTES
        return -(-whole // page_bytes) * page_bytes

    def lacks(self, settings: Mapping[str, Any]) -> tuple[str, str] | None:
        """Huge pages for a memtable: RocksDB would go on without, and say nothing."""
        page = int(quantity(settings.get("memtable_huge_page_size", 0), BYTES) or 0)
        return pool_shortage(MEMTABLE_BYTES, page) if page else None


ROCKSDB = RocksDB()
