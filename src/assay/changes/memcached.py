"""Changes of memcached: threads, the hash of keys, moving slabs, huge pages.

Source: `memcached -h` and doc/protocol.txt of memcached 1.6, which say what each setting does.
"""

from __future__ import annotations

from types import MappingProxyType

from assay.changes.builders import part
from assay.changes.declaration import Application, Change, Dose, Level
from assay.changes.pages import THP
from assay.changes.signature import falls, rises, stays
from assay.changes.witness import Every, HostShows, OfKeys, PagesShow, ProcessShows, ReadBack

MEMCACHED = frozenset({"memcached"})
THREADS = ("1", "2", "3", "4", "6", "8", "16")
LOG_BYTES = {"off": 256 << 10, "on": 257 << 10}
"""One KiB more of a buffer that is there for whoever watches, and nobody does."""

MEMCACHED_CHANGES = (
    part(
        "memcached.threads",
        "threads that read, carry out and answer commands",
        MEMCACHED,
        "num_threads",
        {n: int(n) for n in THREADS},
        off="1",
        on="2",
        witness=Every(
            (ReadBack(), ProcessShows({n: {"threads.mc-worker": int(n)} for n in THREADS}))
        ),
        signature=rises("throughput"),
    ),
    part(
        "memcached.hash",
        "what hashes the keys",
        MEMCACHED,
        "hash_algorithm",
        {name: name for name in ("jenkins", "murmur3", "xxh3")},
        off="murmur3",
        on="xxh3",
        witness=ReadBack(),
        signature=falls("cpu_per_operation"),
    ),
    part(
        "memcached.slab_automove",
        "whether memory moves from slabs that need less to those that need more",
        MEMCACHED,
        "slab_automove",
        {"off": 0, "on": 1},
        off="off",
        on="on",
        witness=ReadBack(),
        dose=Dose("slabs_moved", "slabs moved per operation"),
        signature=falls("latency_p99"),
    ),
    Change(
        "memcached.large_pages",
        "all memory for values is taken at the start, asking for transparent huge pages, which the "
        "kernel gives to those that ask",
        MEMCACHED,
        MappingProxyType(
            {
                name: Level(name, Application({"large_pages": asks}, host={THP: "madvise"}))
                for name, asks in (("off", False), ("on", True))
            }
        ),
        "off",
        "on",
        Every(
            (
                OfKeys(frozenset({THP}), HostShows()),
                OfKeys(frozenset({THP}), ReadBack(), others=True),
                PagesShow({"off": {"anon_huge_bytes": False}, "on": {"anon_huge_bytes": True}}),
            )
        ),
        "B",
        signature=falls("cpu_per_operation") + rises("resident_bytes"),
    ),
    part(
        "memcached.placebo",
        "a buffer for watchers of its log, of whom there are none, is one KiB larger",
        MEMCACHED,
        "watcher_logbuf_size",
        LOG_BYTES,
        off="off",
        on="on",
        witness=ReadBack(),
        effort="A",
        signature=stays("throughput"),
    ),
)
