"""How fast are our primitives beside those of others?

Six races, each a native program that lets all contestants run in turns whose order rotates:

    crc32c   our dispatch against crc-fast, crc32c and ISA-L; every level alone
    xxh3     twox-hash (chooses when it runs) against xxhash-rust (chose when compiled)
    locks    every lock kind against parking_lot, at 1, 2 and 4 threads, with fairness
    counters the same lock, its contention counted, and not
    caches   lockless data caches against one spinlock with LRU, at 1, 2 and 4 threads
    plans    SUM(c + k): compiled with vectors against bytecode and batches; every kind alone

A round is a block of `assay.decide`: the ratio is its estimate and the interval its interval, so
a goal is met only when the lower end is above it. GB/s are 1e9 bytes a second.

Goals of CRC32C are those of a CPU with AVX-512 and VPCLMULQDQ; elsewhere there are none.
ISA-L is C and assembler: it races where its library (Debian's libisal2) can be loaded, and its
absence is said. Building the plans compiles Cranelift, which takes minutes the first time.

    python benchmarks/primitives.py [--quick] [--json] [--rounds N] [--only RACE ...]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from outcome import Row, write_json

import assay

NATIVE = Path(__file__).parent.parent / "native"
SIZES = {"4 KiB": 4 << 10, "64 KiB": 64 << 10, "1 MiB": 1 << 20}
FAIRNESS = " fairness"

Values = dict[str, list[float]]
"""By contestant, one value a round."""


@dataclass(frozen=True)
class Race:
    """One native program and what its values are held against."""

    metric: str
    package: str
    example: str
    unit: str
    cases: Mapping[str, int]
    ours: tuple[str, ...]
    rivals: tuple[str, ...]
    goals: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """By case and rival."""
    needed: str = ""
    """The contestant without which the goals are not asked for."""
    turn_ms: int = 2
    """Short, so that a disturbance seldom hits one of two neighbours only."""
    optional: Mapping[str, str] = field(default_factory=dict)
    """Rivals that may be absent, and what would bring them."""
    builds: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """Contestants that are the same one of the program, built differently: its name there, and what
    cargo is told."""


ROUNDS = 61

RACES = {
    "crc32c": Race(
        metric="CRC32C of",
        package="assay-primitives",
        example="race_crc32c",
        unit="GB/s",
        cases=SIZES,
        ours=("auto",),
        rivals=("crc-fast", "crc32c", "isa-l"),
        goals={
            ("4 KiB", "crc-fast"): 1.15,
            ("1 MiB", "crc-fast"): 1.15,
            **{(size, "isa-l"): 1.0 for size in SIZES},
        },
        needed="fusion",
        optional={"isa-l": "apt-get install libisal2"},
    ),
    "xxh3": Race(
        metric="XXH3 of",
        package="assay-primitives",
        example="race_hashes",
        unit="GB/s",
        cases=SIZES,
        ours=("xxh3-detected",),
        rivals=("xxh3-compiled",),
    ),
    "locks": Race(
        metric="lock pairs,",
        package="assay-primitives",
        example="race_locks",
        unit="M/s",
        cases={"1 thread": 1, "2 threads": 2, "4 threads": 4},
        ours=("tas", "ttas", "backoff", "ticket", "mcs", "futex"),
        rivals=("parking_lot",),
        turn_ms=50,
    ),
    "counters": Race(
        metric="one-lock, one page,",
        package="assay-data-cache",
        example="race_caches",
        unit="M/s",
        cases={"1 thread": 1, "2 threads": 2},
        ours=("counted",),
        rivals=("uncounted",),
        goals={("1 thread", "uncounted"): 0.97, ("2 threads", "uncounted"): 0.97},
        needed="uncounted",
        turn_ms=20,
        builds={
            "counted": ("one-lock, one page", ()),
            "uncounted": ("one-lock, one page", ("--features", "assay-primitives/uncounted")),
        },
    ),
    "caches": Race(
        metric="cache look-ups,",
        package="assay-data-cache",
        example="race_caches",
        unit="M/s",
        cases={"1 thread": 1, "2 threads": 2, "4 threads": 4},
        ours=("hyper-clock", "optimistic"),
        rivals=("one-lock",),
        goals={("2 threads", "one-lock"): 4.0, ("4 threads", "one-lock"): 8.0},
        needed="one-lock",
        turn_ms=20,
    ),
    "plans": Race(
        metric="SUM(c + k),",
        package="assay-plans",
        example="race_plans",
        unit="Mrow/s",
        cases={"100 000 rows": 100_000},
        ours=("cranelift-simd",),
        rivals=("bytecode", "vectorised"),
        goals={("100 000 rows", "bytecode"): 5.0, ("100 000 rows", "vectorised"): 1.8},
        needed="cranelift-simd",
    ),
}


def run(race: Race, rounds: int, milliseconds: int) -> dict[str, Values]:
    """Build and run the native program; its values by case."""
    if race.builds:
        return run_builds(race, rounds, milliseconds)
    program = build(race, NATIVE / "target")
    return {
        name: values_of(program, rounds, milliseconds, argument)
        for name, argument in race.cases.items()
    }


def run_builds(race: Race, rounds: int, milliseconds: int) -> dict[str, Values]:
    """As `run`, with several builds of the program in turns."""
    programs = {
        arm: build(race, NATIVE / "target" / arm, features)
        for arm, (_, features) in race.builds.items()
    }
    found: dict[str, Values] = {}
    for name, argument in race.cases.items():
        values = found.setdefault(name, {arm: [] for arm in programs})
        for number in range(rounds):
            for arm in list(programs)[:: 1 if number % 2 else -1]:
                told = values_of(programs[arm], 1, milliseconds, argument)
                values[arm] += told[race.builds[arm][0]]
    return found


def build(race: Race, target: Path, features: tuple[str, ...] = ()) -> Path:
    """Build the native program into a folder; where it is."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", str(target),
               "--package", race.package, "--example", race.example, *features]  # fmt: skip
    subprocess.run(command, cwd=NATIVE, check=True)
    return target / "release" / "examples" / race.example


def values_of(program: Path, rounds: int, milliseconds: int, argument: int) -> Values:
    """Run the native program; its values by contestant."""
    command = [program, *(str(number) for number in (rounds, milliseconds, argument))]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    values: Values = {}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        values.setdefault(told["name"], []).append(told["value"])
    return values


def against(race: Race, case: str, values: Values, ours: str, rival: str) -> Row:
    """One of ours beside one rival. `low` and `high` bound the ratio."""
    runs = [(block, arm, value) for arm in (ours, rival) for block, value in enumerate(values[arm])]
    verdict = assay.decide(runs, baseline=rival).verdicts[ours]
    low, high = (None if end is None else 1 + end for end in (verdict.low, verdict.high))
    goal = race.goals.get((case, rival)) if race.needed in values else None
    met = goal is None or (low is not None and low >= goal)
    mine, theirs = (statistics.median(values[arm]) for arm in (ours, rival))
    name = f"{race.metric} {case}" + (f", {ours}" if len(race.ours) > 1 else "")
    return Row(
        name, rival, race.unit, mine, theirs, 1 + verdict.estimate, low, high,
        f">= {goal}x" if goal else "", met,
    )  # fmt: skip


def alone(race: Race, case: str, values: Values) -> list[Row]:
    """Everybody who is compared with nobody, and fairness: no rival, no goal."""
    compared = (*race.ours, *race.rivals)
    return [
        Row(
            f"{race.metric} {case}, {name}",
            "",
            "slowest/fastest" if name.endswith(FAIRNESS) else race.unit,
            statistics.median(numbers),
        )
        for name, numbers in values.items()
        if name not in compared
    ]


def rows_of(race: Race, found: dict[str, Values]) -> list[Row]:
    """All rows of one race; a rival that is not here is said on stderr."""
    rows = []
    for case, values in found.items():
        here = [rival for rival in race.rivals if rival in values]
        rows += [against(race, case, values, ours, rival) for ours in race.ours for rival in here]
    for case, values in found.items():
        rows += alone(race, case, values)
    for rival, remedy in race.optional.items():
        if not any(rival in values for values in found.values()):
            sys.stderr.write(f"{rival} is not here, so nothing is said about it; next: {remedy}\n")
    return rows


def table(rows: list[Row]) -> str:
    """The rows for people."""
    lines = [f"{'':40s} {'assay':>8s} {'rival':>8s} {'':15s}  {'ratio':20s} goal"]
    for row in rows:
        if row.theirs is None:
            lines.append(f"{row.metric:40s} {row.ours:8.2f} {'':8s} {row.unit}")
            continue
        bounds = "" if row.low is None else f" [{row.low:.2f}, {row.high:.2f}]"
        goal = f"{row.goal} {'met' if row.met else 'MISSED'}" if row.goal else ""
        ratio = f"{row.ratio:.2f}{bounds}"
        pair = f"{row.metric:40s} {row.ours:8.2f} {row.theirs:8.2f} {row.unit:15s}"
        lines.append(f"{pair}  {ratio:20s} {goal:14s} {row.rival}")
    return "\n".join(lines)


def measured(race: Race, rounds: int, is_quick: bool) -> list[Row]:
    """Run one race and decide it."""
    rounds, milliseconds = (3, 1) if is_quick else (rounds, race.turn_ms)
    return rows_of(race, run(race, rounds, milliseconds))


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny parameters, for the tests")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="times that everything is run")
    parser.add_argument("--only", nargs="+", choices=RACES, default=list(RACES), help="which races")
    options = parser.parse_args(arguments)
    rows = []
    for name in options.only:
        rows += measured(RACES[name], options.rounds, options.quick)
    if options.json:
        write_json("primitives", rows)
    else:
        print(table(rows))
    return 0 if options.quick or all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
