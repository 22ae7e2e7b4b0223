"""What every target is: a server that can be started, asked, measured and stopped.

A target knows no change. It is handed a launch (settings, environment,
executable, workload), starts a server in a process of its own, and hands back
what was measured and the evidence that witnesses look at. Fakes implement
these two protocols and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from assay.changes import Evidence
from assay.core.parameters import Parameter
from assay.host.traits import UNKNOWN, ServerTraits
from assay.native.messages import CpuShare, Health, KindResult, ThreadResult, WindowInterval
from assay.targets.servers.framework.attachment import Attachable
from assay.workloads.promise import Promise


@dataclass(frozen=True)
class Around:
    """Where a server and its client run: words that stand before their commands.

    `host` is the server's address; `server_cpus` are those it is bound to, if it is bound.
    With `counts_packets` the kernel's counters of packets by CPU are taken over the window.
    """

    server: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    server_cpus: tuple[int, ...] = ()
    is_watched: bool = False
    """Whether it is evidence where the threads run, though nothing binds them."""
    counts_packets: bool = False

    @property
    def looks(self) -> bool:
        """Whether the placement of threads is to be read."""
        return bool(self.server or self.client or self.is_watched)


PLAIN = Around()
"""Anywhere, as this process."""


@dataclass(frozen=True)
class Slices:
    """Arms that live side by side take turns: which slices this one has. Times in seconds.

    `board` is a file that the processes of all arms share; `order` is the arm of each slice. Of a
    slice of `slice_s` the first `lead_s` do not count. Who waits for another longer than
    `patience_s` gives up. `calibrate_s`: of an arm that is alone, how long its client says between
    slices how fast the machine is.
    """

    board: Path
    arm: int
    order: tuple[int, ...]
    slice_s: float
    lead_s: float = 0.005
    patience_s: float = 60.0
    calibrate_s: float = 0.0

    def request(self, server_pid: int | None) -> dict[str, Any]:
        """For `assayer`; the tree of `server_pid` is stopped between this arm's slices."""
        return {
            "board": str(self.board),
            "arm": self.arm,
            "order": list(self.order),
            "slice_us": round(self.slice_s * 1e6),
            "lead_us": round(self.lead_s * 1e6),
            "freeze_pid": server_pid,
            "calibrate_us": round(self.calibrate_s * 1e6),
            "patience_s": round(self.patience_s),
        }


@dataclass(frozen=True)
class Launch:
    """One start of a server. Times in seconds; `seed` drives the workload's inputs.

    The window is reported in intervals of `interval_s`, and one for what remains of it.
    """

    settings: Mapping[str, Any]
    workload: str
    parameters: Mapping[str, Any]
    seed: int
    warmup_s: float
    window_s: float
    env: Mapping[str, str | None] = field(default_factory=dict)
    binary: str | None = None
    interval_s: float = 1.0
    around: Around = PLAIN
    slices: Slices | None = None
    timeline: bool = False
    """Whether the server is asked about itself at the end of each interval."""
    promise: Promise | None = None
    """What a run searches the highest rate of."""
    storage: bool = False
    """Whether what the server writes to storage is looked at in each interval."""

    def times(self, server_pid: int | None = None) -> dict[str, Any]:
        """The times of the window, as every request of `assayer` has them."""
        times: dict[str, Any] = {
            "warmup_ms": round(self.warmup_s * 1000),
            "window_ms": round(self.window_s * 1000),
            "interval_ms": round(self.interval_s * 1000),
        }
        return (
            times if self.slices is None else {**times, "slices": self.slices.request(server_pid)}
        )


@dataclass(frozen=True)
class Measured:
    """What one run measured.

    `metrics` by name in the units of `assay.core.metrics`; `counters` are totals of
    the window, families with a dot; `histogram` and those in `intervals` are
    HdrHistogram V2, deflated, base64, in ns; `health` feeds the guard; `errors`
    are operations that failed, a part of `operations`; `latency_of` says what one
    latency is of: "operations", or "batches of 1024" where one is too short to time;
    `overhead_ns_per_operation` is what measuring takes of an operation's time, None where that is
    not the server's; `by_kind` has the operations and the histogram of each kind of request;
    `series` are those of `assay.core.timeline`: growth, or state, in each of `intervals`.
    """

    complete: bool
    window_s: float
    operations: int
    errors: int
    metrics: Mapping[str, float]
    counters: Mapping[str, float]
    histogram: str
    latency_of: str
    intervals: list[WindowInterval]
    threads: list[ThreadResult]
    cpus: list[CpuShare]
    health: Health
    overhead_ns_per_operation: float | None = None
    by_kind: Mapping[str, KindResult] = field(default_factory=dict)
    series: Mapping[str, list[float | None]] = field(default_factory=dict)


OnInterval = Callable[[int, float], None]
"""Called as a window goes on: operations so far, seconds so far."""

OnBegin = Callable[[], None]
"""Called when a window begins."""


def ignore() -> None:
    """Nobody wants to know."""


class Server(Protocol):
    """One started server."""

    @property
    def pid(self) -> int | None:
        """Its first process, as soon as it is started; None if it runs on another machine."""
        ...

    def read_back(self) -> Mapping[str, Any]:
        """Its settings as it reports them, once it is ready; RunError if it never is."""
        ...

    def measure(self, on_interval: OnInterval, on_begin: OnBegin = ignore) -> Measured:
        """Warm up and measure; blocks until the window is over."""
        ...

    def evidence(self) -> Evidence:
        """What witnesses look at, after the window."""
        ...

    def stop(self) -> None:
        """End it, whatever state it is in. Safe to call twice."""
        ...


class Target(Protocol):
    """A kind of server under test. Targets inherit from it: what has a value or a body below need
    not be said again."""

    kind: str
    text: str
    settings: Mapping[str, Parameter]
    """Every setting that a study may give."""
    workloads: tuple[str, ...]
    stand_in: str | None = None
    lock_classes: tuple[str, ...] = ()
    protocol: str = ""
    """What the load speaks to it; empty where the load runs inside it."""
    is_bundled: bool = False
    """Whether it is a part of Assay, and so always here."""
    is_movable: bool = False
    """Whether its server can be started in a network of its own, and be reached there."""
    takes_turns: bool = False
    """Whether several of its servers may live side by side, and take turns."""
    through_page_cache: bool = False
    """Whether what its servers write waits in the kernel, which writes it out when it likes."""
    searches_rate: bool = False
    """Whether a run can search the highest rate at which a promise about latency is kept."""
    loads_in_run: bool = False
    """Whether each run loads its data set, and so has `load_seconds`."""
    is_named: bool = False
    """Whether the study says what is started, by a command: Assay knows nothing of it."""
    attachable: Attachable | None = None
    """What can be done to one that already runs; None if Assay must start it."""
    traits: ServerTraits = UNKNOWN
    """What the rules of a host know of it."""

    @property
    def listed_settings(self) -> Mapping[str, Parameter]:
        """Those worth a line each in a list: not the hundreds that a server has by itself."""
        return self.settings

    @property
    def own_settings(self) -> int | None:
        """How many settings it has beside those; None if that is unknown until it is here."""
        return len(self.settings.keys() - self.listed_settings.keys())

    def found(self) -> str:
        """For a list: the version that is here, or the one command that gets it; empty of one that
        is a part of Assay."""
        return ""

    def identity(self) -> tuple[str, str] | None:
        """The SHA-256 of the server's executable that is here, and what it says of itself; None
        where the target itself tells in each run."""
        return None

    def check(self, launch: Launch) -> None:
        """Raise MissingError if this machine cannot run the launch; starts no workload."""
        ...

    def start(self, launch: Launch, log: Path) -> Server:
        """Start a server; its stderr is appended to `log`."""
        ...

    def seconds(self, launch: Launch) -> float:
        """A guess of one run's length, start and load included, before any was made."""
        ...

    def huge_bytes(self, launch: Launch, page_bytes: int) -> int:
        """What it needs in a pool of huge pages of this size, rather too much than too little;
        MissingError if it cannot use such pages."""
        ...
