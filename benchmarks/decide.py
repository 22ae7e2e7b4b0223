"""How long, and in how much memory, does `assay decide` read and decide on a million runs?

A file of ten arms in random order inside blocks is written to a temporary folder. The installed
command decides on it as a process of its own, start and import included: as it stands, without
the column `order`, and as a planned study whose looks are replayed. Beside it, on the same file
and in turns with it, what people write for themselves: the csv module and a test of scipy per
arm. Those give a p value each; an estimate, an interval at the family's level, a verdict and the
warnings come with ours.

Time and peak resident memory are those the kernel counts for the process (wait4). The goals speak
of the worst of the repeats.

    python benchmarks/decide.py [--quick] [--json] [--rows N] [--repeats N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from outcome import Row, write_json

ASSAY = Path(sys.executable).with_name("assay")
ARMS = 10
GOAL_S, GOAL_MB = 30, 2048

RIVAL = """
import csv, math, sys
from scipy import stats

runs = {}
with open(sys.argv[1], newline="") as file:
    for row in csv.DictReader(file):
        runs.setdefault(row["arm"], {})[row["block"]] = math.log(float(row["value"]))
base = runs.pop("arm0")
for arm, found in runs.items():
    print(arm, TEST)
"""
RIVALS = {
    "csv and scipy.stats.wilcoxon": "stats.wilcoxon([found[b] - base[b] for b in base]).pvalue",
    "csv and scipy.stats.mannwhitneyu": (
        "stats.mannwhitneyu(list(found.values()), list(base.values())).pvalue"
    ),
}


@dataclass(frozen=True)
class Spent:
    """What one process cost."""

    time_s: float
    memory_mb: float


def write_runs(path: Path, rows: int, seed: int, *, order: bool) -> None:
    """A drifting machine, run deviation 2 %, effects from none to 5 %; blocks of ten arms."""
    rng = np.random.default_rng(seed)
    effects = np.array([0, 0.05, -0.05, 0.02, -0.01, 0.001, 0.0002, 0, 0, 0])
    blocks = rows // ARMS
    level = 1000 * np.exp(np.cumsum(rng.normal(0, 0.001, blocks)))
    with path.open("w") as file:
        file.write("block,arm,value" + (",order\n" if order else "\n"))
        for block in range(blocks):
            values = level[block] * np.exp(effects + rng.normal(0, 0.02, ARMS))
            for slot, arm in enumerate(rng.permutation(ARMS).tolist()):
                place = f",{block * ARMS + slot}" if order else ""
                file.write(f"{block},arm{arm},{values[arm]:.3f}{place}\n")


def spend(command: list[str]) -> Spent:
    """Run a command to its end. Raises when it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode != 0 or not said:
        raise RuntimeError(f"{command[0]} exited with {process.returncode}")
    return Spent(took, usage.ru_maxrss / 1024)


def jobs(folder: Path, rows: int) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Commands by name: ours and theirs."""
    full, short = folder / "runs.csv", folder / "no-order.csv"
    decide = [str(ASSAY), "decide", "--baseline", "arm0"]
    ours = {
        "with order": [*decide, str(full)],
        "without order": [*decide, str(short)],
        "all looks": [
            *decide, str(full), "--planned", str(rows // ARMS), "--margin", "0.01%",
        ],
    }  # fmt: skip
    theirs = {
        name: [sys.executable, "-c", RIVAL.replace("TEST", test), str(full)]
        for name, test in RIVALS.items()
    }
    return ours, theirs


def measure(rows: int, repeats: int, seed: int) -> list[Row]:
    """All rows: every job once per repeat, in random order."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_runs(folder / "runs.csv", rows, seed, order=True)
        write_runs(folder / "no-order.csv", rows, seed, order=False)
        ours, theirs = jobs(folder, rows)
        commands = {**ours, **theirs}
        spent: dict[str, list[Spent]] = {job: [] for job in commands}
        for _ in range(repeats):
            for job in rng.permutation(list(commands)).tolist():
                spent[job].append(spend(commands[job]))
    found = []
    for job in ours:
        for rival in theirs:
            name = f"{rows} rows, {job}"
            found.append(row(f"time, {name}", rival, "s", spent[job], spent[rival]))
            found.append(row(f"peak memory, {name}", rival, "MB", spent[job], spent[rival]))
    return found


def row(metric: str, rival: str, unit: str, ours: list[Spent], theirs: list[Spent]) -> Row:
    """Medians beside each other, and our worst against the goal."""
    mine, other = (
        [spent.time_s if unit == "s" else spent.memory_mb for spent in found]
        for found in (ours, theirs)
    )
    goal = GOAL_S if unit == "s" else GOAL_MB
    middle, beside = statistics.median(mine), statistics.median(other)
    return Row(
        metric, rival, unit, middle, beside, middle / beside, min(mine), max(mine),
        f"<= {goal}", max(mine) <= goal,
    )  # fmt: skip


def table(rows: list[Row]) -> str:
    """The rows for people."""
    lines = [f"{'':46s} {'assay':>8s} {'rival':>8s}  {'least, most':18s} goal"]
    for found in rows:
        bounds = f"[{found.low:.2f}, {found.high:.2f}]"
        goal = f"{found.goal} {'met' if found.met else 'MISSED'}"
        lines.append(
            f"{found.metric + ', ' + found.unit:46s} {found.ours:8.2f} {found.theirs:8.2f}  "
            f"{bounds:18s} {goal:14s} {found.rival}"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny parameters, for the tests")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rows", type=int, default=1_000_000, help="runs in the file")
    parser.add_argument("--repeats", type=int, default=5, help="times that everything is run")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    size, repeats = (500, 1) if options.quick else (options.rows, options.repeats)
    rows = measure(size, repeats, options.seed)
    if options.json:
        write_json("decide", rows)
    else:
        sys.stdout.write(f"{size} rows, {repeats} repeats, seed {options.seed}\n{table(rows)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
