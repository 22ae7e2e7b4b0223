"""How fast is the embedded engine beside other stores, over the same inputs?

One native program (native/peers, a cargo workspace of its own) loads every store with the same
records and gives them turns over the same operations, in rounds; native/peers/README.md says how
each is set up. A round in which other processes had more than 3 % of a core is left out here and
repeated there. A round is a block of `assay.decide`: the ratio is its estimate and the interval
its interval, so a goal is met only when the lower end is above it.

There are two tables, because a map is not a database: in the first one operation is a
transaction (or at least atomic in a store that has transactions), in the second the engine's
transactions stand beside bare maps. A row "-batch" is told sixteen operations at a time: the
engine fetches ahead and makes sixteen transactions of them, a rival makes one. Who is told is
compared with who is told, and who is not with who is not: these are the two columns of the
ratios. The goals are about the first, one operation at a time. Nobody has huge pages. The engine's
own parts that have goals, data caches and counters, follow: these races are those of
benchmarks/primitives.py. TPC-C is not a TPC-C result: no terminals, no waits, so that its limit of
12.86 tpmC per warehouse does not apply.

    python benchmarks/engine.py [--quick] [--json] [--rounds N] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import primitives
from outcome import Row, write_json

import assay

PEERS = Path(__file__).parent.parent / "native" / "peers"
FOREIGN_MAX = 0.03
"""Cores that others may have had in a round that counts."""

ENGINE = "engine-"
BATCH = "-batch"
"""Ends the names of those who are told sixteen operations at a time."""
HASH = "engine-hash-optimistic"
TREE = "engine-tree-optimistic"
TREES = ("congee", "scc-tree-index", "skip-map", "locked-btree")
"""Rivals in key order; the engine's tree is compared with these."""

GOALS = {
    ("c", 1): {"dashmap": 0.9, "lmdb": 3.5, "sqlite": 6, "redb": 6},
    ("c", 2): {"dashmap": 0.9, "lmdb": 3.5, "sqlite": 6, "redb": 6},
    ("a", 2): {"lmdb": 15, "redb": 50},
}
"""Of HASH, by mix and threads, with records of 100 bytes."""
HOPES = {("a", 2): {"dashmap": 0.9, "papaya": 3}}
TREE_HOPES = {("c", 2): {"congee": 0.8, "scc-tree-index": 1.3, "skip-map": 3}}
"""Shown like goals, but nothing fails by them."""
GOAL_BYTES = 100
TPCC_RATIO, TPCC_PER_S = 10, 40_000
"""Of HASH on two threads, against SQLite and as such."""
PARTS = ("caches", "counters")
"""Races of parts of the engine."""


class Cell(NamedTuple):
    """What one round is about; a record of 0 bytes stands for TPC-C's tables."""

    value_bytes: int
    workload: str
    threads: int

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        if self.workload == "tpcc":
            return f"TPC-C mix, {threads}"
        return f"YCSB-{self.workload.upper()}, {threads}, {self.value_bytes} bytes"


Rates = dict[str, dict[int, float]]
"""Operations a second by contestant and round."""


@dataclass
class Race:
    """Everything that a run of the program said."""

    classes: dict[str, str] = field(default_factory=dict)
    rates: dict[Cell, Rates] = field(default_factory=dict)
    disturbed: Counter[Cell] = field(default_factory=Counter)
    foreign: list[float] = field(default_factory=list)
    """Cores that others had, of every round, the disturbed ones too."""
    speeds: list[float] = field(default_factory=list)
    """Of one core at the start of every round: millions of dependent multiplications a second."""


def read(lines: Iterable[str], foreign_max: float = FOREIGN_MAX) -> Race:
    """The race behind JSON lines, without the disturbed rounds."""
    race = Race()
    seen = set()
    for line in lines:
        turn = json.loads(line)
        if "contestant" in turn:
            race.classes[turn["contestant"]] = turn["class"]
            continue
        cell = Cell(turn["value_bytes"], turn["workload"], turn["threads"])
        is_new = (cell, turn["round"]) not in seen
        seen.add((cell, turn["round"]))
        is_disturbed = turn["foreign_cpu"] > foreign_max
        if is_new:
            race.foreign.append(turn["foreign_cpu"])
            race.speeds.append(turn["calibrator"])
            race.disturbed[cell] += is_disturbed
        if not is_disturbed:
            rates = race.rates.setdefault(cell, {}).setdefault(turn["peer"], {})
            rates[turn["round"]] = turn["operations"] / turn["seconds"]
    return race


def ratio_row(cell: Cell, rates: Rates, ours: str, rival: str, goal: float | None) -> Row:
    """One of ours beside a rival; `low` and `high` bound the ratio."""
    per, unit = (1, "txn/s") if cell.workload == "tpcc" else (1e6, "Mop/s")
    runs = [(block, arm, rate) for arm in (ours, rival) for block, rate in rates[arm].items()]
    verdict = assay.decide(runs, baseline=rival).verdicts[ours]
    low, high = (None if end is None else 1 + end for end in (verdict.low, verdict.high))
    met = goal is None or (low is not None and low >= goal)
    mine, theirs = (statistics.median(rates[arm].values()) / per for arm in (ours, rival))
    return Row(
        f"{cell}, {ours}", rival, unit, mine, theirs, 1 + verdict.estimate, low, high,
        f">= {goal:g}x" if goal else "", met,
    )  # fmt: skip


def alone_row(cell: Cell, name: str, rates: Rates, goal: float | None) -> Row:
    """A contestant without a rival. A goal is a rate; `low` and `high` then bound the rate."""
    per, unit = (1, "txn/s") if cell.workload == "tpcc" else (1e6, "Mop/s")
    rate = statistics.median(rates[name].values()) / per
    if goal is None:
        return Row(f"{cell}, {name}", "", unit, rate)
    # The same intervals as everywhere, against a rival who is always as fast as the goal.
    steady = {"goal": dict.fromkeys(rates[name], goal * per), name: rates[name]}
    found = ratio_row(cell, steady, name, "goal", 1)
    low, high = (None if end is None else end * goal for end in (found.low, found.high))
    return Row(
        f"{cell}, {name}", "", unit, rate, None, None, low, high, f">= {goal:g} {unit}", found.met
    )


def is_ours(name: str) -> bool:
    """Whether a contestant is a configuration of the engine."""
    return name.startswith(ENGINE)


def opposite(rival: str) -> str:
    """What of the engine a rival is compared with: told as many operations at a time."""
    return HASH + BATCH if rival.endswith(BATCH) else HASH


def ycsb_rows(race: Race) -> Iterator[Row]:
    """Every rival beside the engine's hash index, and the ordered ones beside its tree."""
    for cell, rates in race.rates.items():
        if cell.workload == "tpcc":
            continue
        wanted = (cell.workload, cell.threads) if cell.value_bytes == GOAL_BYTES else None
        goals = GOALS.get(wanted, {})
        for name in [name for name in race.classes if name in rates and not is_ours(name)]:
            for ours in [opposite(name), *([TREE] if name in TREES else [])]:
                if ours in rates:
                    yield ratio_row(
                        cell, rates, ours, name, goals.get(name) if ours == HASH else None
                    )
        ours = [name for name in race.classes if name in rates and is_ours(name)]
        yield from (alone_row(cell, name, rates, None) for name in ours)


def hope_rows(race: Race) -> Iterator[Row]:
    """What we would like, as rows with goals; they are shown and nothing fails by them."""
    for ours, hopes in ((HASH, HOPES), (TREE, TREE_HOPES)):
        for (workload, threads), goals in hopes.items():
            cell = Cell(GOAL_BYTES, workload, threads)
            rates = race.rates.get(cell, {})
            for name, goal in goals.items():
                if ours in rates and name in rates:
                    yield ratio_row(cell, rates, ours, name, goal)


def tpcc_rows(race: Race) -> Iterator[Row]:
    """TPC-C: the engine beside SQLite, and alone."""
    for cell, rates in race.rates.items():
        if cell.workload != "tpcc":
            continue
        is_goal = cell.threads == 2
        for name in [name for name in race.classes if name in rates and is_ours(name)]:
            is_first = is_goal and name == HASH
            yield alone_row(cell, name, rates, TPCC_PER_S if is_first else None)
            if "sqlite" in rates:
                yield ratio_row(cell, rates, name, "sqlite", TPCC_RATIO if is_first else None)


def part_rows(is_quick: bool) -> Iterator[Row]:
    """The engine's parts beside simpler ones of the same kind."""
    for part in PARTS:
        yield from primitives.measured(primitives.RACES[part], primitives.ROUNDS, is_quick)


def unmeasured(race: Race) -> list[str]:
    """Goals of races that were run, but never undisturbed."""
    wanted = [
        (Cell(GOAL_BYTES, *kind), HASH, name) for kind, goals in GOALS.items() for name in goals
    ]
    wanted.append((Cell(0, "tpcc", 2), HASH, "sqlite"))
    return [
        f"{cell}, {ours} beside {rival}: every round was disturbed, run it again"
        for cell, ours, rival in wanted
        if cell in race.disturbed and cell not in race.rates and {ours, rival} <= set(race.classes)
    ]


def table(race: Race, value_bytes: int, classes: tuple[str, ...], title: str) -> str:
    """Medians of one size of records, in Mop/s; the engine's configurations stand first."""
    cells = sorted(cell for cell in race.rates if cell.value_bytes == value_bytes)
    wanted = [name for name in race.classes if is_ours(name) or race.classes[name] in classes]
    names = [name for name in wanted if all(name in race.rates[cell] for cell in cells)]
    head = " ".join(f"{cell.workload.upper()}{cell.threads:<6d}" for cell in cells)
    lines = [f"{title}, records of {value_bytes} bytes, Mop/s", f"{'':30s} {head}"]
    for name in names:
        found = [statistics.median(race.rates[cell][name].values()) / 1e6 for cell in cells]
        numbers = " ".join(f"{rate:<7.3g}" for rate in found)
        lines.append(f"{name:30s} {numbers} {race.classes[name]}")
    return "\n".join(lines)


def ratio_table(rows: list[Row]) -> str:
    """The engine's hash index beside each rival: both one operation at a time, both sixteen."""
    columns: dict[tuple[str, str], list[Row | None]] = {}
    for row in rows:
        cell, _, ours = row.metric.rpartition(", ")
        if row.ratio is not None and ours in (HASH, HASH + BATCH):
            pair = columns.setdefault((cell, row.rival.removesuffix(BATCH)), [None, None])
            pair[row.rival.endswith(BATCH)] = row
    lines = [f"{HASH} beside rivals", f"{'':44s} {'both one at a time':26s} both sixteen at a time"]
    for (cell, rival), pair in columns.items():
        one, sixteen = ("-" if row is None else ratio(row) for row in pair)
        lines.append(f"{f'{cell}, {rival}':44s} {one:26s} {sixteen}")
    return "\n".join(lines)


def ratio(row: Row) -> str:
    """A ratio with its interval, where there are rounds enough for one."""
    bounds = "" if row.low is None else f" [{row.low:.2f}, {row.high:.2f}]"
    return f"{row.ratio:.2f}x{bounds}"


def goal_line(row: Row, word: str = "MISSED") -> str:
    """One ratio with its interval and what was wanted of it."""
    value = f"{row.ours:.0f} {row.unit}" if row.ratio is None else f"{row.ratio:.2f}x {row.rival}"
    places = 0 if row.ratio is None else 2
    bounds = "" if row.low is None else f" [{row.low:.{places}f}, {row.high:.{places}f}]"
    word = word if row.low is not None else "open: too few rounds"
    wanted = f"{row.goal} {'met' if row.met else word}" if row.goal else ""
    return f"{row.metric:50s} {value + bounds:44s} {wanted}".rstrip()


def text(race: Race, rows: list[Row], hopes: list[Row], tpcc: list[Row]) -> str:
    """Everything for people."""
    parts = []
    for size in sorted({cell.value_bytes for cell in race.rates if cell.value_bytes}):
        stores = ("transactional", "atomic")
        title = "Stores: one operation is a transaction, or atomic (sqlite always on one thread)"
        parts.append(table(race, size, stores, title))
        title = "The engine's transactions beside bare maps, which have none"
        parts.append(table(race, size, ("map",), title))
    parts.append(ratio_table(rows))
    goals = [goal_line(row) for row in rows if row.goal]
    parts.append("\n".join(["Goals", *goals, *unmeasured(race)]))
    wishes = [goal_line(row, "not reached") for row in hopes]
    parts.append("\n".join(["For information", *wishes]))
    if tpcc:
        note = "TPC-C mix without waits: not a TPC-C result, 12.86 tpmC per warehouse do not apply"
        parts.append("\n".join([note, *map(goal_line, tpcc)]))
    parts.append(disturbance(race))
    return "\n\n".join(parts)


def disturbance(race: Race) -> str:
    """How many rounds count, and what others did meanwhile."""
    if not race.foreign:
        return "no round was run"
    left_out, worst = sum(race.disturbed.values()), max(race.foreign)
    rounds = [len(next(iter(rates.values()))) for rates in race.rates.values()]
    # A cell whose rounds were all disturbed has no rates.
    least = min(rounds, default=0) if len(rounds) == len(race.disturbed) else 0
    return (
        f"{sum(rounds)} rounds counted (at least {least} of each kind), {left_out} left out "
        f"because others had over {FOREIGN_MAX:.0%} of a core (at most {worst:.2f} cores)\n"
        f"one core alone: {min(race.speeds):.0f} to {max(race.speeds):.0f} Mmul/s"
    )


def has_rocksdb() -> bool:
    """Whether a C compiler finds RocksDB's header and library."""
    source = "#include <rocksdb/c.h>\nint main(void) { return rocksdb_options_create() == 0; }\n"
    command = ["cc", "-x", "c", "-", "-lrocksdb", "-o", "/dev/null"]
    try:
        return subprocess.run(command, input=source, text=True, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def build() -> list[str]:
    """Build the program; the command that runs it."""
    command = ["cargo", "run", "--release", "--locked", "--quiet"]
    if has_rocksdb():
        command += ["--features", "rocksdb"]
    else:
        sys.stderr.write("RocksDB is left out: its header or library is not installed "
                         "(Debian: librocksdb-dev)\n")  # fmt: skip
    sys.stderr.write("building the rivals: some minutes the first time\n")
    subprocess.run([*command, "--", "--help"], cwd=PEERS, stdout=subprocess.DEVNULL, check=True)
    return [*command, "--"]


QUICK = [
    *("--keys", "20000", "--keys-large", "2000", "--turn-ms", "2", "--warm-up-ms", "1"),
    *("--foreign-limit", "1e9", "--patience", "1", "--tpcc-small", "--tpcc-turn-ms", "10"),
]


def lines_of(command: list[str]) -> Iterator[str]:
    """The program's lines as they come; says on stderr that it is alive."""
    with subprocess.Popen(command, cwd=PEERS, stdout=subprocess.PIPE, text=True) as process:
        for number, line in enumerate(process.stdout or (), 1):
            if number % 100 == 0:
                sys.stderr.write(f"\r{number} turns")
            yield line
    sys.stderr.write("\n")
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny parameters: no numbers to use")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rounds", type=int, default=9, help="undisturbed rounds of everything")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="some contestants")
    options = parser.parse_args(arguments)
    command = [*build(), "--rounds", str(3 if options.quick else options.rounds)]
    command += QUICK if options.quick else []
    command += ["--only", ",".join(options.only)] if options.only else []
    race = read(lines_of(command), math.inf if options.quick else FOREIGN_MAX)
    rows, hopes, tpcc = list(ycsb_rows(race)), list(hope_rows(race)), list(tpcc_rows(race))
    parts = [] if options.only else list(part_rows(options.quick))
    if options.json:
        write_json("engine", rows + tpcc + parts)
    else:
        print(text(race, rows, hopes, tpcc))
        if parts:
            print(f"\n{primitives.table(parts)}")
    is_met = all(row.met for row in rows + tpcc + parts) and not unmeasured(race)
    return 0 if options.quick or is_met else 1


if __name__ == "__main__":
    sys.exit(main())
