"""Do TPC-C's terminals of 1,000 warehouses run from one core and under 200 MB?

Per protocol: a stand-in that answers without data runs on the other CPUs, and `assayer load` with
10,000 sessions, keying and think times is pinned to one. Printed: the most memory that it had
(which with few sessions is what it takes to read its own program file, once), that at the end for
each session beyond a run with ten, the CPU it used, New-Orders a minute against the most that the
waits allow, and how late requests were sent.

    python benchmarks/terminals.py [--quick] [--json] [--seconds N] [--only PROTOCOL ...]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from outcome import Row, write_json

from assay.load import Load, Summary, TpccReport, parse_url, run_load, serve
from assay.load.serve import STAND_IN_PROTOCOLS

TERMINALS_PER_WAREHOUSE = 10
FEW = 10
WARMUP_S = 80.0
"""New-Orders have the longest keying time, so that at first too few of them are sent, and then too
many: simulated with these waits, the rate is within a percent of its mean after so long."""

MEMORY_MB = 200
CPU_SHARE = 1.0
EFFICIENCY = 0.95
"""Of 12.86 New-Orders a minute and warehouse; a deck of 23 cards, of whose New-Orders a hundredth
rolls back, allows 0.98 of it."""


@dataclass(frozen=True)
class Run:
    """One run of the client; memory in bytes, the share of the CPU without waiting for times."""

    summary: Summary
    report: TpccReport
    rss: int
    cpu_share: float


@contextlib.contextmanager
def pinned(cpus: set[int]) -> Iterator[None]:
    """What is started meanwhile runs on these CPUs."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Watch:
    """The most memory that a child process of this one, other than those before, ever had."""

    def __init__(self) -> None:
        self.before = set(_children())
        self.most = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self.is_over.wait(0.05):
            for pid in set(_children()) - self.before:
                self.most = max(self.most, _peak(pid))

    def __enter__(self) -> Watch:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.thread.join()


def _children() -> list[int]:
    found = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found


def _peak(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def run(url: str, terminals: int, seconds: float, warmup: float, scale: float) -> Run:
    """The client, on the CPU that this process is pinned to."""
    warehouses = max(1, terminals // TERMINALS_PER_WAREHOUSE)
    options = {"warehouses": warehouses, "waits": True, "wait_scale": scale}
    load = Load(
        parse_url(url), "tpcc", options, connections=terminals, time_s=seconds, warmup_s=warmup
    )
    with Watch() as watch:
        summary = run_load(load)
    share = summary.cpu_us_per_operation * summary.operations / 1e6 / summary.window_s
    return Run(summary, TpccReport.of(summary, options), watch.most, share)


def rows_of(protocol: str, terminals: int, seconds: float, scale: float) -> list[Row]:
    """Both runs of a protocol, and what they show."""
    cpus = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        with pinned(set(cpus[1:] or cpus)):
            url = stack.enter_context(serve("tpcc", protocol=protocol))[0]
        stack.enter_context(pinned({cpus[0]}))
        few = run(url, FEW, 2, 1, 0.01)
        begun = time.monotonic()
        many = run(url, terminals, seconds, WARMUP_S * scale, scale)
        took = time.monotonic() - begun
    each = (many.summary.rss_bytes - few.summary.rss_bytes) / (terminals - FEW)
    efficiency = many.report.efficiency
    is_sound = many.summary.complete and many.summary.errors == 0
    late = many.summary.lateness_ns

    def row(metric: str, unit: str, value: float, goal: str = "", met: bool = True) -> Row:
        return Row(f"{protocol}: {metric}", "", unit, value, goal=goal, met=met)

    megabytes = many.rss / 1e6
    rows = [
        row("peak memory", "MB", megabytes, f"< {MEMORY_MB}", megabytes < MEMORY_MB),
        row("of that with ten sessions", "MB", few.rss / 1e6),
        row("memory at the end", "MB", many.summary.rss_bytes / 1e6),
        row("per session beyond", "bytes", each),
        row("CPU of one core", "%", 100 * many.cpu_share, "< 100", many.cpu_share < CPU_SHARE),
        row("transactions without an error", "", many.summary.operations, "all", is_sound),
        row("new orders a minute", "tpmC", many.report.new_orders_per_minute),
        row("sends late, 99 %", "us", late["0.99"] / 1e3),
        row("sends late, most", "us", late["max"] / 1e3),
        row("with logins and warm-up", "s", took),
    ]
    if efficiency is not None:
        goal, is_met = f">= {100 * EFFICIENCY:g}", efficiency >= EFFICIENCY
        rows.append(row("of 12.86 per warehouse", "%", 100 * efficiency, goal, is_met))
    return rows


def table(rows: list[Row]) -> Iterator[str]:
    """The rows for people."""
    for row in rows:
        word = "" if not row.goal else "met" if row.met else "MISSED"
        yield f"{row.metric:44s} {row.ours:12.1f} {row.unit:6s} {row.goal:8s} {word}".rstrip()


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny parameters: no numbers to use")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--seconds", type=float, default=60, help="how long to measure")
    parser.add_argument(
        "--only", nargs="+", choices=STAND_IN_PROTOCOLS, default=list(STAND_IN_PROTOCOLS),
        help="protocols",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    terminals, seconds, scale = (200, 1.0, 0.02) if options.quick else (10_000, options.seconds, 1)
    rows = [
        row for protocol in options.only for row in rows_of(protocol, terminals, seconds, scale)
    ]
    if options.json:
        write_json("terminals", rows)
    else:
        print("\n".join(table(rows)))
    return 0 if options.quick or all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
