"""Fakes at the production seam: a target whose servers return what a test says, and a clock.

They implement `assay.targets.base` and nothing else, never sleep, and draw
their noise from the launch's own seed, so the whole pipeline runs exact and
instant.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from hdrh.histogram import HdrHistogram

from assay.bench import Clocks, prepare, run
from assay.changes import Evidence, RanFunction, SeenExecutable
from assay.core.errors import MissingError, RunError
from assay.native.messages import (
    CpuShare,
    Health,
    KindResult,
    SliceUse,
    ThreadResult,
    WindowInterval,
)
from assay.record import Bundle
from assay.study import Study
from assay.targets import TARGETS, Launch, Measured, OnInterval, Slices, Target
from assay.targets.base import OnBegin, ignore

HEALTHY = Health(
    loader="client",
    busiest_thread=0.3,
    late_sends=0.0,
    asked_per_s=None,
    achieved_per_s=1e6,
    server_idle=0.0,
    foreign_cpu=0.0,
    steal=0.0,
    clock_step_ms=0.0,
)


@functools.lru_cache(maxsize=1024)
def histogram(nanoseconds: float) -> str:
    """An encoded histogram with all its weight around a latency."""
    made = HdrHistogram(1, 60_000_000_000, 3)
    for percent in (80, 90, 100, 110, 150):
        made.record_value(int(nanoseconds * percent / 100), 200)
    return made.encode().decode()


class FakeClock:
    """Time that moves only when it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def clocks(self) -> Clocks:
        return Clocks(
            lambda: self.now,
            lambda: f"2026-01-01T00:00:{self.now:06.3f}",
            lambda waiting: waiting(0.3, 0.5, 60.0),
        )


Effect = Callable[[Mapping[str, Any], Mapping[str, Any]], float]


DRAWN = (
    *("cache_partitions", "data_cache", "hint", "lock", "padding", "pages", "pin"),
    *("repeat_every", "spin_limit", "threads"),
)
"""The settings that noise is drawn from: a fixed list, so that a new setting changes no sample."""


def no_effect(settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
    """Nothing makes a difference."""
    return 1.0


@dataclass
class FakeTarget(Target):
    """The engine's settings and workloads, with servers that only pretend.

    `effect` gives the true speed of a launch; `noise` is the standard deviation
    of one run's log; `script` may change what a run returns, by its number. With `warming`, the
    share of its full speed that a server has so many seconds after its start, a run is reported
    in the launch's intervals, whose logs have a standard deviation of `ripple` (else in one).
    """

    clock: FakeClock = field(default_factory=FakeClock)
    effect: Effect = no_effect
    noise: float = 0.01
    script: Callable[[int, Measured], Measured] = lambda number, measured: measured
    broken: Callable[[int, Launch], bool] = lambda number, launch: False
    lacking: Callable[[Launch], str] = lambda launch: ""
    lies: Mapping[str, Any] = field(default_factory=dict)
    warming: Callable[[Launch, float], float] | None = None
    ripple: float = 0.02
    machine: Callable[[int, int], float] = lambda seed, round_: 1.0
    """The machine's speed in a round of slices, the same for all arms."""
    idle_cpus: float = 0.0
    """CPUs that a server takes while others have the turn."""
    cold_s: float = 0.0
    """How long a server answers nothing at the beginning of a slice."""
    wandering: float = 0.0
    """How much slower the machine is half of the time, drawn anew for each run and for each second
    slice; a calibration sees it."""
    load_s: float = 0.0
    started: int = 0
    stopped: int = 0
    kind: str = "engine"
    text: str = "a fake"
    stand_in: str | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: TARGETS["engine"].settings)
    workloads: tuple[str, ...] = ("ycsb",)
    lock_classes: tuple[str, ...] = ("data_cache", "index", "row")

    def check(self, launch: Launch) -> None:
        why = self.lacking(launch)
        if why:
            raise MissingError(why, next_step="sysctl vm.nr_hugepages=64")

    def start(self, launch: Launch, log: Path) -> FakeServer:
        number = self.started
        self.started += 1
        return FakeServer(self, launch, number)

    def seconds(self, launch: Launch) -> float:
        return self.load_s + launch.warmup_s + launch.window_s


@dataclass
class FakeServer:
    """One pretended server."""

    target: FakeTarget
    launch: Launch
    number: int
    pid: int | None = None

    def read_back(self) -> Mapping[str, Any]:
        if self.target.broken(self.number, self.launch):
            raise RunError("the fake server did not start")
        padding = self.launch.settings.get("padding", 64) or 8
        return {**self.launch.settings, "lock_stride_bytes": padding, **self.target.lies}

    def measure(self, on_interval: OnInterval, on_begin: OnBegin = ignore) -> Measured:
        on_begin()
        seconds = self.target.seconds(self.launch)
        self.target.clock.now += seconds
        speed = self.target.effect(self.launch.settings, self.launch.env)
        drawn = f"{self.launch.seed} {self.drawn_settings()} {self.launch.env}"
        jitter = random.Random(drawn).gauss(0, self.target.noise)
        throughput = 1e6 * speed * math.exp(jitter)
        if self.target.warming is not None:
            return self.warming(throughput, on_interval)
        if self.launch.slices is not None:
            return self.sliced(throughput, self.launch.slices)
        throughput *= fmean(self.wandered(index) for index in range(10))
        operations = int(throughput * self.launch.window_s)
        on_interval(operations, self.launch.window_s)
        return self.target.script(self.number, self.measured(throughput, operations))

    def wandered(self, index: int) -> float:
        """The machine's speed in a slice of this run, or in a tenth of its window."""
        slow = random.Random(f"wandering {self.number} {index // 2}").random() < 0.5
        return 1.0 - self.target.wandering * slow

    def drawn_settings(self) -> list[tuple[str, Any]]:
        """What the noise is drawn from; a data cache goes by the name it had at first."""
        settings = self.launch.settings
        drawn = [(name, settings[name]) for name in DRAWN if name in settings]
        return [(n, "lock-free" if v == "optimistic" else v) for n, v in sorted(drawn)]

    def sliced(self, throughput: float, slices: Slices) -> Measured:
        """The same run in slices: the machine changes its speed from round to round."""
        own = [turn for turn, arm in enumerate(slices.order) if arm == slices.arm]
        length_s = slices.slice_s - slices.lead_s
        whole_ms = round(1000 * slices.lead_s)
        intervals = []
        for index, turn in enumerate(own):
            speed = throughput * self.turn_speed(slices, index, turn)
            warm = [ms >= 1000 * self.target.cold_s for ms in range(whole_ms)]
            rest_s = (turn - own[index - 1]) * slices.slice_s if index else None
            intervals.append(
                WindowInterval(
                    index=index,
                    start_ms=1000 * turn * slices.slice_s,
                    length_ms=1000 * length_s,
                    operations=int(speed * length_s),
                    errors=0,
                    histogram="",
                    slice=SliceUse(
                        turn=turn,
                        early=[int(speed / 1000) * is_warm for is_warm in warm],
                        server_cpu_s=length_s,
                        rest_s=rest_s,
                        rest_cpu_s=None if rest_s is None else rest_s * self.target.idle_cpus,
                        calibration=self.wandered(index) if slices.calibrate_s else None,
                        foreign_cpu_s=0.0,
                        steal_s=0.0,
                        drain_ms=0.1,
                    ),
                )
            )
        operations = sum(i.operations for i in intervals)
        found = self.measured(operations / (length_s * len(own)), operations)
        return self.target.script(self.number, replace(found, intervals=intervals))

    def turn_speed(self, slices: Slices, index: int, turn: int) -> float:
        """What the machine does to a slice."""
        if slices.calibrate_s:
            return self.wandered(index)
        return self.target.machine(self.launch.seed, turn // (max(slices.order) + 1))

    def warming(self, throughput: float, on_interval: OnInterval) -> Measured:
        """The same run in the launch's intervals, slow at first."""
        launch, target = self.launch, self.target
        drawn = random.Random(f"ripple {self.number} {launch.seed}")
        intervals: list[WindowInterval] = []
        for index in range(math.ceil(round(launch.window_s / launch.interval_s, 6))):
            start = index * launch.interval_s
            length = min(launch.interval_s, launch.window_s - start)
            share = target.warming(launch, launch.warmup_s + start + length / 2)
            rate = throughput * share * math.exp(drawn.gauss(0, target.ripple))
            intervals.append(
                WindowInterval(
                    index=index,
                    start_ms=1000 * start,
                    length_ms=1000 * length,
                    operations=int(rate * length),
                    errors=0,
                    histogram=histogram(round(2e9 / rate, -1)),
                )
            )
            on_interval(intervals[-1].operations, start + length)
        operations = sum(i.operations for i in intervals)
        found = self.measured(operations / launch.window_s, operations)
        return target.script(self.number, replace(found, intervals=intervals))

    def measured(self, throughput: float, operations: int) -> Measured:
        encoded = histogram(2e9 / throughput)
        contended = 0.0 if self.launch.settings["data_cache"] == "optimistic" else 0.2
        return Measured(
            complete=True,
            window_s=self.launch.window_s,
            operations=operations,
            errors=0,
            metrics={
                "throughput": throughput,
                "latency_p99": 3e9 / throughput,
                "cpu_per_operation": 2e9 / throughput,
                "contention.data_cache": contended,
            },
            counters={
                "grabs.data_cache": float(operations),
                "waits.data_cache": operations * contended,
                "spins.data_cache": operations * contended,
                "lookups.data_cache": float(operations),
                "repeats": 0.0,
                "huge_bytes": 0.0,
            },
            histogram=encoded,
            latency_of="operations",
            intervals=[
                WindowInterval(
                    index=0,
                    start_ms=0.0,
                    length_ms=self.launch.window_s * 1000,
                    operations=operations,
                    errors=0,
                    histogram=encoded,
                )
            ],
            threads=[
                ThreadResult(cpu=i, operations=operations // 2, cpu_s=self.launch.window_s)
                for i in range(2)
            ],
            cpus=[
                CpuShare(cpu=i, busy=0.97, user=0.95, system=0.02, softirq=0.0, steal=0.0)
                for i in range(2)
            ],
            health=HEALTHY,
        )

    def evidence(self) -> Evidence:
        settings = self.launch.settings
        hint, lock = settings["hint"], settings["lock"]
        cache = settings["data_cache"].replace("-", "_")
        slow = f"assay_lock_{lock}_slow_{hint}"
        lookup = f"assay_engine::cache::{cache}::lookup"
        return Evidence(
            read_back=self.read_back(),
            functions=(
                RanFunction("lock_slow", slow, 20, {} if hint == "none" else {hint: 1}, calls=10),
                RanFunction("data_cache_lookup", lookup, 60, {}, calls=10),
            ),
            memory={"bytes": 1 << 24, "anon_huge_bytes": 0, "private_hugetlb_bytes": 0},
            environ={k: v for k, v in self.launch.env.items() if v is not None},
            executable=SeenExecutable("0" * 64, "fake"),
        )

    def stop(self) -> None:
        self.target.stopped += 1


def throttled(measured: Measured) -> Measured:
    """The same run with a client that was the limit: one thread busy, the server idle."""
    limit = {"busiest_thread": 0.97, "server_idle": 0.4}
    return replace(measured, health=measured.health.model_copy(update=limit))


def moving(
    of_cache: Mapping[str, float], of_others: Mapping[str, float]
) -> Callable[[int, Measured], Measured]:
    """A script that gives metrics to runs with the lock-free cache and to the others, with a
    little noise."""

    def script(number: int, measured: Measured) -> Measured:
        mine = of_cache if measured.metrics["contention.data_cache"] == 0 else of_others
        noise = random.Random(number)
        more = {name: value * noise.uniform(0.99, 1.01) for name, value in mine.items()}
        return replace(measured, metrics={**measured.metrics, **more})

    return script


def with_kinds(
    latencies: Mapping[str, tuple[float, float]], operations: int = 20_000
) -> Callable[[int, Measured], Measured]:
    """A script that gives runs kinds of request: by kind the latency with the lock-free cache, and
    with the others, in nanoseconds."""

    def script(number: int, measured: Measured) -> Measured:
        is_fast = measured.metrics["contention.data_cache"] == 0
        draws = random.Random(number)
        kinds = {
            name: KindResult(
                operations=int(operations * draws.uniform(0.999, 1.001)),
                histogram=histogram(round(pair[not is_fast] * draws.uniform(0.98, 1.02))),
            )
            for name, pair in latencies.items()
        }
        return replace(measured, by_kind=kinds)

    return script


FACTS: dict[str, Any] = {
    "arch": "x86_64",
    "cpu_model": "a fake CPU",
    "cpus": 2,
    "cpu_features": ["sse4_2"],
    "memory_bytes": 1 << 34,
    "kernel": "6.1",
    "distribution": "Debian",
}

STUDY = """
name = "fake"
question = "Does anything help?"

[target]
kind = "engine"

[workload]
kind = "ycsb"

[measure]
primary = "throughput"
warmup = "100ms"
window = "300ms"
also = ["latency_p99"]

[[factor]]
name = "hint"
change = "engine.spin_hint"
on = "pause"

[[factor]]
name = "cache"
change = "engine.data_cache"

[design]
kind = "one-at-a-time"

[decide]
smallest = "5%"
margin = "5%"
budget = "60s"
"""


def run_fake(
    folder: Path,
    fake: FakeTarget,
    study: Study,
    seed: int = 7,
    facts: Mapping[str, Any] = FACTS,
    **options,
) -> Bundle:
    """Run a study on a fake target; its bundle."""
    targets, clocks = {"engine": fake}, fake.clock.clocks()
    options = {"base": Path("."), "seed": seed, "targets": targets, "clocks": clocks, **options}
    bundle = prepare(study, folder, facts, **options)
    run(bundle, targets=targets, clocks=clocks)
    return bundle


COMMAND = """change = "command"
[factor.levels.off]
apply = ["touch", "{d}/off"]
undo = ["rm", "{d}/off"]
witness = ["echo", "is off"]
expect = "is off"
[factor.levels.on]
apply = ["touch", "{d}/on"]
undo = ["rm", "{d}/on"]
witness = ["ls", "{d}/on"]
expect = "{d}/on"
"""
