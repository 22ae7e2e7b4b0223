"""The changes Assay knows by name. One entry each; adding one is adding data here.

Names start with the target whose part they switch; parts that the `micro`
target has too carry both targets. Sources of the mechanisms: the five
documents the studies name, and docs/engine.md for the parts themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from assay._parameters import nearest
from assay.changes.declaration import Application, Change, Dose, Effort, Level, Prediction
from assay.changes.witness import Expected, Functions, HugePages, ReadBack, Repeated, Witness

ROWS = frozenset({"ycsb"})
LOCKED = ROWS | {"lock"}
QUERIES = frozenset({"aggregate"})
"""Workloads under which rows are looked up, locks taken, queries planned."""

ENGINE = frozenset({"engine"})
MICRO = frozenset({"micro"})
BOTH = ENGINE | MICRO

X86 = "x86_64"
ARM = "aarch64"

HINTS = ("pause", "yield", "isb", "nop")
"""Instructions that a spin-wait loop may hold; each level holds its own and no other."""

LOCKS = ("tas", "ttas", "backoff", "ticket", "mcs", "futex")

PRODUCTS = ("pclmul", "pmull")
"""Carry-less multiplication, as the census writes it on x86-64 and on Arm."""

PLANS = {
    "row": Expected("assay_plan_row"),
    "bytecode": Expected("assay_plan_bytecode"),
    "vectorised": Expected("assay_plan_vectorised"),
    "cranelift-scalar": Expected("assay_plan_cranelift_scalar", lacks=("vector_add",)),
    "cranelift-simd": Expected("assay_plan_cranelift_simd", has=("vector_add",)),
}
"""What Cranelift made is in no file: its census is of the code in memory."""

CRC32C = {
    "misdispatched": Expected("assay_crc32c_bytewise", lacks=("crc32", *PRODUCTS)),
    "bytewise": Expected("assay_crc32c_bytewise", lacks=("crc32", *PRODUCTS)),
    "slicing8": Expected("assay_crc32c_slicing8", lacks=("crc32", *PRODUCTS)),
    "hardware": Expected("assay_crc32c_hardware", has=("crc32",), lacks=PRODUCTS),
    "hardware-3way": Expected("assay_crc32c_hardware_3way", has=("crc32",)),
    "pclmul": Expected("assay_crc32c_pclmul", has=("pclmul",)),
    "pmull": Expected("assay_crc32c_pmull", has=("pmull",)),
    "vpclmul": Expected("assay_crc32c_vpclmul", has=("pclmul",)),
    "fusion": Expected("assay_crc32c_fusion", has=("crc32", "pclmul")),
}
"""A dispatch that went wrong is witnessed as what it ran: the bytewise code."""


def _levels(setting: str, values: Mapping[str, Any], needs: Mapping[str, str] | None = None):
    return MappingProxyType(
        {
            name: Level(name, Application({setting: value}), (needs or {}).get(name))
            for name, value in values.items()
        }
    )


def _part(  # a table row: one argument a column
    name: str,
    text: str,
    targets: frozenset[str],
    setting: str,
    values: Mapping[str, Any],
    *,
    off: str,
    on: str,
    witness: Witness,
    effort: Effort = "B",
    dose: Dose | None = None,
    needs: Mapping[str, str] | None = None,
    signature: tuple[Prediction, ...] = (),
    requires: Mapping[str, tuple[Any, ...]] | None = None,
    workloads: frozenset[str] = frozenset(),
) -> Change:
    return Change(
        name,
        text,
        targets,
        _levels(setting, values, needs),
        off,
        on,
        witness,
        effort,
        dose,
        requires=requires or {},
        signature=signature,
        workloads=workloads,
    )


def _number(
    name: str,
    text: str,
    targets: frozenset[str],
    setting: str,
    *,
    off: int,
    on: int,
    witness: Witness | None = None,
    effort: Effort = "C",
    dose: Dose | None = None,
    requires: Mapping[str, tuple[Any, ...]] | None = None,
    workloads: frozenset[str] = frozenset(),
) -> Change:
    return Change(
        name,
        text,
        targets,
        {},
        str(off),
        str(on),
        witness or ReadBack(),
        effort,
        dose,
        numeric_setting=setting,
        requires=requires or {},
        workloads=workloads,
    )


def _hint(name: str) -> Expected:
    """The slow path of a lock at one hint: holds that instruction and no other hint."""
    others = tuple(h for h in HINTS if h != name)
    return Expected(f"_slow_{name}", has=() if name == "none" else (name,), lacks=others)


_CHANGES = (
    _part(
        "engine.spin_hint",
        "instruction executed between two looks at a held lock",
        BOTH,
        "hint",
        {h: h for h in ("none", *HINTS)},
        off="none",
        on="pause",
        needs={"pause": X86, "yield": ARM, "isb": ARM},
        witness=Functions("lock_slow", {h: _hint(h) for h in ("none", *HINTS)}),
        effort="A",
        dose=Dose("spins", "spins per operation"),
        signature=(Prediction("contention", "down"),),
        workloads=LOCKED,
    ),
    _part(
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
        signature=(Prediction("contention", "down"),),
        workloads=LOCKED,
    ),
    _part(
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
    ),
    _part(
        "engine.data_cache",
        "how a page is found in the data cache",
        ENGINE,
        "data_cache",
        {k: k for k in ("one-lock", "partitioned", "lock-free")},
        off="one-lock",
        on="lock-free",
        witness=Functions(
            "data_cache_lookup",
            {
                "one-lock": Expected("::one_lock::"),
                "partitioned": Expected("::partitioned::"),
                "lock-free": Expected("::lock_free::", lacks=("lock_prefix", "xchg_mem")),
            },
        ),
        dose=Dose("lookups.data_cache", "look-ups per operation"),
        signature=(
            Prediction("contention.data_cache", "down"),
            Prediction("spins_per_operation.data_cache", "down"),
        ),
        workloads=ROWS,
    ),
    _part(
        "engine.pages",
        "size of the memory pages that hold the data",
        BOTH,
        "pages",
        {k: k for k in ("4k", "thp", "hugetlb-2m")},
        off="4k",
        on="thp",
        witness=HugePages(
            {
                "4k": None,
                "thp": "anon_huge_bytes",
                "hugetlb-2m": "private_hugetlb_bytes",
            }
        ),
        dose=Dose("huge_bytes", "bytes in huge pages", per_operation=False),
        signature=(Prediction("page_table_bytes", "down"),),
    ),
    _number(
        "engine.threads",
        "number of worker threads",
        BOTH,
        "threads",
        off=1,
        on=2,
    ),
    _number(
        "engine.spin_limit",
        "hints before a waiter gives up its CPU",
        BOTH,
        "spin_limit",
        off=0,
        on=2048,
        requires={"lock": ("backoff", "futex")},
        dose=Dose("spins", "spins per operation"),
        workloads=LOCKED,
    ),
    _number(
        "engine.cache_partitions",
        "locks that the partitioned data cache is split over",
        ENGINE,
        "cache_partitions",
        off=1,
        on=64,
        requires={"data_cache": ("partitioned",)},
        dose=Dose("lookups.data_cache", "look-ups per operation"),
        workloads=ROWS,
    ),
    _number(
        "engine.repeat_every",
        "a slow-down of known size, to test a study: after every n operations one more, uncounted",
        BOTH,
        "repeat_every",
        off=0,
        on=33,
        witness=Repeated("repeat_every"),
        effort="A",
        dose=Dose("repeats", "repeats per operation"),
    ),
    _part(
        "engine.plan",
        "how an analytical query is run: interpreted, in batches, or compiled at run time",
        ENGINE,
        "plan",
        {k: k for k in PLANS},
        off="bytecode",
        on="cranelift-simd",
        witness=Functions("plan", PLANS),
        signature=(Prediction("cpu_per_operation", "down"),),
        workloads=QUERIES,
    ),
    _part(
        "engine.rewrite",
        "algebra before planning: SUM(e + k) as SUM(e) + k * COUNT, whatever runs it",
        ENGINE,
        "rewrite",
        {k: k for k in ("off", "on")},
        off="off",
        on="on",
        witness=ReadBack(),
        signature=(Prediction("cpu_per_operation", "down"),),
        workloads=QUERIES,
    ),
    _part(
        "micro.crc32c",
        "CRC32C implementation that the dispatch chooses",
        MICRO,
        "crc32c",
        {k: k for k in CRC32C},
        off="bytewise",
        on="hardware",
        needs={"pclmul": X86, "pmull": ARM, "vpclmul": "vpclmulqdq", "fusion": "vpclmulqdq"},
        witness=Functions("crc32c", CRC32C),
        dose=Dose("checksummed_bytes", "bytes per operation"),
    ),
)

CATALOGUE: Mapping[str, Change] = MappingProxyType({c.name: c for c in _CHANGES})


def find(name: str, target: str) -> Change:
    """The change called `name` for `target`; ValueError says what there is."""
    change = CATALOGUE.get(name)
    fitting = [c.name for c in _CHANGES if target in c.targets]
    if change is None:
        generic = ("setting", "env", "binary", "command")
        raise ValueError(
            f"{name!r} is not a change{nearest(name, [*CATALOGUE, *generic])}; "
            f"target {target} has {', '.join((*fitting, *generic))}"
        )
    if target not in change.targets:
        raise ValueError(
            f"{name} is a change of {' and '.join(sorted(change.targets))}, not of {target}, "
            f"which has {', '.join(fitting)}"
        )
    return change
