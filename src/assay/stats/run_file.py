"""Reading somebody's runs from CSV files: a column `value`, and arm, block, metric, order.

Only `value` must be there. A file without `arm` is all one arm, called as the file; a file
without `block` numbers the runs of each arm as they stand. Several files are one set of runs.
Separators are commas, semicolons or tabs, whichever the first line uses.

Files are read in pieces and kept as columns of numbers, because they may have a million lines.
A piece is converted column by column; only where that fails is it gone through line by line to
find out which line it was. Text is UTF-8; bytes that are not stay visible as surrogates until
a cell that holds them is refused with its line.

Not here: whether the runs make sense together; that is `runs.py`.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import DataError
from assay.core.parameters import nearest
from assay.stats.run_table import Columns

COLUMNS = ("block", "arm", "value", "metric", "order")
METRIC = "value"
"""The name of the metric in files that name none."""
STDIN = Path("-")
METRICS_MAX = 10_000  # more are no metrics but something in the wrong column
LINES_AT_ONCE = 500  # few enough that the garbage collector has nothing to search
_HEADER_MAX = 10_000  # characters; a file without line ends is not read to its end to say so
_EXAMPLE = (
    "give a CSV file whose first line is block,arm,value or some of these (value always; metric "
    "and order may be added), and then a line for every run, such as 1,old,1234.5"
)
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

Watch = Callable[[int, int], None]
"""Told how many bytes have been read, and of how many in all (0: not known)."""


def _unwatched(done: int, total: int) -> None: ...


def read_files(paths: Sequence[Path], watch: Watch = _unwatched) -> dict[str, Columns]:
    """The runs of all files by metric, metrics in the order of their first line; `-` is stdin.

    Raises DataError, naming file and line, on anything that is not such a file.
    """
    found = _Found()
    sizes = [_size(path) for path in paths]
    total = sum(sizes) if all(sizes) else 0
    for number, path in enumerate(paths):
        before = sum(sizes[:number])
        _File(path, found, paths).read(_after(before, total, watch))
    if not found.pieces:
        called = " and ".join(map(_called, paths))
        verb = "has" if len(paths) == 1 else "have"
        raise DataError(f"{called} {verb} no runs", next_step="add a line for every run")
    return found.by_metric()


def _after(before: int, total: int, watch: Watch) -> Callable[[int], None]:
    """Tells `watch` of the bytes of one file, after those of the files before it."""
    return lambda done: watch(before + done, total)


class Names(dict[str, int]):
    """Cell -> number of the name in it, given out in the order of first appearance."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, cell: str) -> int:
        name = cell.strip()
        if name == cell:
            if not name:
                raise ValueError("is empty")
            if unprintable := _UNPRINTABLE.search(name):
                not_text = unprintable[0] >= "\ud800"
                raise ValueError("is not UTF-8 text" if not_text else "is no printable text")
            self[cell] = len(self.names)
            self.names.append(name)
        else:
            self[cell] = self[name]
        return self[cell]


@dataclass
class _Found:
    """What all files hold so far. `pieces`: columns of numbers, in the order of lines.

    shape   the columns that files must agree on, and the file that had them first
    firsts  the number of the first run of each file
    """

    names: dict[str, Names] = field(
        default_factory=lambda: {name: Names() for name in ("metric", "block", "arm")}
    )
    pieces: list[dict[str, NDArray[Any]]] = field(default_factory=list)
    runs: int = 0
    shape: tuple[Path, set[str]] | None = None
    firsts: list[int] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    def by_metric(self) -> dict[str, Columns]:
        """Every metric's runs, with names numbered anew among themselves."""
        whole = {
            name: np.concatenate([piece[name] for piece in self.pieces]) for name in self.pieces[0]
        }
        self.pieces.clear()
        metrics = self.names["metric"].names
        if len(metrics) > METRICS_MAX:
            raise DataError(
                f"{_called(self.files[0])}: the column metric holds {len(metrics)} different names",
                next_step="name what was measured in it, such as latency; numbers go into value",
            )
        sort = np.argsort(whole["metric"], kind="stable")
        ends = np.searchsorted(whole["metric"][sort], np.arange(1, len(metrics)))
        return {
            name: self._columns({c: whole[c][rows] for c in whole}, rows)
            for name, rows in zip(metrics, np.split(sort, ends), strict=True)
        }

    def _columns(self, runs: dict[str, NDArray[Any]], rows: NDArray[np.intp]) -> Columns:
        arms, arm = np.unique(runs["arm"], return_inverse=True)
        if "block" in runs:
            present, block = np.unique(runs["block"], return_inverse=True)
            blocks: list[Any] = [self.names["block"].names[k] for k in present.tolist()]
        else:
            block = _positions(arm)
            blocks = list(range(1, int(block.max()) + 2))
        lines = runs["line"]
        return Columns(
            blocks=blocks,
            arms=[self.names["arm"].names[k] for k in arms.tolist()],
            block=block,
            arm=arm,
            values=runs["value"],
            orders=runs.get("order"),
            where=lambda run: self._where(int(rows[run]), int(lines[run])),
            by_position="block" not in runs,
        )

    def _where(self, run: int, line: int) -> str:
        return f"{_called(self.files[bisect_right(self.firsts, run) - 1])}:{line}"


class _File:
    """One file on its way into `_Found`."""

    def __init__(self, path: Path, found: _Found, paths: Sequence[Path]) -> None:
        self.path, self.found = path, found
        self.called = _called(path)
        self.columns: list[str] = []
        self.stem = path.stem
        self.stem_is_shared = [p.stem for p in paths].count(path.stem) > 1

    def read(self, watch: Callable[[int], None]) -> None:
        self.found.firsts.append(self.found.runs)
        self.found.files.append(self.path)
        lines = 0
        try:
            with _text(self.path) as (text, file):
                first, lines = _first_line(text)
                reader = csv.reader(text, delimiter=self._read_header(first, lines), strict=True)
                for numbers, rows in _pieces(reader):
                    self._take(np.array(numbers) + lines, rows)
                    watch(_position(file))
        except OSError as error:
            reason = error.strerror or str(error)
            raise DataError(f"{self.called} cannot be read: {reason}", next_step=_EXAMPLE) from None
        except csv.Error as error:
            raise DataError(
                f"{self.called}:{lines + reader.line_num}: {error}",
                next_step="look for a quote that is not closed, here or in a line above; a quote "
                'inside quotes is written twice: ""',
            ) from None

    def _read_header(self, line: str, number: int) -> str:
        """Find the columns; returns the separator."""
        if not line:
            raise DataError(f"{self.called} is empty", next_step=_EXAMPLE)
        cells = {separator: _cells(line, separator) for separator in ",;\t"}
        separator = max(cells, key=lambda s: (len(set(cells[s]) & set(COLUMNS)), len(cells[s])))
        header = cells[separator]
        unknown = [c for c in header if c not in COLUMNS]
        wrong = [] if "value" in header else ["no column value"]
        wrong += [
            f"unknown column {_show(c)}{nearest(c, COLUMNS)}" if c else "a column without a name"
            for c in unknown[:5]
        ]
        wrong += [f"column {c} twice" for c in COLUMNS if header.count(c) > 1]
        if wrong and len(unknown) == len(header):
            self._refuse_foreign(line)
        if wrong:
            raise DataError(f"{self.called}:{number}: {'; '.join(wrong)}", next_step=_EXAMPLE)
        self.columns = header
        self._require_same_shape(number)
        return separator

    def _refuse_foreign(self, line: str) -> None:
        """Raise a DataError of its own for kinds of files that people are likely to try."""
        for pattern, kind, next_step in _FOREIGN:
            if re.match(pattern, line):
                raise DataError(f"{self.called} {kind}", next_step=next_step)

    def _require_same_shape(self, number: int) -> None:
        shape = set(self.columns) - {"arm"}
        first, expected = self.found.shape = self.found.shape or (self.path, shape)
        for column in COLUMNS:
            if (column in shape) != (column in expected):
                has = "has a" if column in shape else "has no"
                raise DataError(
                    f"{self.called}:{number}: {has} column {column}, unlike {_called(first)}",
                    next_step="give all files the same columns; only arm may be left out in some",
                )
        if "arm" in self.columns:
            return
        if self.path == STDIN:
            raise DataError(
                f"{self.called} has no column arm",
                next_step="name the arm of every run in a column",
            )
        if self.stem_is_shared:
            raise DataError(
                f"several files would give the arm {self.stem!r}",
                next_step="add a column arm, or rename a file: its arm is called as the file is",
            )

    def _take(self, lines: NDArray[np.int64], rows: list[list[str]]) -> None:
        """Append a piece of the file."""
        try:
            columns = list(zip(*rows, strict=True))
            if len(columns) != len(self.columns):
                raise ValueError
            found = dict(map(self._convert, self.columns, columns))
            if "arm" not in found:
                found["arm"] = np.full(len(rows), self.found.names["arm"][self.stem], np.int32)
        except (ValueError, OverflowError):
            self._complain(lines, rows)
        if "metric" not in found:
            found["metric"] = np.full(len(rows), self.found.names["metric"][METRIC], np.int32)
        found["line"] = lines
        self.found.pieces.append(found)
        self.found.runs += len(rows)

    def _convert(self, name: str, cells: Sequence[str]) -> tuple[str, NDArray[Any]]:
        """One column as numbers. Raises ValueError or OverflowError on a cell that is not one."""
        if name == "value":
            return name, np.fromiter(map(float, cells), np.float64, len(cells))
        if name == "order":
            return name, np.fromiter(map(int, cells), np.int64, len(cells))
        numbers = self.found.names[name].__getitem__
        return name, np.fromiter(map(numbers, cells), np.int32, len(cells))

    def _complain(self, lines: NDArray[np.int64], rows: list[list[str]]) -> NoReturn:
        """Raise for the first line that does not convert by itself."""
        for line, cells in zip(lines, rows, strict=True):
            where = f"{self.called}:{line}"
            if len(cells) != len(self.columns):
                raise DataError(
                    f"{where}: {len(cells)} cells, the header has {len(self.columns)}",
                    next_step="give each line one cell per column",
                )
            for name, cell in zip(self.columns, cells, strict=True):
                try:
                    self._convert(name, [cell])
                except (ValueError, OverflowError) as error:
                    problem, next_step = _MENDING.get(name, (str(error), "name it with plain text"))
                    message = f"{where}: {name} {_show(cell.strip())} {problem}"
                    raise DataError(message, next_step=next_step) from None
        # The lines are fine, so it is the arm that they take from the name of the file.
        raise DataError(
            f"{self.called!r} is no name for an arm",
            next_step="rename the file, or add a column arm",
        )


_MENDING = {
    "value": (
        "is not a number",
        "give one plain number per run, such as 1234.5, with a decimal point and no unit; leave "
        "the line out where a run is missing",
    ),
    "order": ("is not a whole number", "give the place of each run in time: 0, 1, 2, ..."),
}
_FOREIGN = (
    (r"\s*[{\[]", "looks like JSON", _EXAMPLE),
    (
        r"goos:|goarch:|pkg:|Benchmark",
        "looks like the output of `go test -bench`",
        "write one CSV line per result: the build as arm, the benchmark as metric, ns/op as value; "
        "the first line is arm,metric,value",
    ),
    (
        r"\x1f\udc8b",
        "is compressed with gzip",
        "unpack it on the way: zcat FILE | assay decide -",
    ),
    (
        r"PK\x03\x04",
        "is a spreadsheet or another packed file",
        "save the sheet as CSV in UTF-8 first",
    ),
    (r"(?s).*[\x00\udc80-\udcff]", "is not UTF-8 text", "save it as CSV in UTF-8"),
)


@contextmanager
def _text(path: Path) -> Iterator[tuple[io.TextIOWrapper, BinaryIO]]:
    """A file as text, and the bytes below it."""
    opened = nullcontext(sys.stdin.buffer) if path == STDIN else path.open("rb")
    with opened as file:
        # newline="": the csv module must see line ends inside quotes.
        text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
        try:
            yield text, file
        finally:
            text.detach()  # stdin is not ours to close


def _pieces(reader: Any) -> Iterator[tuple[Sequence[int], list[list[str]]]]:
    """Rows, many at a time, and the line each ends on; blank lines are left out."""
    before = 0
    while rows := list(itertools.islice(reader, LINES_AT_ONCE)):
        lines: Sequence[int] = range(before + 1, before + 1 + len(rows))
        if reader.line_num != lines[-1]:  # a quoted cell holds a line end
            ends = (1 + sum(cell.count("\n") for cell in cells) for cells in rows)
            lines = list(itertools.accumulate(ends, initial=before))[1:]
        before = reader.line_num
        if not all(rows):
            lines = [line for line, cells in zip(lines, rows, strict=True) if cells]
            rows = [cells for cells in rows if cells]
        if rows:
            yield lines, rows


def _first_line(text: io.TextIOWrapper) -> tuple[str, int]:
    """The first line that is not blank, and its number; an empty text when there is none."""
    number = 1
    while (line := text.readline(_HEADER_MAX)) and not line.strip():
        number += 1
    return line, number


def _cells(line: str, separator: str) -> list[str]:
    try:
        return [cell.strip().lower() for cell in next(csv.reader([line], delimiter=separator))]
    except csv.Error:
        return [line]


def _positions(arm: NDArray[np.intp]) -> NDArray[np.intp]:
    """Of each run, how many runs of its arm come before it."""
    sort = np.argsort(arm, kind="stable")
    counts = np.bincount(arm)
    found = np.empty(len(arm), dtype=np.intp)
    found[sort] = np.arange(len(arm)) - np.repeat(np.cumsum(counts) - counts, counts)
    return found


def _size(path: Path) -> int:
    """Bytes of an ordinary file; 0 when that cannot be known."""
    try:
        return 0 if path == STDIN or not path.is_file() else os.path.getsize(path)
    except OSError:
        return 0


def _position(file: BinaryIO) -> int:
    try:
        return file.tell()
    except OSError:  # a pipe
        return 0


def _called(path: Path) -> str:
    return "standard input" if path == STDIN else str(path)


def _show(text: str) -> str:
    """A cell for a message: quoted, unprintable characters escaped, not too long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")
