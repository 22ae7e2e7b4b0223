"""What each change acts on, and how the time spent there is seen: the table that doctor judges by.

A row is data. A change of the catalogue without a row is listed as one that nothing bounds. Of time
that is wasted (`waste`: polls of a lock, pages read again, faults) a healthy server has little;
other mechanisms do work that somebody asked for, and are never a sickness by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.diagnosis.looks import InCalls, InCode, InSoftirqs, InWaits, InWalks, OnDisk, TimeLook

CRASH = "the last commits may be lost in a crash"
TORN = "a page that was torn by a crash cannot be mended"


@dataclass(frozen=True)
class Mechanism:
    """What a change acts on.

    `levels`: those to try in place of the catalogue's own two; `only`: those that could help, empty
    for any; `idle`: the level in force at which the mechanism is not in use; `counter`: it cannot
    matter where this did not grow; `memory`: nor where the server has none of this memory.
    """

    text: str
    looks: tuple[TimeLook, ...]
    waste: bool = False
    risk: str = ""
    levels: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    idle: str = ""
    counter: str = ""
    memory: str = ""


SPINS = InCode(
    r"\b(s_lock|perform_spin_delay|ut_delay|.*spin_?lock.*|.*_spin_wait.*)\b", spins=True
)
CHECKSUMS = InCode(r"(?i)crc32|checksum", ("crc32", "pclmul", "pmull", "pmull_q"))
FAULTS = InCalls(r"exc_page_fault|do_user_addr_fault|^do_page_fault|handle_mm_fault|^el0_da$")
FILE_READS = InCalls(r"_sys_(pread|preadv|read|io_uring_enter|io_submit|io_getevents)\w*$")
PAGES_READ = InCalls(
    r"_sys_(pread\w*|fadvise64\w*)$|^(File|md|smgr)_?([Rr]ead|[Pp]refetch)\w*$"
    r"|^(StrategyGetBuffer|BufTableInsert|BufTableDelete|InvalidateBuffer)$"
)
"""PostgreSQL's reading of pages, with finding them room; it exports these functions' names."""

FLUSHES = InCalls(r"_sys_(fsync|fdatasync|sync_file_range)$")
SOCKETS = InCalls(r"_sys_(read|write|readv|writev|recv\w*|send\w*)$")
SWITCHES = InCalls(r"^(__)?schedule$|_sys_(futex|epoll_\w+|poll|ppoll)$")
ACCEPTS = InCalls(r"_sys_accept4?$")
WALKS = InWalks()

LATCHES = Mechanism("polls of held latches", (SPINS,), waste=True)
PAGES = Mechanism("page walks", (WALKS,))
DURABLE = (FLUSHES, OnDisk())

MECHANISMS: Mapping[str, Mechanism] = MappingProxyType(
    {
        "mariadb.spin_wait_delay": Mechanism(
            "polls of held latches", (SPINS,), waste=True, levels=("4", "0")
        ),
        "mariadb.sync_spin_loops": LATCHES,
        "mariadb.checksum_algorithm": Mechanism(
            "checksums of pages and log",
            (CHECKSUMS,),
            risk="the data are made anew",
            only=("full_crc32",),
        ),
        "mariadb.flush_log_at_trx_commit": Mechanism(
            "flushes of the log at commit",
            DURABLE,
            risk=CRASH,
            only=("0", "2"),
            counter="Innodb_os_log_fsyncs",
        ),
        "mariadb.flush_method": Mechanism(
            "flushes of files", DURABLE, counter="Innodb_data_fsyncs"
        ),
        "mariadb.doublewrite": Mechanism(
            "pages written twice",
            DURABLE,
            risk=TORN,
            only=("off",),
            counter="Innodb_dblwr_pages_written",
        ),
        "mariadb.log_buffer_size": Mechanism(
            "waits for room in the log's buffer",
            (OnDisk(sure=False),),
            waste=True,
            counter="Innodb_log_waits",
        ),
        "mariadb.thread_pool": Mechanism("waking and switching threads", (SWITCHES,)),
        "mariadb.table_cache_instances": Mechanism(
            "the lock of the table cache", (InWaits("LOCK_table_cache"),), waste=True
        ),
        "mariadb.buffer_pool_size": Mechanism(
            "reading data pages from files",
            (FILE_READS, OnDisk(sure=False)),
            waste=True,
            counter="Innodb_buffer_pool_reads",
        ),
        "mariadb.large_pages": PAGES,
        "postgresql.huge_pages": PAGES,
        "postgresql.jit": Mechanism(
            "compiling queries",
            (
                InCode(r"(?i)llvm|^\[anonymous\]", named=True),
                InCalls(r"(?i)llvm", kernel=False),
            ),
            only=("off",),
        ),
        "postgresql.data_checksums": Mechanism(
            "checksums of pages", (CHECKSUMS,), only=("off",), risk="damaged pages are not noticed"
        ),
        "postgresql.wal_compression": Mechanism(
            "writing the log",
            (InCalls(r"_sys_pwrite\w*$"), InWaits("IO/WALWrite")),
            counter="wal_fpi",
        ),
        "postgresql.synchronous_commit": Mechanism(
            "flushes of the log at commit",
            (*DURABLE, InWaits(r"IO/WALSync|LWLock/WALWrite|IO/WALWrite")),
            risk=CRASH,
            only=("off",),
            counter="wal_sync",
        ),
        "postgresql.commit_delay": Mechanism(
            "flushes of the log at commit",
            (*DURABLE, InWaits(r"IO/WALSync|LWLock/WALWrite")),
            counter="wal_sync",
        ),
        "postgresql.full_page_writes": Mechanism(
            "writing whole pages into the log",
            (InCalls(r"_sys_pwrite\w*$"), InWaits("IO/WALWrite")),
            risk=TORN,
            only=("off",),
            counter="wal_fpi",
        ),
        "postgresql.shared_buffers": Mechanism(
            "reading data pages from files",
            (PAGES_READ, InWaits(r"IO/DataFile|LWLock/BufferMapping")),
            waste=True,
            counter="blks_read",
        ),
        "postgresql.wal_buffers": Mechanism(
            "waits for room in the log's buffer",
            (InWaits(r"LWLock/WAL"),),
            waste=True,
            counter="wal_buffers_full",
        ),
        "redis.io_threads": Mechanism("reading and writing sockets", (SOCKETS,)),
        "valkey.io_threads": Mechanism("reading and writing sockets", (SOCKETS,)),
        "redis.thp": Mechanism(
            "page faults and copies of transparent huge pages",
            (FAULTS,),
            waste=True,
            only=("off",),
            memory="eligible_bytes",
        ),
        "redis.appendfsync": Mechanism(
            "flushes of the append-only file",
            DURABLE,
            risk=CRASH,
            only=("everysec", "no"),
            idle="none",
        ),
        "nginx.pause": LATCHES,
        "nginx.accept_mutex": Mechanism("accepting connections", (ACCEPTS,)),
        "nginx.reuseport": Mechanism("accepting connections", (ACCEPTS,)),
        "memcached.hash": Mechanism("hashing keys", (InCode(r"(?i)hash|murmur|xxh"),)),
        "memcached.large_pages": PAGES,
        "host.pages": PAGES,
        "host.thp": Mechanism("page walks and page faults", (WALKS, FAULTS)),
        "host.rps": Mechanism("soft interrupts on one CPU", (InSoftirqs(),), waste=True),
        "host.irq": Mechanism("soft interrupts on one CPU", (InSoftirqs(),), waste=True),
        "host.swappiness": Mechanism(
            "reading pages back from swap", (FAULTS, OnDisk()), counter="vm.pswpin"
        ),
    }
)
"""By name of the change."""

SUFFERING = Mechanism(
    "page faults and copies of transparent huge pages",
    (FAULTS,),
    waste=True,
    only=("never",),
    memory="eligible_bytes",
)
"""`host.thp` for a server that does not want transparent huge pages."""

RULES: Mapping[str, Mechanism] = MappingProxyType(
    {
        "H01": PAGES,
        "H07": PAGES,
        "H08": Mechanism(
            "page faults and copies of transparent huge pages",
            (FAULTS,),
            waste=True,
            memory="eligible_bytes",
        ),
        "H09": Mechanism("page faults that wait for huge pages", (FAULTS,), waste=True),
        "H10": PAGES,
        "H14": MECHANISMS["host.swappiness"],
        "H16": MECHANISMS["host.irq"],
        "H18": MECHANISMS["host.rps"],
    }
)
"""By rule of `assay host check`."""

NEEDS_RULE: Mapping[str, str] = MappingProxyType({"host.governor": "H12", "host.numa": "H15"})
"""By change the rule of the host that must be judged here for the change to be possible."""

NO_GAIN = frozenset({"placebo", "performance_schema", "wait_sampling"})
"""Changes that say what looking costs, or nothing: never candidates."""
