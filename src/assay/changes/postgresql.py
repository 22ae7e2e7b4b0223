"""Changes of PostgreSQL: pages, compiled queries, checksums and the log.

Defaults are those of 15. There is no adaptive hash index, no partitioned pool
and no setting of spinning.
"""

from __future__ import annotations

from assay.changes.builders import number, part, size
from assay.changes.declaration import Application, Change, Dose, Level
from assay.changes.pages import SHMEM, by_policy, switch
from assay.changes.signature import counted, falls, rises, stays
from assay.changes.witness import Counted, Every, ReadBack, ServerHugePages

POSTGRESQL = frozenset({"postgresql"})
SWITCH = {"off": "off", "on": "on"}
COMPRESSIONS = ("off", "pglz", "lz4", "zstd")
COMMITS = ("off", "local", "on")
PAGES = {"2MB": 2 << 20, "1GB": 1 << 30}

UPDATES = frozenset(
    {
        *("oltp-read-write", "oltp-update-index", "oltp-update-non-index"),
        *("ycsb", "tpcc", "trade-desk"),
    }
)
"""Workloads that write a log."""

WAL = Dose("wal_bytes", "bytes of log per operation")


def _jit(name: str) -> Level:
    """Compiled queries are counted by the library of statements, which both levels load."""
    settings = {"jit": name, "shared_preload_libraries": "pg_stat_statements"}
    return Level(name, Application(settings))


def pages(kind: str) -> Application:
    """How it is told of a kind of pages; its memory is shared, which has a policy of its own."""
    size = {"2m": "2MB", "1g": "1GB"}.get(kind)
    of_pool = {} if size is None else {"huge_page_size": size}
    return by_policy(kind, {"huge_pages": switch(kind), **of_pool}, SHMEM)


POSTGRESQL_CHANGES = (
    part(
        "postgresql.huge_pages",
        "shared memory in huge pages of the kernel's pools; the server does not start without",
        POSTGRESQL,
        "huge_pages",
        SWITCH,
        off="off",
        on="on",
        witness=Every((ReadBack(), ServerHugePages(frozenset({"on"}), strict=True))),
        signature=falls("cpu_per_operation"),
    ),
    part(
        "postgresql.huge_page_size",
        "size of the huge pages of shared memory",
        POSTGRESQL,
        "huge_page_size",
        {name: name for name in PAGES},
        off="2MB",
        on="1GB",
        requires={"huge_pages": ("on",)},
        witness=Every(
            (ReadBack(), ServerHugePages(frozenset(PAGES), strict=True, page_bytes=PAGES))
        ),
        signature=falls("dtlb_walks_per_1000_instructions"),
    ),
    Change(
        "postgresql.jit",
        "queries that the planner finds costly are compiled; short ones never are",
        POSTGRESQL,
        {name: _jit(name) for name in ("off", "on")},
        "off",
        "on",
        Counted({"off": {"jit_functions": False}, "on": {}}),
        "B",
        Dose("jit_functions", "functions compiled per operation"),
        signature=rises(counted("jit_functions")) + falls("cpu_per_operation"),
    ),
    part(
        "postgresql.data_checksums",
        "checksums of data pages, put into the stopped data before the start",
        POSTGRESQL,
        "data_checksums",
        SWITCH,
        off="off",
        on="on",
        witness=ReadBack(),
        effort="C",
        dose=Dose("pages", "pages read or written per operation"),
        signature=rises("cpu_per_operation"),
    ),
    part(
        "postgresql.wal_compression",
        "pages that go into the log whole are compressed",
        POSTGRESQL,
        "wal_compression",
        {name: name for name in COMPRESSIONS},
        off="off",
        on="lz4",
        witness=ReadBack(),
        dose=WAL,
        workloads=UPDATES,
        signature=falls(counted("wal_bytes")) + rises("cpu_per_operation"),
    ),
    part(
        "postgresql.synchronous_commit",
        "a commit waits for its log record to be flushed; off may lose the last ones in a crash",
        POSTGRESQL,
        "synchronous_commit",
        {name: name for name in COMMITS},
        off="on",
        on="off",
        witness=ReadBack(),
        dose=Dose("wal_sync", "flushes of the log per operation"),
        signature=falls("latency_p50"),
        workloads=UPDATES,
    ),
    number(
        "postgresql.commit_delay",
        "wait of a commit for others to flush with it, in µs",
        POSTGRESQL,
        "commit_delay",
        off=0,
        on=100,
        effort="B",
        dose=Dose("wal_sync", "flushes of the log per operation"),
        workloads=UPDATES,
        signature=falls(counted("wal_sync")) + rises("latency_p50"),
    ),
    part(
        "postgresql.full_page_writes",
        "a page goes into the log whole when it is first changed after a checkpoint; off gives "
        "up what mends a torn page",
        POSTGRESQL,
        "full_page_writes",
        {"off": "off", "on": "on"},
        off="on",
        on="off",
        witness=ReadBack(),
        dose=Dose("wal_fpi", "whole pages in the log per operation"),
        workloads=UPDATES,
        signature=falls(counted("wal_fpi"), counted("wal_bytes")),
    ),
    size(
        "postgresql.shared_buffers",
        "memory for data pages",
        POSTGRESQL,
        "shared_buffers",
        off="128MiB",
        on="512MiB",
        dose=Dose("blks_read", "pages read from files per operation"),
        signature=rises("throughput"),
    ),
    size(
        "postgresql.wal_buffers",
        "memory for log records that are not written yet",
        POSTGRESQL,
        "wal_buffers",
        off="64kB",
        on="16MB",
        dose=Dose("wal_buffers_full", "waits for room per operation"),
        signature=falls(counted("wal_buffers_full")),
    ),
    Change(
        "postgresql.wait_sampling",
        "how waits of statements are sampled: not at all, by Assay ten times a second, or by the "
        "extension pg_wait_sampling a hundred times: what sampling costs",
        POSTGRESQL,
        {
            "off": Level("off", Application({"wait_samples": 0})),
            "assay": Level("assay", Application({"wait_samples": 10})),
            "extension": Level(
                "extension",
                Application({"wait_samples": 0, "shared_preload_libraries": "pg_wait_sampling"}),
            ),
        },
        "off",
        "assay",
        ReadBack(),
        "A",
        signature=rises("cpu_per_operation"),
    ),
    number(
        "postgresql.placebo",
        "effort of the genetic query optimiser, which plans joins of twelve tables and more",
        POSTGRESQL,
        "geqo_effort",
        off=5,
        on=6,
        effort="A",
        signature=stays("cpu_per_operation"),
    ),
)
