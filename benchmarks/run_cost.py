"""What does one run of a real server cost besides its warm-up and window?

Each run is made as a study makes it: data are reset, the server is started, asked what it has,
put under a load for a short window, asked again, looked at, and ended. What is timed is each of
these; what is printed is the median over the runs, beside the goal for their sum. Data are made
once before, and not counted. "window" is what the load took around warm-up and window: starting
its process, its connections, and the server's counters.

    python benchmarks/run_cost.py [--quick] [--json] [--runs N] [--only KIND ...]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from outcome import Row, write_json

from assay.targets import TARGETS, Launch
from assay.targets.servers.framework.target import ServerTarget
from assay.workloads import WORKLOADS

PHASES = ("reset", "start", "ask", "window", "look", "stop")
WARMUP_S, WINDOW_S = 0.1, 0.5
ROWS = {"tables": 10, "table_size": 30_000}
"""About 70 MB in either server: systems of the published studies, scaled to two CPUs."""


@dataclass(frozen=True)
class Cost:
    """A workload of a server, and the most seconds that a run of it may cost."""

    workload: str
    goal_s: float
    parameters: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that make less data."""


FEW = {"tables": 1, "table_size": 1000}
COSTS = {
    "mariadb": Cost("oltp-read-write", 3.0, ROWS, FEW),
    "postgresql": Cost("oltp-read-write", 3.0, ROWS, FEW),
    "redis": Cost("redis-get", 0.5, {"keys": 10_000}, {"keys": 100}),
    "valkey": Cost("redis-get", 0.5, {"keys": 10_000}, {"keys": 100}),
    "nginx": Cost("http-proxy", 0.5),
}


def launch(kind: str, cost: Cost, quick: bool) -> Launch:
    """One run, with what a study that names nothing else would have."""
    known, workload = TARGETS[kind].settings, WORKLOADS[cost.workload]
    settings = {n: p.default for n, p in known.items() if p.default is not None}
    settings |= {n: v for n, v in workload.settings.items() if n in known}
    takes = workload.parameters_for(kind)
    given = cost.quick if quick else cost.parameters
    parameters = {n: p.default for n, p in takes.items()} | dict(given)
    return Launch(settings, cost.workload, parameters, 1, WARMUP_S, WINDOW_S, interval_s=0.25)


def spent(target: ServerTarget, made: Launch, log: Path) -> dict[str, float]:
    """Seconds of each part of one run; `resident` is what the server's data measure, in bytes."""
    times = [time.monotonic()]
    server = target.start(made, log)
    try:
        times.append(time.monotonic())
        server.read_back()
        times.append(time.monotonic())
        measured = server.measure(lambda done, seconds: None)
        times.append(time.monotonic())
        server.evidence()
        times.append(time.monotonic())
    finally:
        server.stop()
    times.append(time.monotonic())
    whole, ask, window, look, stop = (b - a for a, b in pairwise(times))
    reset = measured.counters["reset_s"]
    window -= made.warmup_s + made.window_s
    # What is left of the start are the copy's and the server's; version and settings are asked too.
    return dict(zip(PHASES, (reset, whole - reset, ask, window, look, stop), strict=True))


def rows_of(kind: str, runs: int, quick: bool) -> list[Row]:
    """The medians of some runs of one server."""
    cost = COSTS[kind]
    target, made = TARGETS[kind], launch(kind, cost, quick)
    assert isinstance(target, ServerTarget), kind
    target.check(made)
    with tempfile.TemporaryDirectory(prefix="assay-run-cost-") as folder:
        log = Path(folder) / "log"
        target.start(made, log).stop()
        found = [spent(target, made, log) for _ in range(runs)]
    rows = [
        Row(f"{kind}: {phase}", "", "s", statistics.median(f[phase] for f in found))
        for phase in PHASES
    ]
    whole = sorted(sum(f.values()) for f in found)
    middle = statistics.median(whole)
    goal = f"< {cost.goal_s:g}"
    is_met = middle < cost.goal_s
    return [
        *rows,
        Row(f"{kind}: a run", "", "s", middle, low=whole[0], high=whole[-1], goal=goal, met=is_met),
    ]


def table(rows: list[Row]) -> Iterator[str]:
    """The rows for people."""
    for row in rows:
        word = "" if not row.goal else "met" if row.met else "MISSED"
        around = "" if row.low is None else f"{row.low:.3f} to {row.high:.3f}"
        yield f"{row.metric:24s} {row.ours:8.3f} {row.unit:3s} {row.goal:6s} {word:6s} {around}"


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny data: no numbers to use")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--runs", type=int, default=9, help="runs of each server")
    parser.add_argument("--only", nargs="+", choices=COSTS, default=list(COSTS), help="servers")
    options = parser.parse_args(arguments)
    runs = 1 if options.quick else options.runs
    rows = [row for kind in options.only for row in rows_of(kind, runs, options.quick)]
    if options.json:
        write_json("run_cost", rows)
    else:
        print("\n".join(line.rstrip() for line in table(rows)))
    return 0 if options.quick or all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
