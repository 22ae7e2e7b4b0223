"""How often is a real server told from itself? Short studies of three identical arms.

A study errs if it says helps or hurts of either arm; at most 5 % of studies may. Each study adds a
line to a file, so that studies of several days and machines count together, and a benchmark that is
cut off goes on where it was. The bundle of a study that erred is kept.

    python benchmarks/identical.py [--quick] [--json] [--studies N] [--only NAME ...]
                                   [--design slices|calibrated|runs|auto] [--kept FILE]
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from outcome import Row, write_json
from placebo import FALSE, patiently
from simulated.rows import alarms_allowed, clopper_pearson

import assay
from assay.core.errors import VoidError

TARGETS: Mapping[str, tuple[str, str]] = {
    "engine": ('kind = "engine"\nthreads = 2', 'kind = "ycsb"\nmix = "b"\nrecords = 20000'),
    "mariadb": ('kind = "mariadb"', 'kind = "oltp-point-select"'),
    "nginx": ('kind = "nginx"', 'kind = "http-get"'),
    "postgresql": ('kind = "postgresql"', 'kind = "oltp-read-only"'),
    "redis": ('kind = "redis"', 'kind = "redis-get"\nkeys = 10000\npipeline = 8'),
    "rocksdb": ('kind = "rocksdb"', 'kind = "ycsb"\nmix = "c"\nrecords = 20000'),
    "sqlite": ('kind = "sqlite"', 'kind = "ycsb"\nmix = "c"\nrecords = 10000'),
}
"""Each target with a workload that reads."""

ARMS = ("first", "second")
KEPT = Path("results/identical.jsonl")
SECONDS = 80.0

Line = dict[str, Any]


def study(name: str, design: str, seconds: float, window: str) -> str:
    """The study file: a baseline, and two arms that differ from it in nothing."""
    target, workload = TARGETS[name]
    arms = "".join(f'[[arm]]\nname = "{arm}"\nplacebo = true\n' for arm in ARMS)
    return f"""name = "identical-{name}"
question = "Is a server told from itself?"
source = "A check of Assay: the arms are identical."
[target]
{target}
[workload]
{workload}
[measure]
primary = "throughput"
warmup = "200ms"
window = "{window}"
design = "{design}"
{arms}
[design]
kind = "arms"
[decide]
smallest = "2%"
margin = "5%"
budget = "{seconds:g}s"
"""


def made(name: str, number: int, options: argparse.Namespace, folder: Path) -> Line:
    """One study to its end, as the line that is kept of it; its bundle stays if it erred."""
    bundle = folder / f"{name}-{number:03d}"
    shutil.rmtree(bundle, ignore_errors=True)
    file = folder / f"{name}.toml"
    file.write_text(study(name, options.design, options.seconds, options.window))
    began = time.monotonic()
    line: Line = {"target": name, "number": number, "design": options.design}
    try:
        found = patiently(lambda: assay.run_study(str(file), bundle, seed=number)[1], bundle)
    except VoidError as error:
        return line | {"void": error.message}
    rows = [row for row in found.verdicts if row.contrast.of in ARMS and row.scope == "case"]
    rows = [row for row in rows if row.metric == found.primary and row.strength == "confirmed"]
    words = {row.contrast.of: row.word for row in rows}
    if not set(words.values()) & set(FALSE):
        shutil.rmtree(bundle)
    return line | {
        "words": words,
        "intervals": {row.contrast.of: [row.low, row.high] for row in rows},
        "blocks": found.blocks,
        "noise": found.planned.noise if found.planned else None,
        "took_s": round(time.monotonic() - began, 1),
    }


def kept(file: Path) -> list[Line]:
    """The studies so far; a line that was cut off is none."""
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def rows(lines: Sequence[Line]) -> Iterator[Row]:
    """By target and over all: how many studies erred, with the goal."""
    ended = [line for line in lines if "words" in line]
    names = sorted({line["target"] for line in ended})
    for name in [*names, "all"]:
        ours = [line for line in ended if name in (line["target"], "all")]
        false = sum(bool(set(line["words"].values()) & set(FALSE)) for line in ours)
        low, high = clopper_pearson(false, len(ours))
        allowed = alarms_allowed(len(ours))
        yield Row(
            name, f"{false} of {len(ours)} studies", "%", 100 * false / max(len(ours), 1),
            low=100 * low, high=100 * high, goal=f"at most {allowed}", met=false <= allowed,
        )  # fmt: skip


def table(lines: Sequence[Line]) -> Iterator[str]:
    """The same for people, with the words of all arms and the noise."""
    for row in rows(lines):
        ours = [x for x in lines if "words" in x and row.metric in (x["target"], "all")]
        words = [word for line in ours for word in line["words"].values()]
        noise = sorted(line["noise"] for line in ours if line["noise"] is not None)
        middle = f"{100 * noise[len(noise) // 2]:.1f} %" if noise else "?"
        yield (
            f"{row.metric:11s} {row.rival:18s} false, {row.goal} "
            f"(95 %: {row.low:.1f} to {row.high:.1f} %)   "
            f"no difference {words.count('no difference')} of {len(words)}   pair noise {middle}"
        )


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one study each, of tiny windows")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--studies", type=int, default=60, help="studies of each target, in all")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="budget of a study")
    parser.add_argument("--window", default="400ms", help="how long an arm is measured in a block")
    parser.add_argument(
        "--design", choices=("auto", "slices", "calibrated", "runs"), default="slices"
    )
    parser.add_argument("--kept", type=Path, default=KEPT, help="where the studies' lines are")
    parser.add_argument("--only", nargs="+", choices=TARGETS, default=list(TARGETS))
    options = parser.parse_args(arguments)
    if options.quick:
        options.studies, options.seconds, options.window = 1, 40.0, "100ms"
    options.kept.parent.mkdir(parents=True, exist_ok=True)
    folder = Path("bundles/identical")
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(options.studies):
        for name in options.only:
            lines = [x for x in kept(options.kept) if x["target"] == name]
            if any(x["number"] == number and x["design"] == options.design for x in lines):
                continue
            sys.stderr.write(f"{name}: study {number + 1} of {options.studies}\n")
            line = made(name, number, options, folder)
            with options.kept.open("a") as out:
                out.write(json.dumps(line) + "\n")
    lines = [x for x in kept(options.kept) if x["design"] == options.design]
    if options.json:
        write_json("identical", list(rows(lines)))
    else:
        print("\n".join(table(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
