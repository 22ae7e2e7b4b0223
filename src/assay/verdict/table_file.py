"""Reading somebody's runs from a CSV file: columns block, arm, value, and perhaps metric, order."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from assay._errors import DataError
from assay._parameters import nearest

REQUIRED = ("block", "arm", "value")
OPTIONAL = ("metric", "order")
Row = tuple[str, str, float, int] | tuple[str, str, float]


def read_csv(path: Path) -> dict[str, list[Row]]:
    """Rows for `decide` by metric ("value" where the file has no metric column).

    Raises DataError, naming the line, on anything that is not such a file.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _read(path, csv.reader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}", next_step="give a CSV file") from error
    except csv.Error as error:
        raise DataError(f"{path} is not CSV: {error}", next_step="give a CSV file") from error


def _read(path: Path, lines: Iterator[list[str]]) -> dict[str, list[Row]]:
    header = [name.strip() for name in next(lines, [])]
    place = _columns(path, header)
    found: dict[str, list[Row]] = {}
    for number, cells in enumerate(lines, start=2):
        if not cells:
            continue
        if len(cells) != len(header):
            raise DataError(
                f"{path}:{number}: {len(cells)} cells, the header has {len(header)}",
                next_step="give each line one cell per column",
            )
        name = cells[place["metric"]].strip() if "metric" in place else "value"
        found.setdefault(name, []).append(_row(path, number, cells, place))
    if not found:
        raise DataError(f"{path} has no runs", next_step="add a line per run")
    return found


def _columns(path: Path, header: list[str]) -> dict[str, int]:
    known = (*REQUIRED, *OPTIONAL)
    missing = [c for c in REQUIRED if c not in header]
    unknown = [c for c in header if c not in known]
    twice = [c for c in header if header.count(c) > 1]
    if missing or unknown or twice:
        wrong = [f"no column {c}" for c in missing]
        wrong += [f"unknown column {c!r}{nearest(c, known)}" for c in unknown]
        wrong += [f"column {c} twice" for c in dict.fromkeys(twice)]
        raise DataError(
            f"{path}:1: {'; '.join(wrong)}",
            next_step=f"the first line names {', '.join(REQUIRED)}, and may add metric, order",
        )
    return {name: header.index(name) for name in header}


def _row(path: Path, number: int, cells: list[str], place: dict[str, int]) -> Row:
    block, arm = cells[place["block"]].strip(), cells[place["arm"]].strip()
    text = cells[place["value"]].strip()
    try:
        value = float(text)
    except ValueError as error:
        raise DataError(
            f"{path}:{number}: value {text!r} is not a number",
            next_step="give one number per run; leave the line out where a run is missing",
        ) from error
    if "order" not in place:
        return block, arm, value
    written = cells[place["order"]].strip()
    try:
        return block, arm, value, int(written)
    except ValueError as error:
        raise DataError(
            f"{path}:{number}: order {written!r} is not a whole number",
            next_step="give the place of each run in time: 0, 1, 2, ...",
        ) from error
