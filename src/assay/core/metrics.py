"""Every metric's name, unit, direction, and whether it is counted per operation.

A metric is one number of a run. Names with a dot are families: the part before
the dot is the metric, the part after it is the thing measured
(`contention.data_cache`). `better` is the direction in which a server improves;
for metrics that are evidence and no goal it is the direction a mechanism's
success shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from assay.core.parameters import nearest

Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class Metric:
    """One metric. `unit` is what `report` prints; fractions are printed as percent."""

    name: str
    unit: str
    better: Better
    per_operation: bool
    text: str

    @property
    def sign(self) -> int:
        """+1 where more is better, -1 where less is: contrasts are signed by it."""
        return 1 if self.better == "higher" else -1


PRINTED_HIGHER, PRINTED_LOWER = "printed_higher", "printed_lower"
"""Families of what a command prints, by direction; the member is the unit."""

_ALL = (
    Metric("throughput", "op/s", "higher", False, "operations finished per second"),
    Metric("operations_per_cpu_s", "op/CPU-s", "higher", False, "operations per CPU-second"),
    Metric("cpu_per_operation", "ns", "lower", True, "CPU time of the server per operation"),
    Metric("latency_mean", "ns", "lower", True, "mean latency"),
    Metric("latency_p50", "ns", "lower", True, "median latency"),
    Metric("latency_p90", "ns", "lower", True, "90th percentile of latency"),
    Metric("latency_p99", "ns", "lower", True, "99th percentile of latency"),
    Metric("latency_p999", "ns", "lower", True, "99.9th percentile of latency"),
    Metric(
        "latency_geomean",
        "ns",
        "lower",
        True,
        "geometric mean over the kinds of request of their median latencies",
    ),
    Metric("latency_max", "ns", "lower", True, "largest latency"),
    Metric("fairness", "", "higher", False, "slowest worker's operations over the fastest's"),
    Metric("load_seconds", "s", "lower", False, "time to load the data set"),
    Metric("wall_time", "ns", "lower", True, "time from the start of a command to its end"),
    Metric("cpu_time", "ns", "lower", True, "user and system time of a command"),
    Metric("peak_memory", "B", "lower", False, "largest resident memory of a command"),
    Metric(PRINTED_HIGHER, "", "higher", False, "number that the command prints"),
    Metric(PRINTED_LOWER, "", "lower", False, "number that the command prints"),
    Metric("resident_bytes", "B", "lower", False, "resident memory at the end of the window"),
    Metric("page_table_bytes", "B", "lower", False, "memory spent on page tables"),
    Metric("aborts_per_operation", "", "lower", True, "transactions begun again per operation"),
    Metric("contention", "fraction", "lower", False, "contended share of a lock's acquisitions"),
    Metric("waits_per_operation", "", "lower", True, "contended acquisitions per operation"),
    Metric("spins_per_operation", "", "lower", True, "spins while waiting per operation"),
    Metric(
        "acquisitions_per_operation",
        "",
        "lower",
        True,
        "times a lock was taken, contended or not",
    ),
    Metric("waited_per_operation", "ns", "lower", True, "time spent waiting, by event"),
    Metric("wait_share", "fraction", "lower", False, "share of CPU time spent waiting for a lock"),
    Metric(
        "operations_per_joule",
        "op/J",
        "higher",
        False,
        "operations for the energy of the processor's packages, for all processes",
    ),
    Metric("instructions_per_cycle", "", "higher", False, "instructions per cycle of the server"),
    Metric(
        "dtlb_walks_per_1000_instructions",
        "",
        "lower",
        False,
        "page walks for data per 1000 instructions",
    ),
    Metric(
        "itlb_walks_per_1000_instructions",
        "",
        "lower",
        False,
        "page walks for code per 1000 instructions",
    ),
    Metric(
        "walk_cycles_per_cycle",
        "",
        "lower",
        False,
        "cycles of page walks per cycle; above 1 where several go on at once",
    ),
    Metric("counted_per_operation", "", "lower", True, "a counter's growth per operation"),
)
METRICS: dict[str, Metric] = {m.name: m for m in _ALL}
FAMILIES = frozenset(
    {
        "acquisitions_per_operation",
        "contention",
        "counted_per_operation",
        PRINTED_HIGHER,
        PRINTED_LOWER,
        "spins_per_operation",
        "wait_share",
        "waited_per_operation",
        "waits_per_operation",
    }
)


COUNTED = "counted_per_operation"
"""The family whose members are counters of [measure] counters, and not classes of locks."""

INSTRUCTIONS = f"{COUNTED}.perf.instructions"
"""Made wherever instructions were counted: what a change saves, or what must stay the same."""

PRINTED = frozenset({PRINTED_HIGHER, PRINTED_LOWER})

OF_LOCKS = FAMILIES - PRINTED - {COUNTED}
"""Families whose members are classes of locks, or of what else is waited for: those that a server
does not have, it does not report."""

GROUPS_OF = {
    "operations_per_joule": ("energy",),
    "instructions_per_cycle": ("perf", "tlb", "walk-cycles"),
    "dtlb_walks_per_1000_instructions": ("tlb",),
    "itlb_walks_per_1000_instructions": ("tlb",),
    "walk_cycles_per_cycle": ("walk-cycles",),
}
"""Metrics that follow from counters, and the groups of which a study must ask for one."""


def metric(name: str) -> Metric:
    """The metric called `name`; ValueError names the nearest one that exists."""
    base, dot, member = name.partition(".")
    found = METRICS.get(base)
    if found is None or bool(dot) != (base in FAMILIES) or (dot and not member):
        raise ValueError(f"{name!r} is not a metric{nearest(name, names())}")
    unit = member if base in PRINTED else found.unit
    return Metric(name, unit, found.better, found.per_operation, found.text)


def names(members: Iterable[str] = ("data_cache", "index", "row", "lock")) -> list[str]:
    """Every metric's name, families with the members given."""
    members = list(members)
    plain = [m for m in METRICS if m not in FAMILIES]
    return plain + [f"{f}.{member}" for f in sorted(OF_LOCKS) for member in members]
