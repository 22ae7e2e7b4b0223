"""Tools that write text: `go test -bench`, sysbench, pgbench, and CSV of two columns."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from assay.core.metrics import Better
from assay.imports.result import Entry, Format, broken

_GO_LINE = re.compile(r"^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+(.+)$")
_GO_NUMBER = re.compile(r"([\d.eE+-]+)\s+(\S+)")
GO_UNITS: dict[str, Better] = {"MB/s": "higher"}
"""Units of which more is better; of all others, which count what an operation costs, less is."""

_SYSBENCH: tuple[tuple[str, str, Better, str], ...] = (
    ("transactions", "1/s", "higher", r"^\s*transactions:\s+\d+\s+\(([\d.]+) per sec"),
    ("events", "1/s", "higher", r"^\s*events per second:\s+([\d.]+)"),
    ("events", "1/s", "higher", r"^\s*events/s \(eps\):\s+([\d.]+)"),
    ("latency_avg", "ms", "lower", r"^\s*avg:\s+([\d.]+)"),
    ("latency_p95", "ms", "lower", r"^\s*95th percentile:\s+([\d.]+)"),
)
_PGBENCH: tuple[tuple[str, str, Better, str], ...] = (
    ("tps", "1/s", "higher", r"^tps = ([\d.]+)"),
    ("latency", "ms", "lower", r"^latency average = ([\d.]+) ms"),
)
_PAIR_MAX = 4000


def _go(path: Path, text: str) -> list[Entry]:
    """A line is one benchmark once; each of its numbers has a unit."""
    values: dict[tuple[str, str], list[float]] = {}
    for line in text.splitlines():
        match = _GO_LINE.match(line)
        if match is None:
            if line.startswith(("FAIL", "--- FAIL", "panic:")):
                broken(path, "go test", f"a test failed: {line!r}")
            continue
        for number, unit in _GO_NUMBER.findall(match[2]):
            values.setdefault((match[1], unit), []).append(float(number))
    if not values:
        broken(path, "go test", "it has no line of a benchmark: run it with -bench")
    numbers = {key: tuple(v) for key, v in values.items() if any(v)}
    return [Entry(n, u, GO_UNITS.get(u, "lower"), v) for (n, u), v in numbers.items()]


def _summary(
    path: Path, text: str, tool: str, wanted: tuple[tuple[str, str, Better, str], ...]
) -> list[Entry]:
    """The numbers of a summary at the end of a run; several runs may stand in one file."""
    found: list[Entry] = []
    for name, unit, better, pattern in wanted:
        values = tuple(float(v) for v in re.findall(pattern, text, re.MULTILINE))
        if values and all(e.name != name for e in found):
            found.append(Entry(name, unit, better, values))
    if not found:
        broken(path, tool, "it has no summary: did the run end?")
    return found


def _sysbench(path: Path, text: str) -> list[Entry]:
    return _summary(path, text, "sysbench", _SYSBENCH)


def _pgbench(path: Path, text: str) -> list[Entry]:
    return _summary(path, text, "pgbench", _PGBENCH)


def _numbers(cells: list[str]) -> tuple[float, ...] | None:
    try:
        return tuple(map(float, cells))
    except ValueError:
        return None


def _is_pairs(head: str) -> bool:
    """Two columns with a line of names or none, and numbers below."""
    rows = list(csv.reader(head[:_PAIR_MAX].splitlines()[:2]))
    if len(rows) < 2 or any(len(row) != 2 for row in rows) or "value" in rows[0]:
        return False
    return _numbers(rows[1]) is not None


def _pairs(path: Path, text: str) -> list[Entry]:
    """A row is a block: one number of each arm."""
    rows = [row for row in csv.reader(text.splitlines()) if row]
    names = ["first", "second"] if _numbers(rows[0]) is not None else rows.pop(0)
    values: list[tuple[float, ...]] = []
    for number, row in enumerate(rows, 1):
        numbers = _numbers(row)
        if numbers is None or len(numbers) != 2:
            broken(path, "two columns", f"row {number} of numbers is {','.join(row)!r}")
        values.append(numbers)
    return [
        Entry(name.strip(), "", "higher", column)
        for name, column in zip(names, zip(*values, strict=True), strict=True)
    ]


TEXT_FORMATS = (
    Format(
        "go",
        "go test -bench",
        "in turn",
        lambda head: (
            re.search(r"^(goos:|goarch:|pkg:|Benchmark\S+\s+\d+\s)", head, re.M) is not None
        ),
        _go,
        "the k-th lines of the benchmark",
    ),
    Format(
        "sysbench",
        "sysbench",
        "one run",
        lambda head: head.startswith("sysbench "),
        _sysbench,
        "the k-th runs of the arms",
    ),
    Format(
        "pgbench",
        "pgbench",
        "one run",
        lambda head: head.startswith("pgbench (") or "\ntransaction type:" in f"\n{head}",
        _pgbench,
        "the k-th runs of the arms",
    ),
    Format("pairs", "two columns", "pairs", _is_pairs, _pairs, "one row"),
)
