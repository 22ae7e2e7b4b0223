"""How many of ten studies of real servers find an effect where there can be none?

Each study compares a server with itself but for a setting that cannot matter under its load. At a
level of 5 % one study in twenty errs, so of ten studies one false verdict is no surprise and three
are: what is printed is what came out, and no goal.

    python benchmarks/placebo.py [--quick] [--json] [--seconds N] [--only NAME ...]
                                 [--series N] [--design auto|slices|calibrated|runs] [--keep FOLDER]

The bundles are kept, so that a false verdict can be examined.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from outcome import Row, write_json

import assay
from assay.core.errors import VoidError

FALSE = ("helps", "hurts")
ATTEMPTS = 5


@dataclass(frozen=True)
class Placebo:
    """A study of two arms that are alike; `factor` are the lines of its one factor."""

    name: str
    target: str
    workload: str
    factor: str


PLACEBOS = (
    Placebo(
        "redis-get",
        'kind = "redis"',
        'kind = "redis-get"\nkeys = 10000\npipeline = 8',
        'change = "setting"\nsetting = "slowlog-max-len"\noff = 128\non = 129',
    ),
    Placebo(
        "redis-set",
        'kind = "redis"',
        'kind = "redis-set"\nkeys = 10000\npipeline = 8',
        'change = "setting"\nsetting = "repl-timeout"\noff = 60\non = 61',
    ),
    Placebo(
        "nginx-file",
        'kind = "nginx"',
        'kind = "http-get"',
        'change = "env"\nvariable = "ASSAY_PLACEBO"\non = "1"',
    ),
    Placebo(
        "nginx-pause-without-zone",
        'kind = "nginx"\nzone = "off"\nworker_processes = 2',
        'kind = "http-proxy"',
        'change = "nginx.pause"\non = "pause"',
    ),
    Placebo(
        "mariadb-read",
        'kind = "mariadb"',
        'kind = "oltp-point-select"',
        'change = "mariadb.placebo"',
    ),
    Placebo(
        "mariadb-write",
        'kind = "mariadb"\ninnodb_flush_log_at_trx_commit = 0',
        'kind = "oltp-update-index"',
        'change = "mariadb.placebo"',
    ),
    Placebo(
        "postgresql-read",
        'kind = "postgresql"',
        'kind = "oltp-read-only"',
        'change = "postgresql.placebo"',
    ),
    Placebo(
        "postgresql-write",
        'kind = "postgresql"\nsynchronous_commit = "off"',
        'kind = "oltp-update-non-index"',
        'change = "postgresql.placebo"',
    ),
    Placebo(
        "rocksdb-read",
        'kind = "rocksdb"',
        'kind = "ycsb"\nmix = "c"',
        'change = "rocksdb.placebo"',
    ),
    Placebo(
        "sqlite-mixed",
        'kind = "sqlite"',
        'kind = "ycsb"\nmix = "b"\nrecords = 10000',
        'change = "sqlite.placebo"',
    ),
)


def study(placebo: Placebo, seconds: float, window: str, design: str = "auto") -> str:
    """The study file."""
    return f"""name = "{placebo.name}"
question = "Is a server told from itself?"
source = "A check of Assay: what is changed cannot matter."
[target]
{placebo.target}
[workload]
{placebo.workload}
[measure]
primary = "throughput"
warmup = "300ms"
window = "{window}"
design = "{design}"
[[factor]]
name = "placebo"
{placebo.factor}
[design]
kind = "one-at-a-time"
[decide]
smallest = "2%"
margin = "5%"
budget = "{seconds:g}s"
"""


def run(placebo: Placebo, text: str, bundle: Path) -> Row:
    """The study's verdict as a row: percent, with the bounds of the interval."""
    file = bundle.with_suffix(".toml")
    file.write_text(text)
    try:
        verdicts = patiently(lambda: assay.run_study(str(file), bundle)[1], bundle)
    except VoidError as error:
        return Row(placebo.name, f"void: {error.message}", "%", 0.0)
    row = next(v for v in verdicts.verdicts if v.contrast.kind == "change")
    percent = [None if x is None else 100 * x for x in (row.estimate, row.low, row.high)]
    word = f"{row.word}, {row.blocks} blocks"
    return Row(
        placebo.name, word, "%", percent[0] or 0.0, low=percent[1], high=percent[2],
        met=row.word not in FALSE,
    )  # fmt: skip


def unused(folder: Path, name: str, number: int) -> Path:
    """A place for a bundle; those of earlier series stay."""
    while (folder / f"{name}-{number:03d}").exists():
        number += 1
    return folder / f"{name}-{number:03d}"


def patiently(first: Callable[[], assay.Verdicts], bundle: Path) -> assay.Verdicts:
    """Goes on with a study that the machine disturbed, as its user would, some times."""
    for attempt in range(ATTEMPTS):
        try:
            return assay.resume_study(bundle) if attempt else first()
        except VoidError as error:
            sys.stderr.write(f"{error.message}\n")
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def table(rows: list[Row]) -> Iterator[str]:
    """The rows for people, and how many were false."""
    for row in rows:
        bounds = " to ".join("?" if x is None else f"{x:+.1f} %" for x in (row.low, row.high))
        yield f"{row.metric:26s} {row.rival:26s} {row.ours:+6.1f} %   {bounds}"
    ended = [row for row in rows if not row.rival.startswith("void")]
    false = sum(not row.met for row in ended)
    yield f"{false} of {len(ended)} studies that ended gave a false verdict"


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    names = [p.name for p in PLACEBOS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny parameters: no numbers to use")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--seconds", type=float, default=120, help="budget of a study")
    parser.add_argument("--series", type=int, default=1, help="how often each study is made")
    ways = ("auto", "slices", "calibrated", "runs")
    parser.add_argument("--design", choices=ways, default="auto")
    parser.add_argument("--keep", type=Path, default=Path("bundles/placebo"), metavar="FOLDER")
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="studies")
    options = parser.parse_args(arguments)
    seconds, window = (80.0, "100ms") if options.quick else (options.seconds, "1s")
    options.keep.mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(options.series):
        for placebo in (p for p in PLACEBOS if p.name in options.only):
            sys.stderr.write(f"{placebo.name}: {seconds:g} s at most\n")
            text = study(placebo, seconds, window, options.design)
            rows.append(run(placebo, text, unused(options.keep, placebo.name, number)))
    if options.json:
        write_json("placebo", rows)
    else:
        print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
