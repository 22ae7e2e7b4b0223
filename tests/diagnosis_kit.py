"""Servers as doctor would have gathered them: evidence that a test says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from assay.diagnosis import ExaminedServer, Gathered
from assay.diagnosis.gathering import Sources
from assay.diagnosis.records import CpuSecond, ServerAnswers, Unseen
from assay.linux.cgroups import GroupLimits
from assay.linux.disks import DiskCounts
from assay.linux.threads import RunTimes, ThreadState
from assay.record import ProfiledFunction, ProfiledStack, RunProfile

FACTS: Mapping[str, Any] = {
    "arch": "x86_64",
    "cpus": 2,
    "cpu_features": ["sse4_2", "pclmulqdq"],
    "page_bytes": 4096,
    "cache_line_bytes": 64,
    "numa_nodes": 1,
    "thp": {"enabled": "madvise", "defrag": "madvise"},
    "can": {
        "pmu": {"ok": False, "why": "a virtual machine without counters"},
        "htm": {"state": "absent", "why": "the processor has none"},
    },
}

Chains = Mapping[tuple[str, ...], int]


def server(kind: str = "postgresql", **fields: Any) -> ExaminedServer:
    """A server that was found."""
    names = {"postgresql": "postgres", "mariadb": "mariadbd", "redis": "redis-server"}
    name = names.get(kind, kind or "spinner")
    said = {"pid": 4242, "name": name, "kind": kind, "executable": f"/usr/bin/{name}"}
    return ExaminedServer(**{**said, "build_id": "", "processes": 1, "threads": 4, **fields})


def profile(chains: Chains, kernel: bool = True, module: str = "server") -> RunProfile:
    """Samples of chains, outermost first."""
    names = list(dict.fromkeys(name for chain in chains for name in chain))
    return RunProfile(
        event="cpu-clock",
        hz=199,
        kernel=kernel,
        seconds=10.0,
        late_s=0.0,
        samples=sum(chains.values()),
        lost=0,
        cpu_s=0.1,
        functions=[ProfiledFunction(name=n, module=module) for n in names],
        stacks=[
            ProfiledStack(frames=[names.index(n) for n in chain], count=count)
            for chain, count in chains.items()
        ],
    )


def gathered(kind: str = "postgresql", chains: Chains | None = None, **fields: Any) -> Gathered:
    """Ten seconds of a server."""
    said: dict[str, Any] = {
        "subject": server(kind),
        "seconds": 10.0,
        "facts": dict(FACTS),
        "profile": profile(chains) if chains else None,
        "counters": {"process.cpu_us": 9e6},
    }
    return Gathered(**said | fields)


TINY_BUFFERS = gathered(
    chains={("exec", "x64_sys_call", "__x64_sys_pread64", "copy_page"): 460, ("exec",): 540},
    answers=ServerAnswers(
        counters={"blks_read": 80_000.0, "blks_hit": 20_000.0, "tup_fetched": 9e4, "wal_sync": 0.0},
        waited_ns={"IO/DataFileRead": 2e9, "LWLock/BufferMapping": 1e9},
        running_ns=17e9,
        looks=200,
        levels={"postgresql.shared_buffers": "1MB", "postgresql.synchronous_commit": "on"},
        settings={"shared_buffers": "1MB"},
        connections=8,
    ),
)
"""PostgreSQL that reads most pages from files."""

HEALTHY = gathered(
    chains={("exec",): 900, ("exec", "__x64_sys_sendto"): 95, ("exec", "pg_crc32c"): 5},
    answers=ServerAnswers(
        counters={"blks_read": 0.0, "blks_hit": 1e6, "tup_fetched": 1e6, "wal_sync": 0.0},
        running_ns=20e9,
        looks=200,
        levels={"postgresql.shared_buffers": "128MB", "postgresql.jit": "on"},
    ),
)
"""PostgreSQL with nothing but its work."""


class Profiler:
    """A profiler that says what it was given."""

    def __init__(self, says: Any) -> None:
        self.says, self.marks, self.stopped = says, 0, False

    def mark(self) -> None:
        self.marks += 1

    def finish(self) -> Any:
        if isinstance(self.says, Exception):
            raise self.says
        return self.says, 0.0

    def stop(self) -> None:
        self.stopped = True


class Sampler(Profiler):
    """A sampler that says what it was given."""

    def __init__(self, says: Any, series: Any) -> None:
        super().__init__(says)
        self.series = series

    def finish(self) -> Any:
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


class Recorded(Sources):
    """Everything that production asks of a machine, out of a test's hands; time passes by sleeping
    only."""

    def __init__(self, profiler: Any, sampler: Any, conversation: Any) -> None:
        self.profiler, self.sampler, self.conversation = profiler, sampler, conversation
        self.at = 100.0
        self.ran = 0

    def facts(self) -> dict[str, Any]:
        return dict(FACTS)

    def profiling(self, server: Any, facts: Any) -> Any:
        return self.profiler

    def counting(self, server: Any, facts: Any) -> Any:
        return self.sampler

    def walks(self, counts: Any) -> None:
        return None

    def converse(self, server: Any) -> Any:
        return self.conversation

    def states(self, pid: int) -> Counter[ThreadState]:
        return Counter({ThreadState("worker", "R", ""): 1, ThreadState("worker", "D", "jbd2"): 3})

    def run_times(self, pid: int) -> dict[int, RunTimes]:
        self.ran += 1
        return {1: RunTimes(self.ran * 10**9, self.ran * 3 * 10**9)}

    def disks(self) -> dict[str, DiskCounts]:
        n = self.ran
        return {"vda": DiskCounts(n * 10, n * 20, n * 40, n * 20, n * 500, n * 900, n * 5, n * 50)}

    def limits(self, pid: int) -> GroupLimits:
        return GroupLimits(cpus=0.5, memory=1 << 30, throttled_us=self.ran * 10**6)

    def memory(self, pid: int) -> dict[str, int]:
        return {"touched_bytes": 1 << 20, "anon_huge_bytes": 0}

    def code(self, profile: Any, pid: int, facts: Any) -> Any:
        return [], [Unseen("the code of libx.so", "gone", "run as root")]

    def rules(self, server: Any) -> Any:
        return [], []

    def sleep(self, seconds: float) -> None:
        self.at += seconds

    def now(self) -> float:
        return self.at


def cpu_seconds(*softirqs: float) -> list[CpuSecond]:
    """A second of as many CPUs."""
    return [CpuSecond(1.0, cpu, 0.3, 0.1, 0.0, s, 0.0) for cpu, s in enumerate(softirqs)]
