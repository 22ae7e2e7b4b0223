"""What `assay doctor` gathers from a server, and what it makes of it.

`Gathered` is all that was seen: it can be written down and judged again, anywhere. `Diagnosis` is
what follows, and what `--json` prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from assay.core.terms import Effort
from assay.host.rules import HostFinding
from assay.linux.cgroups import GroupLimits
from assay.record import RunProfile
from assay.verdict.rows import Bounded

Standing = Literal["stands out", "possible", "no bound", "ruled out"]
"""Of a candidate: its mechanism wastes much time; it could matter; nothing here bounds it; its
bound is too small to matter."""

Kind = Literal["change", "host rule", "build"]


@dataclass(frozen=True)
class ExaminedServer:
    """The server. `kind` is a target of Assay, empty where it is none; `url` has no password."""

    pid: int
    name: str
    kind: str
    executable: str
    build_id: str
    processes: int
    threads: int
    url: str = ""


@dataclass(frozen=True)
class Unseen:
    """What could not be seen, why, and what would show it."""

    what: str
    why: str
    way: str


@dataclass(frozen=True)
class ThreadWait:
    """Threads of one name in one state, as a share of all looks at threads; docs/doctor.md."""

    name: str
    state: str
    where: str
    share: float


@dataclass(frozen=True)
class DiskUse:
    """A disk over the window. Times in ms; `busy` and `queue` are means over the window, None where
    the kernel does not count it."""

    name: str
    reads_per_s: float
    writes_per_s: float
    read_ms: float | None
    write_ms: float | None
    busy: float
    queue: float
    flushes_per_s: float | None
    flush_ms: float | None


@dataclass(frozen=True)
class CpuSecond:
    """One CPU over one reading, shares of its time."""

    at_s: float
    cpu: int
    user: float
    system: float
    irq: float
    softirq: float
    steal: float


@dataclass(frozen=True)
class ServerAnswers:
    """What the server said of itself over the window. `waited_ns`: time that statements waited, by
    event, and `running_ns` that they did not, where that
    is counted, by `looks` at statements or, if 0, by the server's clock; `levels`: by change of the
    catalogue the level in force; `settings`: by setting what changes of the catalogue switch."""

    counters: dict[str, float] = field(default_factory=dict)
    waited_ns: dict[str, float] = field(default_factory=dict)
    running_ns: float | None = None
    looks: int = 0
    levels: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    connections: int | None = None


@dataclass(frozen=True)
class Flaw:
    """What `assay inspect` says of a function that is hot."""

    rule: str
    severity: str
    evidence: str
    reason: str
    advice: str
    study: str
    listing: tuple[str, ...] = ()


@dataclass(frozen=True)
class HotCode:
    """The code of a hot function: its instructions by kind, whether a loop in it waits for memory
    with a spin hint, and what is wrong with it."""

    name: str
    module: str
    instructions: dict[str, int]
    spins: bool
    flaws: tuple[Flaw, ...] = ()


@dataclass(frozen=True)
class Gathered:
    """All that was seen. `counters`: growth over the window, of the host and of the server's
    processes, by the names of docs/counters.md; `memory` in bytes; `thread_looks`:
    threads that were looked at, each as often as it was; `ran_s` is time of its threads on
    CPUs, `delayed_s` time in which they were ready and had none; `throttled_s`: time for which its
    control group was held up; `host_values`: what the keys of cures hold
    now; `cost_s`: CPU time that looking took."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    subject: ExaminedServer
    seconds: float
    facts: dict[str, Any]
    profile: RunProfile | None = None
    counters: dict[str, float] = field(default_factory=dict)
    cpus: list[CpuSecond] = field(default_factory=list)
    walks: Bounded | None = None
    threads: list[ThreadWait] = field(default_factory=list)
    thread_looks: int = 0
    ran_s: float | None = None
    delayed_s: float | None = None
    disks: list[DiskUse] = field(default_factory=list)
    limits: GroupLimits | None = None
    throttled_s: float | None = None
    memory: dict[str, int] = field(default_factory=dict)
    answers: ServerAnswers | None = None
    code: list[HotCode] = field(default_factory=list)
    host: list[HostFinding] = field(default_factory=list)
    host_values: dict[str, str] = field(default_factory=dict)
    unseen: list[Unseen] = field(default_factory=list)
    cost_s: float = 0.0


@dataclass(frozen=True)
class HotFunction:
    """A function, or a file of code: its own share of the server's CPU time, with its interval of
    95 %, and for a function the share with what it calls."""

    name: str
    module: str
    own: Bounded
    total: float | None


@dataclass(frozen=True)
class CpuUse:
    """A CPU over the window, shares of its time; `busy` by reading, in order."""

    cpu: int
    user: float
    system: float
    irq: float
    softirq: float
    steal: float
    busy: list[float]


@dataclass(frozen=True)
class Wait:
    """What statements wait for, as a share of their time."""

    event: str
    share: float


@dataclass(frozen=True)
class Noticed:
    """A figure worth a line: of pressure, run queue, faults, limits, packets, disks."""

    name: str
    text: str
    grave: bool


@dataclass(frozen=True)
class Candidate:
    """Something to try, or not.

    `share`: time spent in its mechanism, of `share_of`; `most`: the gain that no trial can exceed,
    a fraction; both None where nothing bounds them, and `why` says it. `now`: the level in force,
    `levels`: those to try. `moves`: what it should move, as metric and direction. `study`: a file
    that `assay run` takes, empty where there can be none, and `no_study` says why.
    """

    name: str
    kind: Kind
    text: str
    standing: Standing
    why: str
    evidence: tuple[str, ...]
    share: Bounded | None
    share_of: str
    most: Bounded | None
    effort: Effort
    risk: str
    moves: tuple[tuple[str, str], ...]
    now: str
    levels: tuple[str, ...]
    study: str = ""
    no_study: str = ""


@dataclass(frozen=True)
class Trial:
    """What the study of a candidate found: the level that did best, its verdict, and its effect
    with its interval, fractions, up is better. `bound`: the gain that doctor held to be the most;
    `holds`: whether what was measured lies within it, None without one of the two. `why`: why
    nothing was measured, else empty."""

    candidate: str
    bundle: str
    level: str = ""
    word: str = ""
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    bound: float | None = None
    holds: bool | None = None
    why: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """The answer: candidates stand in their order, those that stand out first. `cost` is the share
    of the machine's CPU time that looking took; `smallest` the gain below which none matters;
    `trials` what the studies of some found, where they were run."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    subject: ExaminedServer
    seconds: float
    cost: float
    smallest: float
    samples: int
    functions: list[HotFunction]
    modules: list[HotFunction]
    waits: list[Wait]
    threads: list[ThreadWait]
    cpus: list[CpuUse]
    noticed: list[Noticed]
    host: list[HostFinding]
    code: list[HotCode]
    candidates: list[Candidate]
    unseen: list[Unseen]
    trials: list[Trial] = field(default_factory=list)

    @property
    def stands_out(self) -> list[Candidate]:
        """What is sick, the worst first; empty of a healthy server."""
        return [c for c in self.candidates if c.standing == "stands out"]
