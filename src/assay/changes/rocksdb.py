"""Changes of RocksDB: caches, memtables, checksums, how writers wait, and how it was compiled.

Several are analogues of what SAP calls Memscale: a cache without a lock for LLDC, a row
cache for IMRS, a hash index in each block for HCB, the concurrent memtable for LFB. They
are other mechanisms in another system, and stand for no ASE. `rocksdb.library` is the
fault that YDB describes (a slow CRC32C by dispatch), which two shipped packages have.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from assay.changes.builders import number, part
from assay.changes.declaration import Application, Build, Change, Dose, Level
from assay.changes.pages import POOLED, by_policy
from assay.changes.signature import counted, falls, rises, stays
from assay.changes.witness import Counted, Every, Expected, Functions, LogSays, PagesShow, ReadBack

ROCKSDB = frozenset({"rocksdb"})
SWITCH = {"off": False, "on": True}

CHECKSUMS = {
    "none": "kNoChecksum",
    "crc32c": "kCRC32c",
    "xxhash": "kxxHash",
    "xxhash64": "kxxHash64",
    "xxh3": "kXXH3",
}
CHECKED = Dose("block.checksum.compute.count", "block checksums computed per operation")
WAITED = Dose(
    "db.mutex.wait.micros", "microseconds of waiting for the mutex per operation", may_lack=True
)

MEMTABLES = {
    "skiplist": "SkipListFactory",
    "vector": "VectorRepFactory",
    "hash-skiplist": "HashSkipListRepFactory",
    "hash-linklist": "HashLinkListRepFactory",
}
"""Memtables, and what RocksDB's log calls them."""

PREFIX = "capped:12"
"""What a memtable that hashes needs; the others get one too, so that nothing else differs."""

TUNABLES = "GLIBC_TUNABLES"
HEAPS = {"MALLOC_TOP_PAD_": str(64 << 20), "MALLOC_MMAP_THRESHOLD_": str(2 << 20)}

CRC_NEEDS = "pclmulqdq or pmull"
"""What the processor must have for the library with CRC32 instructions."""

LIBRARIES = {
    "portable": Level("portable", Application(build=Build("rocksdb", "portable"))),
    "crc": Level("crc", Application(build=Build("rocksdb", "crc")), CRC_NEEDS),
    "debian": Level("debian", Application({"library": "installed"})),
}

_WITHOUT = (Expected("ExtendImpl", lacks=("crc32",)),)
_WITH = (Expected("3way", has=("crc32", "pclmul")), Expected("arm64", has=("crc32",)), Expected())


def _memtable(name: str) -> Level:
    """Only the skip list takes writes of several threads at once."""
    settings = {
        "memtable": name,
        "allow_concurrent_memtable_write": name == "skiplist",
        "prefix_extractor": PREFIX,
    }
    return Level(name, Application(settings))


def _log(name: str) -> Level:
    return Level(name, Application({"wal": name != "none", "sync": name == "synced"}))


def pages(kind: str) -> Application:
    """How glibc's malloc (2.35 and later), which gives it its memory, is told of a kind of pages.

    It takes those of a pool, by their size; transparent ones are the kernel's policy, as for every
    target. At each level alike a heap is made as large as it can get, because one that grows by
    base pages holds little else, and what malloc would map by itself in base pages (from 128 KiB
    on) comes from heaps too. These two are variables of their own: glibc cuts a list of tunables
    into pieces where a witness reads.
    """
    env = {TUNABLES: f"glibc.malloc.hugetlb={POOLED.get(kind, 0)}", **HEAPS}
    return replace(by_policy(kind, {}), env=env)


ROCKSDB_CHANGES = (
    Change(
        "rocksdb.library",
        "how librocksdb was compiled: from the same sources without and with CRC32 instructions, "
        "or the distribution's",
        ROCKSDB,
        MappingProxyType(LIBRARIES),
        "portable",
        "crc",
        Every(
            (
                Functions(
                    "crc32c_code",
                    {
                        "portable": Expected(lacks=("crc32",)),
                        "crc": Expected(has=("crc32",)),
                        "debian": Expected(lacks=("crc32",)),
                    },
                ),
                Functions(
                    "crc32c",
                    {"portable": _WITHOUT, "crc": _WITH, "debian": _WITHOUT},
                    must_run=False,
                ),
                LogSays(
                    "Fast CRC32 supported",
                    {
                        "portable": "Not supported",
                        "crc": "Supported",
                        "debian": "Not supported",
                    },
                ),
            )
        ),
        "D",
        CHECKED,
        signature=falls("cpu_per_operation"),
    ),
    part(
        "rocksdb.checksum",
        "checksum of each block; the data are made for each level",
        ROCKSDB,
        "checksum",
        CHECKSUMS,
        off="none",
        on="crc32c",
        witness=ReadBack(),
        dose=CHECKED,
        signature=rises("cpu_per_operation"),
        remakes_data=True,
    ),
    part(
        "rocksdb.verify_checksums",
        "reads verify the checksums of the blocks they read; with loads that only read",
        ROCKSDB,
        "verify_checksums",
        SWITCH,
        off="off",
        on="on",
        witness=Counted(
            {
                "off": {"block.checksum.compute.count": False},
                "on": {"block.checksum.compute.count": True},
            }
        ),
        effort="A",
        dose=CHECKED,
        signature=rises("cpu_per_operation"),
    ),
    part(
        "rocksdb.cache",
        "block cache behind locks with a list of use, or without locks and with a clock's hand",
        ROCKSDB,
        "cache",
        {name: name for name in ("lru", "hyper-clock")},
        off="lru",
        on="hyper-clock",
        witness=Every(
            (
                ReadBack(),
                LogSays("block_cache_name", {"lru": "LRUCache", "hyper-clock": "HyperClockCache"}),
            )
        ),
        dose=Dose("block.cache.hit", "blocks found in the cache per operation"),
        signature=falls("cpu_per_operation"),
    ),
    part(
        "rocksdb.row_cache",
        "a cache of rows of 32 MiB before that of blocks",
        ROCKSDB,
        "row_cache_bytes",
        {"off": 0, "on": "32MiB"},
        off="off",
        on="on",
        witness=Counted({"off": {"row.cache.hit": False}, "on": {"row.cache.hit": True}}),
        dose=Dose("row.cache.hit", "rows found in the cache per operation"),
        signature=falls("cpu_per_operation"),
    ),
    part(
        "rocksdb.data_block_hash_index",
        "a hash table in each block, besides binary search; the data are made for each level",
        ROCKSDB,
        "data_block_index_type",
        {"off": "kDataBlockBinarySearch", "on": "kDataBlockBinaryAndHash"},
        off="off",
        on="on",
        witness=ReadBack(),
        signature=falls("cpu_per_operation"),
        remakes_data=True,
    ),
    Change(
        "rocksdb.memtable",
        "where writes are held in memory: a skip list that many threads write at once, or a "
        "vector, skip lists or lists by hash, which one thread writes at a time",
        ROCKSDB,
        MappingProxyType({name: _memtable(name) for name in MEMTABLES}),
        "hash-skiplist",
        "skiplist",
        Every((ReadBack(), LogSays("memtable_factory", MEMTABLES))),
        "B",
        Dose("number.keys.written", "keys written per operation"),
        signature=stays(counted("number.keys.written")),
    ),
    part(
        "rocksdb.memtable_huge_pages",
        "memtables in huge pages of the kernel's pool; RocksDB goes on without where it is empty",
        ROCKSDB,
        "memtable_huge_page_size",
        {"off": 0, "on": 2 << 20},
        off="off",
        on="on",
        witness=Every(
            (
                ReadBack(),
                PagesShow(
                    {
                        "off": {"private_hugetlb_bytes": False},
                        "on": {"private_hugetlb_bytes": True},
                    }
                ),
            )
        ),
        dose=Dose("number.keys.written", "keys written per operation"),
        signature=falls("cpu_per_operation"),
    ),
    part(
        "rocksdb.adaptive_mutex",
        "RocksDB's mutexes spin a while before they sleep",
        ROCKSDB,
        "use_adaptive_mutex",
        SWITCH,
        off="off",
        on="on",
        witness=ReadBack(),
        effort="A",
        dose=WAITED,
        signature=falls(counted("db.mutex.wait.micros")),
    ),
    part(
        "rocksdb.write_thread_adaptive_yield",
        "a writer that waits for its leader spins and yields before it sleeps",
        ROCKSDB,
        "enable_write_thread_adaptive_yield",
        SWITCH,
        off="off",
        on="on",
        witness=ReadBack(),
        effort="A",
        dose=Dose("write.other", "writes done by another thread per operation"),
        signature=rises("cpu_per_operation"),
    ),
    Change(
        "rocksdb.wal",
        "the log of a write: none, written, or waited for until it is on the disk",
        ROCKSDB,
        MappingProxyType({name: _log(name) for name in ("none", "written", "synced")}),
        "synced",
        "written",
        Counted(
            {
                "none": {"wal.bytes": False},
                "written": {"wal.bytes": True, "wal.synced": False},
                "synced": {"wal.bytes": True, "wal.synced": True},
            }
        ),
        "B",
        Dose("wal.synced", "flushes of the log per operation"),
        signature=falls("latency_p50"),
    ),
    part(
        "rocksdb.unordered_write",
        "writers do not wait for each other's places in the memtable; snapshots lose their meaning",
        ROCKSDB,
        "unordered_write",
        SWITCH,
        off="off",
        on="on",
        witness=ReadBack(),
        effort="C",
        signature=falls("latency_p50"),
    ),
    part(
        "rocksdb.pipelined_write",
        "the next group writes its log while one is still writing the memtable",
        ROCKSDB,
        "enable_pipelined_write",
        SWITCH,
        off="off",
        on="on",
        witness=ReadBack(),
        effort="A",
        dose=Dose("write.other", "writes done by another thread per operation"),
        signature=falls("latency_p50"),
    ),
    number(
        "rocksdb.placebo",
        "how many old log files for people are kept: none is old in a run",
        ROCKSDB,
        "keep_log_file_num",
        off=1000,
        on=1001,
        effort="A",
        signature=stays("cpu_per_operation"),
    ),
)
