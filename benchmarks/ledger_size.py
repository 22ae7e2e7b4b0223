"""How long does the ledger take with thousands of bundles: entering one, and each question?

Bundles are made up: 50 studies of five arms on four machines over years. Entering is timed one by
one, as runs do it; each question is asked several times. SQLite in a file of a temporary folder, or
an empty PostgreSQL database given by --url.

    python benchmarks/ledger_size.py [--json] [--bundles N] [--url postgresql://user@host/database]
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from outcome import Row, write_json

from assay.ledger import (
    Ledger,
    LedgerEntry,
    LedgerQuery,
    LedgerRow,
    compare_entries,
    histories,
)
from assay.ledger.entries import LedgerCase, LedgerLevel
from assay.ledger.places import LedgerPlace

STUDIES, ARMS, MACHINES = 50, 5, 4
TIMES = 5
GOAL_S = 1.0
"""Of a question, on a machine that does nothing else."""
CHANGES = ("engine.spin_hint", "engine.data_cache", "engine.lock", "engine.padding", "mariadb.pool")


def entry_of(number: int) -> LedgerEntry:
    """A bundle that might be."""
    drawn = random.Random(number)
    study = f"study-{number % STUDIES}"
    machine = f"machine-{number // STUDIES % MACHINES}"
    rows = [_row(arm, CHANGES[arm], drawn) for arm in range(ARMS)]
    levels = [_level(f"arm-{arm}", drawn) for arm in range(ARMS)]
    year, month, day = 2020 + number // 3000, 1 + number // 250 % 12, 1 + number // 9 % 28
    return LedgerEntry(
        identity=f"{number:064x}", folder=f"/nowhere/{number}", node="lab", kind="study",
        study=study, question="Does it help?", study_sha256="0" * 64, assay="0.1.0", statistics=4,
        design="one-at-a-time", primary="throughput", baseline="baseline",
        started=f"{year}-{month:02d}-{day:02d}T12:00:00", blocks=12, runs=72, voids=0, failures=0,
        stopped="", told_apart="", recommended="", end=str(number), machine=machine,
        facts={"arch": "x86_64", "cpus": "2", "kernel": f"6.{number // 2000}"}, servers={},
        conditions={"margin": "0.02"}, checked=True,
        cases=[LedgerCase(name="case", target="engine", workload="ycsb")],
        arms={f"arm-{arm}": {f"factor-{arm}": "on"} for arm in range(ARMS)},
        levels=levels, rows=rows,
    )  # fmt: skip


def _level(arm: str, drawn: random.Random) -> LedgerLevel:
    value = 1e6 * drawn.uniform(0.9, 1.1)
    return LedgerLevel(case="case", arm=arm, metric="throughput", value=value, runs=12)


def _row(arm: int, change: str, drawn: random.Random) -> LedgerRow:
    value = drawn.gauss(0.02 * arm, 0.01)
    low, high = value - 0.01, value + 0.01
    return LedgerRow(
        case="case", scope="case", kind="change", of=f"arm-{arm}", given="", against="baseline",
        arm=f"arm-{arm}", metric="throughput", word="helps" if low > 0 else "undecided",
        strength="confirmed", estimate=value, low=low, high=high, blocks=12, target="engine",
        workload="ycsb", changes=[change], reason="",
    )  # fmt: skip


def timed(what: Callable[[], object]) -> float:
    """Seconds that it takes, the median of several times."""
    found = []
    for _ in range(TIMES):
        began = time.perf_counter()
        what()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def rows_of(place: LedgerPlace, bundles: int) -> list[Row]:
    """Enter the bundles, ask the questions."""
    ledger = Ledger.open(place)
    kind = "SQLite" if place.file is not None else "PostgreSQL"
    took = []
    for number in range(bundles):
        entry = entry_of(number)
        began = time.perf_counter()
        ledger.add(entry)
        took.append(time.perf_counter() - began)
    last = took[-min(100, bundles) :]
    rows = [Row("entering one of the last", kind, "s", statistics.median(last), goal="0.1 s",
                met=statistics.median(last) < 0.1)]  # fmt: skip
    questions: dict[str, Callable[[], object]] = {
        "list, the newest 40": lambda: ledger.entries(limit=40),
        "query, spin hints that help": lambda: ledger.rows(
            LedgerQuery(words=["spin hints"], word="helps")
        ),
        "history of one study": lambda: histories(ledger.entries("study-1"), of="arm-1"),
        "compare two bundles": lambda: compare_entries(
            *(entry for _, entry in ledger.entries("study-1", limit=2))
        ),
    }
    for name, ask in questions.items():
        seconds = timed(ask)
        rows.append(Row(name, kind, "s", seconds, goal=f"{GOAL_S:g} s", met=seconds < GOAL_S))
    if place.file is not None:
        rows.append(Row("size of the file", kind, "MB", place.file.stat().st_size / 1e6))
    ledger.close()
    return rows


def main(words: Sequence[str] | None = None) -> int:
    """Print the rows; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--bundles", type=int, default=10_000)
    parser.add_argument("--url", help="an empty PostgreSQL database")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        place = LedgerPlace(url=asked.url) if asked.url else LedgerPlace(Path(folder) / "ledger")
        rows = rows_of(place, asked.bundles)
    if asked.json:
        write_json("ledger-size", rows)
    else:
        for row in rows:
            print(f"{row.rival:10}  {row.metric:32} {row.ours:10.4f} {row.unit}   {row.goal}")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
