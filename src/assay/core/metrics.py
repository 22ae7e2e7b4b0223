"""Every metric: its name, unit and direction, whether it is counted per operation, and what makes
it void.

A metric is one number of a run. Names with a dot are families: the part before
the dot is the metric, the part after it is the thing measured
(`contention.data_cache`). `better` is the direction in which a server improves;
for metrics that are evidence and no goal it is the direction a mechanism's
success shows. Any of them may be a study's primary metric.

Whatever the metric, a run is void where the client was the limit, others took the machine, the
clock stepped, or operations failed (`bench.guard`). `void` says when a run has not this metric,
though it counts for others; a run without the primary one has failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from assay.core.parameters import nearest

Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class Metric:
    """One metric. `unit` is what `report` prints; fractions are printed as percent.

    `void`: when a run has none, as a clause; empty where every run with an operation has one.
    `whole_run`: it is of a run from its start, so that no slice of a run shows it.
    """

    name: str
    unit: str
    better: Better
    per_operation: bool
    text: str
    void: str = ""
    whole_run: bool = False

    @property
    def sign(self) -> int:
        """+1 where more is better, -1 where less is: contrasts are signed by it."""
        return 1 if self.better == "higher" else -1


PRINTED_HIGHER, PRINTED_LOWER = "printed_higher", "printed_lower"
"""Families of what a command prints, by direction; the member is the unit."""

_PROCESS = "the server is on another machine, or its processes are somebody else's"
_NO_LOAD = "the run loads no data: they were made once and are copied"
_NO_PMU = "the processor shows no such counters here, or the events had to take turns"
_NO_ENERGY = "the machine has neither RAPL nor hwmon, as virtual machines have not"
_NO_TPCC = "the workload is not TPC-C"
_NO_WAITS = (
    "terminals do not wait as TPC-C says, a kind of transaction is beyond its limit at the 90th "
    "percentile, or the mix is not the specification's"
)
_NO_LOCKS = "the server does not count this"
_NO_COMMAND = "it is of commands that are run to their end"
_FEW = (
    "too few operations lie beyond it (docs/method.md); at a given rate it counts from when a send "
    "was intended"
)

_ALL = (
    Metric("throughput", "op/s", "higher", False, "operations finished per second"),
    Metric(
        "max_rate",
        "op/s",
        "higher",
        False,
        "highest rate at which the promise about latency is kept, searched in each run",
        "there is no `promise` in [measure], or the lowest rate that was tried broke it",
        whole_run=True,
    ),
    Metric(
        "operations_per_cpu_s", "op/CPU-s", "higher", False, "operations per CPU-second", _PROCESS
    ),
    Metric(
        "cpu_per_operation", "ns", "lower", True, "CPU time of the server per operation", _PROCESS
    ),
    Metric("latency_mean", "ns", "lower", True, "mean latency"),
    Metric("latency_p50", "ns", "lower", True, "median latency"),
    Metric("latency_p90", "ns", "lower", True, "90th percentile of latency"),
    Metric("latency_p99", "ns", "lower", True, "99th percentile of latency", _FEW),
    Metric("latency_p999", "ns", "lower", True, "99.9th percentile of latency", _FEW),
    Metric(
        "latency_geomean",
        "ns",
        "lower",
        True,
        "geometric mean over the kinds of request of their median latencies",
        "all requests are of one kind, or the window answered none of some kind",
    ),
    Metric("latency_max", "ns", "lower", True, "largest latency"),
    Metric(
        "new_orders_per_minute",
        "/min",
        "higher",
        False,
        "New-Orders of TPC-C committed per minute; those that roll back as demanded do not count",
        _NO_TPCC,
        whole_run=True,
    ),
    Metric(
        "tpmc",
        "/min",
        "higher",
        False,
        "the same under TPC-C's conditions; not an audited result",
        f"{_NO_TPCC}, or {_NO_WAITS}",
        whole_run=True,
    ),
    Metric(
        "tpcc_efficiency",
        "fraction",
        "higher",
        False,
        "tpmc over the most that ten waiting terminals a warehouse can enter: 12.86 each",
        f"{_NO_TPCC}, or {_NO_WAITS}",
        whole_run=True,
    ),
    Metric(
        "fairness",
        "",
        "higher",
        False,
        "slowest worker's operations over the fastest's",
        "the load does not run inside the server",
    ),
    Metric(
        "load_seconds", "s", "lower", False, "time to load the data set", _NO_LOAD, whole_run=True
    ),
    Metric(
        "load_rows_per_s",
        "rows/s",
        "higher",
        False,
        "rows loaded per second",
        _NO_LOAD,
        whole_run=True,
    ),
    Metric(
        "bytes_per_row",
        "B",
        "lower",
        False,
        "bytes on disk of a loaded row, indexes and logs included, once the server has settled",
        f"{_NO_LOAD}, or it keeps them in memory",
        whole_run=True,
    ),
    Metric(
        "written_per_operation",
        "B",
        "lower",
        True,
        "bytes that the server had written to storage per operation, over the window",
        f"the study does not name it, {_PROCESS}, or it wrote nothing",
    ),
    Metric(
        "write_amplification",
        "",
        "lower",
        True,
        "those bytes over the bytes of the values that its clients wrote",
        "the study does not name it, or the workload says nothing of how large what it writes is",
    ),
    Metric("wall_time", "ns", "lower", True, "time from start to end of a command", _NO_COMMAND),
    Metric("cpu_time", "ns", "lower", True, "user and system time of a command", _NO_COMMAND),
    Metric("peak_memory", "B", "lower", False, "largest resident memory of a command", _NO_COMMAND),
    Metric(
        PRINTED_HIGHER,
        "",
        "higher",
        False,
        "number that the command prints",
        "it did not print one",
    ),
    Metric(
        PRINTED_LOWER, "", "lower", False, "number that the command prints", "it did not print one"
    ),
    Metric(
        "resident_bytes", "B", "lower", False, "resident memory at the end of the window", _PROCESS
    ),
    Metric(
        "page_table_bytes",
        "B",
        "lower",
        False,
        "memory spent on page tables",
        "it is of what runs inside Assay's own process",
    ),
    Metric(
        "aborts_per_operation",
        "",
        "lower",
        True,
        "transactions begun again per operation",
        "the workload has no transactions",
    ),
    Metric(
        "contention",
        "fraction",
        "lower",
        False,
        "contended share of a lock's acquisitions",
        _NO_LOCKS,
    ),
    Metric(
        "waits_per_operation", "", "lower", True, "contended acquisitions per operation", _NO_LOCKS
    ),
    Metric(
        "spins_per_operation", "", "lower", True, "spins while waiting per operation", _NO_LOCKS
    ),
    Metric(
        "acquisitions_per_operation",
        "",
        "lower",
        True,
        "times a lock was taken, contended or not",
        _NO_LOCKS,
    ),
    Metric("waited_per_operation", "ns", "lower", True, "time spent waiting, by event", _NO_LOCKS),
    Metric(
        "wait_share",
        "fraction",
        "lower",
        False,
        "share of CPU time spent waiting for a lock",
        _NO_LOCKS,
    ),
    Metric(
        "operations_per_joule",
        "op/J",
        "higher",
        False,
        "operations for the energy of the processor's packages, for all processes",
        _NO_ENERGY,
    ),
    Metric(
        "joules_per_operation",
        "J",
        "lower",
        True,
        "energy of the processor's packages per operation, for all processes",
        _NO_ENERGY,
    ),
    Metric(
        "instructions_per_cycle",
        "",
        "higher",
        False,
        "instructions per cycle of the server",
        _NO_PMU,
    ),
    Metric(
        "dtlb_walks_per_1000_instructions",
        "",
        "lower",
        False,
        "page walks for data per 1000 instructions",
        _NO_PMU,
    ),
    Metric(
        "itlb_walks_per_1000_instructions",
        "",
        "lower",
        False,
        "page walks for code per 1000 instructions",
        _NO_PMU,
    ),
    Metric(
        "walk_cycles_per_cycle",
        "",
        "lower",
        False,
        "cycles of page walks per cycle; above 1 where several go on at once",
        _NO_PMU,
    ),
    Metric(
        "counted_per_operation",
        "",
        "lower",
        True,
        "a counter's growth per operation",
        "the study does not ask for its group in [measure] counters, or it cannot be counted here",
    ),
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

LOADED = frozenset({"load_seconds", "load_rows_per_s", "bytes_per_row"})
"""Of runs that load their data."""

WRITTEN = frozenset({"written_per_operation", "write_amplification"})
"""Of what the server writes to storage, looked at only where a study asks for one of them."""

MAX_RATE = "max_rate"

WORK = (
    "throughput",
    "max_rate",
    "operations_per_cpu_s",
    "cpu_per_operation",
    "load_seconds",
    "load_rows_per_s",
    "new_orders_per_minute",
    "tpmc",
    "tpcc_efficiency",
)
"""Work for a time, or time for a piece of work: what money buys, and other names for how fast a run
was."""

OF_LOCKS = FAMILIES - PRINTED - {COUNTED}
"""Families whose members are classes of locks, or of what else is waited for: those that a server
does not have, it does not report."""

GROUPS_OF = {
    "operations_per_joule": ("energy",),
    "joules_per_operation": ("energy",),
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
    return replace(found, name=name, unit=unit)


def names(members: Iterable[str] = ("data_cache", "index", "row", "lock")) -> list[str]:
    """Every metric's name, families with the members given."""
    members = list(members)
    plain = [m for m in METRICS if m not in FAMILIES]
    return plain + [f"{f}.{member}" for f in sorted(OF_LOCKS) for member in members]
