"""How often does the user of a tool conclude a difference that is not there, or miss one that is?

Two programs that spin, made by gcc: the same work twice (A/A), and 3 % more of it. In each trial
hyperfine measures both as it does by default (ten runs of one, then ten of the other), and
`assay compare` measures both. What a user concludes:

    hyperfine   the ratio that it prints differs from 1 by more than the deviation that it prints
    benchstat   of hyperfine's runs as two files, it prints a difference and not `~`
    Assay       the verdict is helps or hurts

Trials of the tools take turns, on a machine that is as it is. The last rows are what starting an
empty process costs in each. hyperfine and benchstat are left out where they are not here: Debian's
package `hyperfine`, and `go install golang.org/x/perf/cmd/benchstat@latest`.

    python benchmarks/compare.py [--quick] [--json] [--trials N] [--slow N]
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from outcome import Row, write_json

ASSAY = Path(sys.executable).with_name("assay")
EFFECT = 0.03
WORK = 60_000_000
"""Rounds of the loop: some tens of milliseconds."""

PROGRAM = """
#include <stdint.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    uint64_t x = 88172645463325252u, n = strtoull(argv[1], 0, 10);
    while (n--) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
    return x == 0;
}
"""


@dataclass
class Tally:
    """Of one tool and one kind of trial: how many, how many concluded, and runs of each."""

    trials: int = 0
    concluded: int = 0
    runs: list[int] = field(default_factory=list)

    def add(self, concluded: bool, runs: int) -> None:
        self.trials += 1
        self.concluded += concluded
        self.runs.append(runs)

    @property
    def share(self) -> float:
        return self.concluded / self.trials if self.trials else math.nan


def made(folder: Path) -> Path:
    """The program that spins."""
    source, program = folder / "spin.c", folder / "spin"
    source.write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
    return program


def hyperfine(commands: Sequence[str], folder: Path, runs: int) -> list[list[float]]:
    """The times of each command in seconds."""
    out = folder / "hyperfine.json"
    words = ["hyperfine", "-N", "--style", "none", "--runs", str(runs), "--export-json", str(out)]
    subprocess.run([*words, *commands], check=True, capture_output=True)
    return [result["times"] for result in json.loads(out.read_text())["results"]]


def by_deviation(times: Sequence[Sequence[float]]) -> bool:
    """Whether hyperfine's "x times faster ± deviation" leaves 1 outside."""
    (a, sa), (b, sb) = ((statistics.fmean(t), statistics.stdev(t)) for t in times)
    if a > b:
        (a, sa), (b, sb) = (b, sb), (a, sa)
    ratio = b / a
    return ratio - ratio * math.hypot(sa / a, sb / b) > 1


def by_benchstat(times: Sequence[Sequence[float]], folder: Path) -> bool:
    """Whether benchstat prints a difference between two files of these runs."""
    files = []
    for name, values in zip(("old", "new"), times, strict=True):
        files.append(folder / f"{name}.txt")
        lines = [f"BenchmarkSpin 1 {1e9 * v:.0f} ns/op\n" for v in values]
        files[-1].write_text("".join(lines))
    done = subprocess.run(["benchstat", *files], check=True, capture_output=True, text=True)
    rows = [line for line in done.stdout.splitlines() if line.startswith("Spin")]
    return bool(rows) and "~" not in rows[0]


def assay(commands: Sequence[str], folder: Path, seed: int, budget: str) -> tuple[bool, int]:
    """Whether the verdict says a difference, and how many runs a command had."""
    bundle = folder / f"assay-{seed}"
    words = [ASSAY, "compare", *commands, "--name", "old", "--name", "new", "--json"]
    words += ["--window", "100ms", "--smallest", "2%", "--budget", budget, "--seed", str(seed)]
    done = subprocess.run([*words, "--out", bundle], check=False, capture_output=True, text=True)
    shutil.rmtree(bundle, ignore_errors=True)
    if done.returncode:
        raise SystemExit(f"assay compare: exit {done.returncode}: {done.stderr[-500:]}")
    found = json.loads(done.stdout)
    (row,) = [
        r
        for r in found["verdicts"]
        if r["metric"] == "wall_time" and r["arm"] == "new" and r["contrast"]["kind"] == "change"
    ]
    return row["word"] in ("helps", "hurts"), found["blocks"]


def trials(
    commands: Sequence[str], count: int, folder: Path, runs: int, budget: str, first: int
) -> dict[str, Tally]:
    """So many trials of each tool that is here."""
    tallies = {name: Tally() for name in ("hyperfine", "benchstat", "Assay")}
    for trial in range(count):
        if shutil.which("hyperfine"):
            times = hyperfine(commands, folder, runs)
            tallies["hyperfine"].add(by_deviation(times), runs)
            if shutil.which("benchstat"):
                tallies["benchstat"].add(by_benchstat(times, folder), runs)
        tallies["Assay"].add(*assay(commands, folder, first + trial, budget))
    return tallies


def wilson(tally: Tally) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, J. Am. Stat. Assoc. 22, 1927)."""
    n, p, z = tally.trials, tally.share, 1.96
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def rows_of(metric: str, tallies: dict[str, Tally], goal: str, met: bool) -> list[Row]:
    """Assay's share against each rival's; the interval is of Assay's share."""
    ours = tallies["Assay"]
    low, high = wilson(ours)
    rivals = [(n, t) for n, t in tallies.items() if n != "Assay" and t.trials]
    return [
        Row(metric, name, "share", ours.share, tally.share, None, low, high, goal, met)
        for name, tally in rivals or [("", Tally(1))]
    ]


def starts(folder: Path) -> list[Row]:
    """What an empty process takes from start to end, in microseconds."""
    words = [ASSAY, "compare", "true", "--json", "--budget", "2s", "--window", "100ms"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    ours = statistics.median(found["values"]) / 1000
    theirs = None
    if shutil.which("hyperfine"):
        theirs = 1e6 * statistics.median(hyperfine(["true"], folder, 200)[0])
    ratio = None if theirs is None else theirs / ours
    return [Row("empty process", "hyperfine", "us", ours, theirs, ratio)]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--quick", action="store_true")
    asked.add_argument("--json", action="store_true")
    asked.add_argument("--trials", type=int, default=200)
    asked.add_argument("--slow", type=int, default=100)
    given = asked.parse_args()
    same, slow, work = (1, 0, WORK // 100) if given.quick else (given.trials, given.slow, WORK)
    runs, budget = (3, "20s") if given.quick else (10, "60s")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old = f"{made(folder)} {work}"
        new = f"{folder / 'spin'} {round(work * (1 + EFFECT))}"
        alike = trials([old, f"{old} "], same, folder, runs, budget, 1)
        rows = rows_of("A/A: a difference", alike, "<= 0.05", wilson(alike["Assay"])[0] <= 0.05)
        if slow:
            truth = trials([old, new], slow, folder, runs, budget, 10_001)
            rows += rows_of("3 %: found", truth, ">= 0.8", truth["Assay"].share >= 0.8)
            for tool, tally in truth.items():
                if tally.runs:
                    rows.append(Row("runs", tool, "runs", statistics.median(tally.runs)))
        rows += starts(folder)
    if given.json:
        write_json("compare", rows)
        return
    for row in rows:
        theirs = "" if row.theirs is None else f"{row.theirs:10.3g}"
        print(f"{row.metric:20} {row.ours:10.3g} {row.unit:6} {row.rival:10} {theirs}  {row.goal}")


if __name__ == "__main__":
    main()
