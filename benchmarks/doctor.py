"""What does `assay doctor` cost the server that it looks at?

Each server runs under its load, alone and with doctor looking at it, in a random order within each
round (`assay.decide`). What is compared is throughput. Doctor runs as people run it, as a command
of its own, from before the window until after it; reading symbols comes after its own window, so
that the load's window covers some of it.

Goal: throughput of at least 0.98 of what it is alone, by the worse end of the interval.

    python benchmarks/doctor.py [--quick] [--json] [--rounds N] [--seconds S] [--only redis]
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from outcome import Row, write_json

import assay
from assay.targets import TARGETS, Launch
from assay.workloads import WORKLOADS

ALONE, EXAMINED = "alone", "with doctor"
GOAL = 0.98
LOADS = {
    "redis": "redis-get",
    "mariadb": "oltp-point-select",
    "postgresql": "oltp-point-select",
    "nginx": "http-get",
}
COMMAND = (sys.executable, "-c", "from assay.cli import main; main()", "doctor")


def launch(kind: str, seconds: float) -> Launch:
    """A closed loop of eight connections."""
    workload = WORKLOADS[LOADS[kind]]
    parameters = {n: p.default for n, p in workload.parameters_for(kind).items()}
    defaults = {n: p.default for n, p in TARGETS[kind].settings.items() if p.default is not None}
    settings = {**defaults, "connections": 8}
    return Launch(settings, workload.kind, parameters, 3, 1.0, seconds)


def throughput(kind: str, seconds: float, examined: bool, log: Path) -> float:
    """Operations a second of one fresh server."""
    server = TARGETS[kind].start(launch(kind, seconds), log)
    doctor: subprocess.Popen[bytes] | None = None
    try:
        server.read_back()
        if examined:
            words = [*COMMAND, str(server.pid), "--for", f"{seconds:.0f}s", "--json"]
            quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            doctor = subprocess.Popen(words, **quiet)
        return server.measure(lambda done, spent_s: None).metrics["throughput"]
    finally:
        if doctor is not None:
            doctor.wait()
        server.stop()


def measured(kinds: Sequence[str], rounds: int, seconds: float) -> list[Row]:
    """A row for each server that is here."""
    rows = []
    for kind in kinds:
        if TARGETS[kind].found().startswith("not here"):
            continue
        found: dict[str, list[float]] = {ALONE: [], EXAMINED: []}
        with tempfile.TemporaryDirectory(prefix="bench-doctor-") as folder:
            for number in range(rounds):
                for name in random.Random(number).sample(list(found), len(found)):
                    log = Path(folder) / "log"
                    found[name].append(throughput(kind, seconds, name == EXAMINED, log))
        rows.append(row_of(kind, found))
    return rows


def row_of(kind: str, found: dict[str, list[float]]) -> Row:
    """Throughput with doctor against alone; `low` and `high` bound their ratio."""
    runs = [(block, name, v) for name, values in found.items() for block, v in enumerate(values)]
    verdict = assay.decide(runs, baseline=ALONE).verdicts[EXAMINED]
    low, high = (None if end is None else 1 + end for end in (verdict.low, verdict.high))
    ours, theirs = (statistics.median(found[name]) for name in (EXAMINED, ALONE))
    met = low is not None and low >= GOAL
    ratio = 1 + verdict.estimate
    return Row(kind, ALONE, "op/s", ours, theirs, ratio, low, high, f">= {GOAL}x", met)


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short round: no numbers to use")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rounds", type=int, default=12, help="times that everything is run")
    parser.add_argument("--seconds", type=int, default=10, help="how long a window is")
    parser.add_argument("--only", choices=LOADS, help="one server")
    options = parser.parse_args(arguments)
    rounds, seconds = (1, 1) if options.quick else (options.rounds, options.seconds)
    rows = measured([options.only] if options.only else list(LOADS), rounds, seconds)
    if options.json:
        write_json("doctor", rows)
    else:
        for row in rows:
            ends = "no interval" if row.low is None else f"[{row.low:.3f}, {row.high:.3f}]"
            word = "met" if row.met else "MISSED"
            print(f"{row.metric:12s} {row.ours:10.4g} {row.theirs:10.4g} op/s  "
                  f"{row.ratio:.3f} {ends} {row.goal} {word}")  # fmt: skip
    return 0 if options.quick or all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
