"""Changes of Redis: threads for sockets, huge pages, the append-only file, defragmentation.

Source: redis.conf of Redis 7.0, which says of each setting what it does and costs. Valkey has no
setting of who reads from sockets: its threads do, where there is enough to do for them.
"""

from __future__ import annotations

from types import MappingProxyType

from assay.changes.builders import levels, part
from assay.changes.declaration import THP_ALWAYS, Application, Change, Dose, Level
from assay.changes.signature import falls, rises
from assay.changes.witness import Counted, Every, ProcessShows, ReadBack

REDIS = frozenset({"redis"})
VALKEY = frozenset({"valkey"})
BOTH = REDIS | VALKEY
"""Valkey has kept what most of these changes switch, by the same names."""

WRITES = frozenset({"redis-set", "ycsb"})
"""Workloads that write, without which nothing reaches a log."""

THREADS = ("1", "2", "3", "4", "6", "8")
THREADS_SEEN = ProcessShows({n: {"threads.io_thd_": int(n) - 1} for n in THREADS})


def _threads(name: str) -> Level:
    """So many threads for sockets, the main one included; others read only if they are told to."""
    reads = "no" if name == "1" else "yes"
    settings = {"io-threads": int(name), "io-threads-do-reads": reads}
    return Level(name, Application(settings))


REDIS_CHANGES = (
    Change(
        "redis.io_threads",
        "threads that read from and write to sockets; commands stay with one",
        REDIS,
        MappingProxyType({n: _threads(n) for n in THREADS}),
        "1",
        "2",
        Every((ReadBack(), THREADS_SEEN)),
        "B",
        Dose("io_threaded_reads_processed", "reads by I/O threads per operation"),
        signature=rises("throughput", "cpu_per_operation"),
    ),
    Change(
        "valkey.io_threads",
        "threads that read from and write to sockets; commands stay with one",
        VALKEY,
        levels("io-threads", {n: int(n) for n in THREADS}),
        "1",
        "2",
        Every((ReadBack(), THREADS_SEEN)),
        "B",
        Dose("io_threaded_reads_processed", "reads by I/O threads per operation"),
        signature=rises("throughput", "cpu_per_operation"),
    ),
    part(
        "redis.thp",
        "whether the kernel may give Redis transparent huge pages, where it does so for all",
        BOTH,
        "disable-thp",
        {"off": "yes", "on": "no"},
        off="off",
        on="on",
        needs={"off": THP_ALWAYS},
        witness=Every(
            (
                ReadBack(),
                ProcessShows({"off": {"thp_enabled": False}, "on": {"thp_enabled": True}}),
            )
        ),
        effort="A",
        signature=rises("resident_bytes"),
    ),
    Change(
        "redis.appendfsync",
        "how often the append-only file is forced to the disk; none is without the file; the data "
        "are made for each level with and without it",
        BOTH,
        MappingProxyType(
            {"none": Level("none", Application({"appendonly": "no"}))}
            | {
                name: Level(name, Application({"appendonly": "yes", "appendfsync": name}))
                for name in ("no", "everysec", "always")
            }
        ),
        "always",
        "everysec",
        ReadBack(),
        "B",
        signature=falls("latency_p99"),
        workloads=WRITES,
        remakes_data=True,
    ),
    Change(
        "redis.activedefrag",
        "memory is moved together while commands run",
        BOTH,
        levels("activedefrag", {"off": "no", "on": "yes"}),
        "off",
        "on",
        Every((ReadBack(), Counted({"off": {"active_defrag_hits": False}, "on": {}}))),
        "A",
        Dose("active_defrag_hits", "values moved per operation"),
        signature=falls("resident_bytes"),
    ),
)
