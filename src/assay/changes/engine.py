"""Changes of the embedded engine's parts; those of primitives are of `micro` too.

Effort of what has a name in SAP ASE's Memscale is the group of the deck that
studies them: TSX A, SNAP and LLDC B, LFB C, IMRS and HCB D, MVCC E.
"""

from __future__ import annotations

from assay.changes.builders import ARM, BOTH, ENGINE, X86, number, part
from assay.changes.declaration import HTM, Application, Change, Dose, Level
from assay.changes.functions import CACHES, CONTROLS, INDEXES, LOGS, PLANS
from assay.changes.pages import POOLED, by_policy
from assay.changes.signature import counted, falls, rises, stays
from assay.changes.witness import Counted, Every, Expected, Functions, HugePages, ReadBack, Repeated
from assay.core.metrics import INSTRUCTIONS

ROWS = frozenset({"ycsb", "tpcc", "trade-desk"})
LOCKED = ROWS | {"lock"}
QUERIES = frozenset({"aggregate", "trade-desk"})
CATALOGUED = frozenset({"trade-desk"})
"""Workloads under which rows are looked up, locks taken, queries planned, system tables used."""

TREES = ("latched", "optimistic")

HINTS = ("pause", "double-pause", "yield", "isb", "sb", "wfe", "wfet", "nop")
"""What a spin-wait loop may hold; each level holds its own instruction and no other."""

LOCKS = ("tas", "ttas", "backoff", "ticket", "mcs", "futex")

EVICTING = ("one-lock", "partitioned", "hyper-clock")


def _hint(name: str) -> tuple[Expected, ...]:
    """The slow path of a lock at one hint: holds that instruction so often, and no other hint.

    An elided lock's holds it in more than one place.
    """
    own = name.removeprefix("double-")
    others = tuple(h for h in HINTS if h not in (own, "double-pause"))
    exactly = {} if name == "none" else {own: 2 if name.startswith("double-") else 1}
    slow = f"_slow_{name.replace('-', '_')}"
    return (
        Expected(f"{slow}_elided", has=tuple(exactly), lacks=others),
        Expected(slow, lacks=others, exactly=exactly),
    )


def pages(kind: str) -> Application:
    """How the engine, and `micro`, is told of a kind of pages."""
    return by_policy(kind, {"pages": f"hugetlb-{kind}" if kind in POOLED else kind})


ENGINE_CHANGES = (
    part(
        "engine.spin_hint",
        "instruction executed between two polls of a held lock",
        BOTH,
        "hint",
        {h: h for h in ("none", *HINTS)},
        off="none",
        on="pause",
        needs={
            "pause": X86,
            "double-pause": X86,
            "yield": ARM,
            "isb": ARM,
            "sb": "sb",
            "wfe": "evtstrm",
            "wfet": "wfxt",
        },
        witness=Functions("lock_slow", {h: _hint(h) for h in ("none", *HINTS)}),
        effort="A",
        dose=Dose("spins", "spins per operation"),
        signature=falls("spins_per_operation", "contention") + stays("resident_bytes"),
        mechanism="wait_share",
        workloads=LOCKED,
    ),
    part(
        "engine.lock",
        "lock algorithm",
        BOTH,
        "lock",
        {k: k for k in LOCKS},
        off="tas",
        on="ttas",
        witness=Functions("lock_slow", {k: Expected(f"assay_lock_{k}_slow_") for k in LOCKS}),
        effort="C",
        dose=Dose("grabs", "acquisitions per operation"),
        signature=falls("contention") + stays("resident_bytes"),
        mechanism="wait_share",
        workloads=LOCKED,
    ),
    part(
        "engine.lock_elision",
        "what a lock guards runs as a hardware transaction that only reads the lock",
        BOTH,
        "elision",
        {k: k for k in ("off", "on")},
        off="off",
        on="on",
        needs={"on": HTM},
        requires={"lock": ("ttas",)},
        witness=Functions(
            "lock_slow",
            {
                "off": Expected("assay_lock_", lacks=("xbegin",)),
                "on": Expected("_elided", has=("xbegin",)),
            },
        ),
        effort="A",
        dose=Dose("elided", "elided acquisitions per operation"),
        signature=falls("contention"),
        mechanism="wait_share",
    ),
    part(
        "engine.padding",
        "distance between neighbouring locks: side by side, or a cache line or two apart",
        BOTH,
        "padding",
        {"0": 0, "64": 64, "128": 128},
        off="0",
        on="64",
        witness=ReadBack(
            {
                "0": {"lock_stride_bytes": 8},
                "64": {"lock_stride_bytes": 64},
                "128": {"lock_stride_bytes": 128},
            }
        ),
        dose=Dose("grabs", "acquisitions per operation"),
        workloads=LOCKED,
        signature=falls("cpu_per_operation"),
    ),
    part(
        "engine.data_cache",
        "how a page is found in the data cache",
        ENGINE,
        "data_cache",
        {k: k for k in CACHES},
        off="one-lock",
        on="optimistic",
        witness=Functions("data_cache_lookup", CACHES),
        dose=Dose("lookups.data_cache", "look-ups per operation"),
        signature=falls("contention.data_cache", "spins_per_operation.data_cache"),
        mechanism="wait_share.data_cache",
        workloads=ROWS,
    ),
    part(
        "engine.system_cache",
        "how a page of the system tables is found in their own data cache",
        ENGINE,
        "system_cache",
        {k: k for k in CACHES},
        off="one-lock",
        on="optimistic",
        witness=Functions("system_cache_lookup", CACHES),
        dose=Dose("lookups.system_cache", "look-ups per operation"),
        signature=falls("contention.system_cache", "spins_per_operation.system_cache"),
        mechanism="wait_share.system_cache",
        workloads=CATALOGUED,
    ),
    Change(
        "engine.caches",
        "how a page is found in both data caches, that of data and that of system tables",
        ENGINE,
        {k: Level(k, Application({"data_cache": k, "system_cache": k})) for k in CACHES},
        "one-lock",
        "optimistic",
        Every(
            (
                Functions("system_cache_lookup", CACHES),
                Functions("data_cache_lookup", CACHES, must_run=False),
            )
        ),
        "B",
        Dose("lookups.system_cache", "look-ups of system tables per operation"),
        signature=falls("contention.data_cache", "contention.system_cache"),
        workloads=CATALOGUED,
    ),
    part(
        "engine.index",
        "how a key is found: a tree with a latch a node, an optimistic tree, a latch-free hash",
        ENGINE,
        "index",
        {k: k for k in INDEXES},
        off="latched",
        on="optimistic",
        witness=Functions("index_find", INDEXES),
        effort="C",
        dose=Dose("lookups.index", "look-ups per operation"),
        requires={"cc": tuple(CONTROLS)},
        signature=falls("contention.index"),
        mechanism="wait_share.index",
        workloads=ROWS,
    ),
    part(
        "engine.cc",
        "what keeps transactions apart: row locks, validation at commit, or versions",
        ENGINE,
        "cc",
        {k: k for k in CONTROLS},
        off="no-wait",
        on="multi-version",
        witness=Functions("cc", CONTROLS),
        effort="E",
        dose=Dose("commits", "commits per operation"),
        requires={"index": (*TREES, "hash")},
        signature=falls("aborts_per_operation"),
        workloads=ROWS,
    ),
    part(
        "engine.store",
        "where rows of data tables are: in pages behind the data cache, or in memory",
        ENGINE,
        "store",
        {k: k for k in ("pages", "memory")},
        off="pages",
        on="memory",
        witness=Counted(
            {"pages": {"lookups.data_cache": True}, "memory": {"lookups.data_cache": False}}
        ),
        effort="D",
        dose=Dose("lookups.data_cache", "look-ups in the data cache per operation"),
        requires={"cc": tuple(CONTROLS)},
        signature=falls("contention.data_cache"),
        mechanism="wait_share.data_cache",
        workloads=ROWS,
    ),
    part(
        "engine.hash_cache",
        "a hash table before each tree, filled by look-ups of single keys",
        ENGINE,
        "hash_cache",
        {k: k for k in ("off", "on")},
        off="off",
        on="on",
        witness=Counted({"off": {"hash_cache.hits": False}, "on": {"hash_cache.hits": True}}),
        effort="D",
        dose=Dose("hash_cache.hits", "look-ups answered by the hash cache per operation"),
        requires={"store": ("memory",), "index": TREES},
        signature=falls("cpu_per_operation"),
        workloads=ROWS,
    ),
    part(
        "engine.log",
        "how commits become durable",
        ENGINE,
        "log",
        {k: k for k in LOGS},
        off="group",
        on="private-group",
        witness=Counted(LOGS),
        effort="C",
        dose=Dose("log.records", "log records per operation"),
        requires={"cc": tuple(CONTROLS)},
        signature=falls("contention.log"),
        mechanism="wait_share.log",
        workloads=ROWS,
    ),
    part(
        "engine.pages",
        "size of the memory pages that hold the data",
        BOTH,
        "pages",
        {k: k for k in ("4k", "thp", "collapse", "hugetlb-2m", "hugetlb-1g")},
        off="4k",
        on="thp",
        witness=HugePages(
            {
                "4k": None,
                "thp": "anon_huge_bytes",
                "collapse": "anon_huge_bytes",
                "hugetlb-2m": "private_hugetlb_bytes",
                "hugetlb-1g": "private_hugetlb_bytes",
            },
            page_bytes={"hugetlb-2m": 2 << 20, "hugetlb-1g": 1 << 30},
        ),
        dose=Dose("huge_bytes", "bytes in huge pages", per_operation=False),
        signature=falls("dtlb_walks_per_1000_instructions", "page_table_bytes")
        + stays(INSTRUCTIONS),
        mechanism="walk_cycles_per_cycle",
    ),
    number(
        "engine.threads",
        "number of worker threads",
        BOTH,
        "threads",
        off=1,
        on=2,
        signature=rises("throughput", "contention"),
    ),
    number(
        "engine.spin_limit",
        "hints before a waiter gives up its CPU",
        BOTH,
        "spin_limit",
        off=0,
        on=2048,
        requires={"lock": ("backoff", "futex")},
        dose=Dose("spins", "spins per operation"),
        workloads=LOCKED,
        signature=rises("cpu_per_operation"),
    ),
    number(
        "engine.hint_ns",
        "nanoseconds of hints between two polls of a held lock, calibrated at start",
        BOTH,
        "hint_ns",
        off=0,
        on=1000,
        requires={"hint": HINTS},
        dose=Dose("spins", "looks per operation"),
        signature=falls("spins_per_operation"),
        mechanism="wait_share",
    ),
    number(
        "engine.hint_repeats",
        "hints between two polls of a held lock: a count, whatever one costs (MariaDB on Arm: 200)",
        BOTH,
        "hint_repeats",
        off=1,
        on=200,
        requires={"hint": HINTS},
        dose=Dose("spins", "looks per operation"),
        signature=falls("contention"),
        mechanism="wait_share",
    ),
    number(
        "engine.cache_partitions",
        "locks that the partitioned data cache is split over",
        ENGINE,
        "cache_partitions",
        off=1,
        on=64,
        requires={"data_cache": ("partitioned",)},
        dose=Dose("lookups.data_cache", "look-ups per operation"),
        workloads=ROWS,
        signature=falls("contention.data_cache"),
        mechanism="wait_share.data_cache",
    ),
    number(
        "engine.cache_share",
        "percent of the data's pages that fit the data cache; the rest is in a file",
        ENGINE,
        "cache_share",
        off=100,
        on=50,
        requires={"data_cache": EVICTING},
        dose=Dose("data_cache.misses", "misses per operation"),
        signature=rises(counted("data_cache.misses")),
    ),
    number(
        "engine.repeat_every",
        "a slow-down of known size, to test a study: after every n operations one more, uncounted",
        BOTH,
        "repeat_every",
        off=0,
        on=33,
        witness=Repeated("repeat_every"),
        effort="A",
        dose=Dose("repeats", "repeats per operation"),
        signature=rises("cpu_per_operation"),
        whole_runs=True,
    ),
    part(
        "engine.plan",
        "how an analytical query is run: interpreted, in batches, or compiled at run time",
        ENGINE,
        "plan",
        {k: k for k in PLANS},
        off="bytecode",
        on="cranelift-simd",
        witness=Functions("plan", PLANS),
        signature=falls("cpu_per_operation"),
        workloads=QUERIES,
    ),
    part(
        "engine.rewrite",
        "algebra before planning: SUM(e + k) as SUM(e) + k * COUNT, whatever runs it",
        ENGINE,
        "rewrite",
        {k: k for k in ("off", "on")},
        off="off",
        on="on",
        witness=ReadBack(),
        signature=falls("cpu_per_operation"),
        workloads=QUERIES,
    ),
)
