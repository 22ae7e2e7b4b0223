"""What every benchmark gives: rows of ours beside theirs, and the same as one JSON object."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np


@dataclass(frozen=True)
class Row:
    """One number of ours beside one of theirs; each benchmark says what `low` and `high` bound."""

    metric: str
    rival: str
    unit: str
    ours: float
    theirs: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    goal: str = ""
    met: bool = True


def write_json(name: str, rows: Sequence[Row]) -> None:
    """Print one object: the benchmark's name, the host, and its rows."""
    host = f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}"
    found = {"name": name, "host": host, "rows": [asdict(row) for row in rows]}
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


def write_shares(name: str, rows: Sequence[Row], as_json: bool) -> None:
    """Print rows that are shares in percent: a line each, or one object."""
    if as_json:
        write_json(name, rows)
        return
    for row in rows:
        print(f"{row.metric:20s} {row.ours:5.0f} %   {row.rival}")


def write_bounded(name: str, rows: Sequence[Row], as_json: bool) -> None:
    """Print rows with their intervals, rivals and goals: a line each, or one object."""
    if as_json:
        write_json(name, rows)
        return
    width = max((len(row.metric) for row in rows), default=0)
    for row in rows:
        theirs = "" if row.theirs is None else f"   {row.rival} {row.theirs:.3f}"
        bound = "" if row.low is None else f" [{row.low:.3f}, {row.high:.3f}]"
        print(f"{row.metric:{width}} {row.ours:8.3f} {row.unit}{bound}{theirs}   {row.goal}")
