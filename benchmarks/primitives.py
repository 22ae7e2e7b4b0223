"""How fast is our CRC32C beside the crates crc-fast and crc32c?

One native program (native/crates/primitives/examples/race_crc32c.rs) times every level that this
CPU has, the choice of our dispatch, and both crates on one buffer, in turns whose order rotates.
A round is a block of `assay.decide`: the ratio is its estimate and the interval its interval, so
a goal is met only when the lower end is above it. All values are in GB/s, 1e9 bytes a second.

Goals against crc-fast are those of a CPU with AVX-512 and VPCLMULQDQ; elsewhere there are none.
ISA-L is not in the race: it is C and assembler, to be built apart.

    python benchmarks/primitives.py [--quick] [--json] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from outcome import Row, write_json

import assay

NATIVE = Path(__file__).parent.parent / "native"
SIZES = {"4 KiB": 4 << 10, "64 KiB": 64 << 10, "1 MiB": 1 << 20}
OURS, RIVALS = "auto", ("crc-fast", "crc32c")
GOALS = {("4 KiB", "crc-fast"): 1.15, ("1 MiB", "crc-fast"): 1.15}
TURN_MS = 2
"""Short, so that a disturbance seldom hits one of two neighbours only."""
NEEDED = "fusion"
"""The level without which the goals are not asked for."""

Race = dict[str, list[float]]
"""GB/s by contestant, one value a round."""


def race(rounds: int, milliseconds: int) -> dict[str, Race]:
    """Build and run the native program; its values by size."""
    command = ["cargo", "run", "--release", "--locked", "--quiet", "--package", "assay-primitives",
               "--example", "race_crc32c", "--"]  # fmt: skip
    numbers = [str(number) for number in (rounds, milliseconds, *SIZES.values())]
    done = subprocess.run([*command, *numbers], cwd=NATIVE, stdout=subprocess.PIPE, check=True)
    names = {number: name for name, number in SIZES.items()}
    found: dict[str, Race] = {name: {} for name in SIZES}
    for line in done.stdout.splitlines():
        value = json.loads(line)
        found[names[value["bytes"]]].setdefault(value["name"], []).append(value["gb_per_s"])
    return found


def against(size: str, race: Race, rival: str) -> Row:
    """Our dispatch beside one rival. `low` and `high` bound the ratio."""
    runs = [(block, arm, value) for arm in (OURS, rival) for block, value in enumerate(race[arm])]
    verdict = assay.decide(runs, baseline=rival).verdicts[OURS]
    low, high = (None if end is None else 1 + end for end in (verdict.low, verdict.high))
    goal = GOALS.get((size, rival)) if NEEDED in race else None
    met = goal is None or (low is not None and low >= goal)
    ours, theirs = (statistics.median(race[arm]) for arm in (OURS, rival))
    return Row(
        f"CRC32C of {size}", rival, "GB/s", ours, theirs, 1 + verdict.estimate, low, high,
        f">= {goal}x" if goal else "", met,
    )  # fmt: skip


def levels(size: str, race: Race) -> list[Row]:
    """Every level alone, for the curious: no rival, no goal."""
    return [
        Row(f"CRC32C of {size}, {name}", "", "GB/s", statistics.median(values))
        for name, values in race.items()
        if name not in (OURS, *RIVALS)
    ]


def table(rows: list[Row]) -> str:
    """The rows for people."""
    lines = [f"{'GB/s':32s} {'assay':>7s} {'rival':>7s}  {'ratio':20s} goal"]
    for row in rows:
        if row.theirs is None:
            lines.append(f"{row.metric:32s} {row.ours:7.2f}")
            continue
        bounds = "" if row.low is None else f" [{row.low:.2f}, {row.high:.2f}]"
        goal = f"{row.goal} {'met' if row.met else 'MISSED'}" if row.goal else ""
        ratio = f"{row.ratio:.2f}{bounds}"
        pair = f"{row.metric:32s} {row.ours:7.2f} {row.theirs:7.2f}"
        lines.append(f"{pair}  {ratio:20s} {goal:14s} {row.rival}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny parameters, for the tests")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rounds", type=int, default=61, help="times that everything is run")
    options = parser.parse_args(arguments)
    found = race(*((3, 1) if options.quick else (options.rounds, TURN_MS)))
    rows = [against(size, values, rival) for size, values in found.items() for rival in RIVALS]
    rows += [row for size, values in found.items() for row in levels(size, values)]
    if options.json:
        write_json("primitives", rows)
    else:
        print(table(rows))
    return 0 if options.quick or all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
