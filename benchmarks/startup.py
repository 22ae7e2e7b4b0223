"""How long do the commands take that only read: from the shell's call to their last line?

Every command is a process of its own, as a user starts it. Runs are interleaved, in a new random
order each round, so that what else happens on the machine meets all alike. Printed are the medians
of the time on the clock and of the CPU time, with 95 % intervals of the median by order statistics.

    python benchmarks/startup.py [--json] [--runs N]
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from outcome import Row, write_json
from scipy.stats import binom

ASSAY = Path(sys.executable).with_name("assay")
SPIN = "void f(void) { __builtin_ia32_pause(); }\n"
GOALS_S = {"--help": 2.0, "audit": 2.0, "inspect": 2.0}
"""On the clock; that of `assay audit` is a promise, the others follow it."""


def commands(folder: Path) -> dict[str, list[str]]:
    """By name, what is started; `inspect` has one small source to read."""
    source = folder / "spin.c"
    source.write_text(SPIN)
    return {"--help": ["--help"], "audit": ["audit"], "inspect": ["inspect", str(source)]}


def spent(words: Sequence[str]) -> tuple[float, float]:
    """Seconds on the clock and of CPU; an exit code above 1 is a failure."""
    began = time.monotonic()
    process = subprocess.Popen(
        [str(ASSAY), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"assay {' '.join(words)} ended with {process.returncode}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the median by order statistics; all of them where there are few."""
    ordered, count = sorted(values), len(values)
    below = int(binom.ppf(0.025, count, 0.5))
    return ordered[max(0, below - 1)], ordered[min(count - 1, count - below)]


def rows_of(runs: int, seed: int) -> Iterator[Row]:
    """Two rows for each command."""
    with tempfile.TemporaryDirectory(prefix="assay-startup-") as folder:
        asked = commands(Path(folder))
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
        order = random.Random(seed)
        for _ in range(runs):
            for name in order.sample(list(asked), len(asked)):
                found[name].append(spent(asked[name]))
    for name, times in found.items():
        for what, values in zip(("clock", "CPU"), zip(*times, strict=True), strict=True):
            middle, (low, high) = statistics.median(values), median_interval(values)
            goal = GOALS_S[name] if what == "clock" else None
            yield Row(
                f"{name}: {what}", "", "s", middle, low=low, high=high,
                goal=f"< {goal:g}" if goal else "", met=goal is None or middle < goal,
            )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--runs", type=int, default=31, help="runs of each command")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    options = parser.parse_args(arguments)
    rows = list(rows_of(options.runs, options.seed))
    if options.json:
        write_json("startup", rows)
    else:
        for row in rows:
            word = "" if not row.goal else "met" if row.met else "MISSED"
            around = f"[{row.low:.3f}, {row.high:.3f}]"
            print(f"{row.metric:16s} {row.ours:7.3f} s {around} {row.goal:5s} {word}".rstrip())
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
