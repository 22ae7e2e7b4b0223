"""Changes of MariaDB: what studies of data servers on Arm, and of their locks and logs, switch.

Defaults are those of 10.11. InnoDB has counted no spins since 10.6: what a
change of spinning does is seen in the waits of the performance schema only,
which cost something themselves (`mariadb.performance_schema`), and so are off.
"""

from __future__ import annotations

from assay.changes.builders import number, part, size
from assay.changes.declaration import Application, Dose
from assay.changes.pages import by_policy, switch
from assay.changes.signature import counted, falls, rises, stays
from assay.changes.witness import Every, ReadBack, ServerHugePages

MARIADB = frozenset({"mariadb"})
SWITCH = {"off": "OFF", "on": "ON"}

ALGORITHMS = ("crc32", "strict_crc32", "full_crc32", "strict_full_crc32")
METHODS = ("fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC")
HANDLING = ("one-thread-per-connection", "pool-of-threads")

UPDATES = frozenset(
    {
        *("oltp-read-write", "oltp-update-index", "oltp-update-non-index"),
        *("ycsb", "tpcc", "trade-desk"),
    }
)
"""Workloads that write a log."""


def pages(kind: str) -> Application:
    """How it is told of a kind of pages; it takes the largest pool that fits."""
    return by_policy(kind, {"large_pages": switch(kind).upper()})


MARIADB_CHANGES = (
    part(
        "mariadb.large_pages",
        "buffer pool in huge pages of the kernel's pools, which must hold it",
        MARIADB,
        "large_pages",
        SWITCH,
        off="off",
        on="on",
        witness=Every((ReadBack(), ServerHugePages(frozenset({"on"})))),
        signature=falls("cpu_per_operation"),
    ),
    number(
        "mariadb.spin_wait_delay",
        "longest delay between two polls of a held latch, in units of 16 pauses on x86-64",
        MARIADB,
        "innodb_spin_wait_delay",
        off=4,
        on=24,
        effort="A",
        signature=rises("cpu_per_operation"),
    ),
    number(
        "mariadb.sync_spin_loops",
        "polls of a held latch before a waiter gives up its CPU; 0 does not spin",
        MARIADB,
        "innodb_sync_spin_loops",
        off=30,
        on=0,
        effort="A",
        signature=falls("cpu_per_operation"),
    ),
    part(
        "mariadb.checksum_algorithm",
        "checksums of data pages, and the format that tables made under them have; the data are "
        "made for each level",
        MARIADB,
        "innodb_checksum_algorithm",
        {name: name for name in ALGORITHMS},
        off="crc32",
        on="full_crc32",
        witness=ReadBack(
            {name: {"data_format": name.removeprefix("strict_")} for name in ALGORITHMS}
        ),
        effort="C",
        dose=Dose("pages", "pages read or written per operation"),
        signature=stays(counted("pages")),
        remakes_data=True,
    ),
    part(
        "mariadb.adaptive_hash_index",
        "a hash table before each B-tree, made of what is looked up often",
        MARIADB,
        "innodb_adaptive_hash_index",
        SWITCH,
        off="off",
        on="on",
        witness=ReadBack(),
        effort="A",
        dose=Dose("Innodb_adaptive_hash_hash_searches", "look-ups by hash per operation"),
        signature=falls("cpu_per_operation"),
    ),
    part(
        "mariadb.flush_log_at_trx_commit",
        "the log at commit: left for once a second, flushed, written only, flushed at prepare too",
        MARIADB,
        "innodb_flush_log_at_trx_commit",
        {str(n): n for n in (0, 1, 2, 3)},
        off="1",
        on="2",
        witness=ReadBack(),
        dose=Dose("Innodb_data_fsyncs", "flushes of files per operation"),
        signature=falls("latency_p50"),
        workloads=UPDATES,
    ),
    part(
        "mariadb.flush_method",
        "how data files are written and flushed",
        MARIADB,
        "innodb_flush_method",
        {name: name for name in METHODS},
        off="O_DIRECT",
        on="fsync",
        witness=ReadBack(),
        dose=Dose("Innodb_data_fsyncs", "flushes of files per operation"),
        signature=falls("cpu_per_operation"),
    ),
    part(
        "mariadb.doublewrite",
        "pages are written twice, so that a torn one can be mended; off gives that up",
        MARIADB,
        "innodb_doublewrite",
        {"off": "OFF", "on": "ON"},
        off="on",
        on="off",
        witness=ReadBack(),
        dose=Dose("Innodb_dblwr_pages_written", "pages written twice per operation"),
        workloads=UPDATES,
        signature=falls(counted("Innodb_dblwr_pages_written")),
    ),
    size(
        "mariadb.log_buffer_size",
        "memory for log records that are not written yet",
        MARIADB,
        "innodb_log_buffer_size",
        off="16MiB",
        on="64MiB",
        dose=Dose("Innodb_log_waits", "waits for room per operation"),
        signature=falls(counted("Innodb_log_waits")),
    ),
    part(
        "mariadb.thread_pool",
        "a thread for each connection, or a pool of about as many as CPUs",
        MARIADB,
        "thread_handling",
        {name: name for name in HANDLING},
        off="one-thread-per-connection",
        on="pool-of-threads",
        witness=ReadBack(),
        signature=falls("cpu_per_operation"),
    ),
    number(
        "mariadb.table_cache_instances",
        "parts of the cache of open tables, each with its own lock",
        MARIADB,
        "table_open_cache_instances",
        off=1,
        on=4,
        effort="B",
        dose=Dose("Table_open_cache_hits", "tables taken from the cache per operation"),
        signature=stays(counted("Table_open_cache_hits")),
    ),
    size(
        "mariadb.buffer_pool_size",
        "memory for data pages",
        MARIADB,
        "innodb_buffer_pool_size",
        off="128MiB",
        on="512MiB",
        dose=Dose("Innodb_buffer_pool_reads", "pages read from files per operation"),
        signature=falls(counted("Innodb_buffer_pool_reads")) + rises("throughput"),
    ),
    part(
        "mariadb.performance_schema",
        "acquisitions of locks are counted and timed: what looking costs",
        MARIADB,
        "performance_schema",
        SWITCH,
        off="off",
        on="on",
        witness=ReadBack(),
        effort="A",
        dose=Dose("waits", "acquisitions of locks that were counted per operation"),
        signature=rises("cpu_per_operation"),
    ),
    number(
        "mariadb.placebo",
        "errors that a connecting host may make in a row: nothing under load asks for it",
        MARIADB,
        "max_connect_errors",
        off=100,
        on=101,
        effort="A",
        signature=stays("cpu_per_operation"),
    ),
)
