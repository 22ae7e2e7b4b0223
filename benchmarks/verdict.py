"""Is the verdict right as often as it says? A/A false alarms, power, coverage, time.

Simulated studies, whole procedure included: pilot of 8 blocks, plan from |c|, sequential looks,
stop. Beside it what people do instead, on the same simulated machine. Each table has the goals it
must meet; the exit code is 1 when a promise is not kept, or when the negative control keeps
them all. With --quick the numbers are too small for promises, and only the control counts.

    python benchmarks/verdict.py [--quick] [--json] [--studies N] [--only TABLE ...]

The tables are made in benchmarks/simulated/; docs/method.md has the method and its sources.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from outcome import Row, write_json
from simulated.noise import NOISES, machine
from simulated.progress import Progress
from simulated.rows import Table, clopper_pearson
from simulated.scale import QUICK, Scale
from simulated.tables import TABLES

__all__ = ["NOISES", "Row", "clopper_pearson", "machine", "main"]  # what other benchmarks share


def made(name: str, scale: Scale, progress: Progress) -> Table:
    """Run one table to its end."""
    make, work = TABLES[name]
    steps = make(scale)
    while True:
        try:
            progress.within(name, work, next(steps))
        except StopIteration as end:
            progress.finished(work)
            return end.value


def scale_of(options: argparse.Namespace) -> Scale:
    """How much is simulated."""
    if options.quick:
        return replace(QUICK, seed=options.seed)
    return Scale(studies=options.studies, seed=options.seed)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    found.add_argument("--quick", action="store_true", help="tiny parameters, for the tests")
    found.add_argument("--json", action="store_true", help="one JSON object on stdout")
    found.add_argument("--studies", type=int, default=Scale.studies, help="studies per number")
    found.add_argument("--only", nargs="+", choices=TABLES, metavar="TABLE", default=list(TABLES),
                       help=f"some tables: {', '.join(TABLES)}")  # fmt: skip
    found.add_argument("--seed", type=int, default=Scale.seed)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    options = parser().parse_args(arguments)
    scale = scale_of(options)
    names = [name for name in TABLES if name in options.only]
    progress = Progress(sys.stderr, sum(TABLES[name][1] for name in names))
    rows: list[Row] = []
    missed: list[Row] = []
    for number, name in enumerate(names, 1):
        table = made(name, scale, progress)
        rows += table.rows
        missed += [row for row in table.missed if not options.quick or name == "control"]
        if not options.json:
            print(f"{number}. {name}: {table.text}\n", flush=True)
    if options.json:
        write_json("verdict", rows)
    elif not options.quick:
        print(f"seed {scale.seed}; promises not kept: {len(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
