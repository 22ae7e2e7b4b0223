"""From files of other tools to runs with arms: which format, which arms, which warnings.

one file           its entries are arms of one metric
several files      a file is an arm, its entries are metrics
files of one run   (k6, sysbench, pgbench) a file is one run: `old-1.txt` is run 1 of arm `old`
a folder           Criterion's: `base` and `new` are arms, benchmarks are metrics
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.core.errors import DataError
from assay.core.metrics import Better
from assay.imports.criterion import is_criterion, read_criterion
from assay.imports.json_files import JSON_FORMATS
from assay.imports.result import Entry, Format, Layout
from assay.imports.text_files import TEXT_FORMATS
from assay.reasons import Code, Reason
from assay.stats.run_table import Columns

FORMATS: tuple[Format, ...] = (*JSON_FORMATS, *TEXT_FORMATS)
HEAD = 1 << 16
"""Characters at the beginning of a file by which a format is known."""

ByMetric = dict[str, dict[str, tuple[float, ...]]]
"""Metric -> arm -> its numbers, in their order."""


@dataclass(frozen=True)
class Imported:
    """Runs of another tool by metric, which way each is better, and what they cannot carry.

    `block` says what one is; `left_out` are metrics that are zero somewhere, where no ratio is.
    """

    tool: str
    block: str
    runs: dict[str, Columns]
    better: dict[str, Better]
    design: Reason | None
    left_out: tuple[str, ...] = ()


def recognised(paths: Sequence[Path]) -> bool:
    """Whether the first of the paths is a result of a tool that is known here."""
    first = paths[0]
    return is_criterion(first) or (first.is_file() and _format(_text(first)) is not None)


def read_results(paths: Sequence[Path]) -> Imported:
    """The runs in files of one tool, or in Criterion's folder; DataError on anything else."""
    if is_criterion(paths[0]):
        if len(paths) > 1:
            raise DataError("Criterion's folder holds both runs", next_step="give it alone")
        arms = read_criterion(paths[0])
        return _imported("Criterion", "the k-th samples", "one process", arms, of_files=True)
    texts = {path: _text(path) for path in paths}
    formats = {path: _format(text) for path, text in texts.items()}
    known = formats[paths[0]]
    for path, other in formats.items():
        if known is None or other != known:
            found = "no tool that is known" if other is None else other.tool
            raise DataError(
                f"{path} is of {found}, and {paths[0]} of {known.tool if known else 'none'}",
                next_step="give files of one tool",
            )
    assert known is not None, "the first one was recognised"
    entries = {path: known.read(path, text) for path, text in texts.items()}
    if known.layout == "one run":
        return _imported(known.tool, known.block, known.layout, _single(entries), of_files=True)
    if len(paths) == 1:
        return _one_file(known, entries[paths[0]])
    arms = {_stem(path, paths): found for path, found in entries.items()}
    return _imported(known.tool, known.block, known.layout, arms, of_files=True)


def _one_file(known: Format, entries: list[Entry]) -> Imported:
    """Entries of a file against each other, where they have a unit in common."""
    unit = entries[0].unit
    arms = {
        e.name: [Entry(_metric_of(e), unit, e.better, e.values)] for e in entries if e.unit == unit
    }
    return _imported(known.tool, known.block, known.layout, arms, of_files=False)


def _single(entries: dict[Path, list[Entry]]) -> dict[str, list[Entry]]:
    """Files of one run each, joined to arms by their names without the number at the end."""
    arms: dict[str, dict[str, Entry]] = {}
    for path, found in entries.items():
        arm = re.sub(r"[-_.]?\d+$", "", path.stem) or path.stem
        mine = arms.setdefault(arm, {})
        for entry in found:
            before = mine[entry.name].values if entry.name in mine else ()
            values = (*before, *entry.values)
            mine[entry.name] = Entry(entry.name, entry.unit, entry.better, values)
    return {arm: list(found.values()) for arm, found in arms.items()}


def _imported(
    tool: str, block: str, layout: Layout, arms: dict[str, list[Entry]], *, of_files: bool
) -> Imported:
    if len(arms) < 2:
        raise DataError(
            f"{tool}: there is one arm only, {', '.join(arms)}",
            next_step="give a file before the change and one after it, or one with two commands",
        )
    first = next(iter(arms))
    runs: dict[str, Columns] = {}
    better: dict[str, Better] = {}
    left_out = []
    for entry in arms[first]:
        key = entry.name, entry.unit
        mine = {
            arm: e.values for arm, found in arms.items() for e in found if (e.name, e.unit) == key
        }
        if len(mine) < 2:
            continue
        name = _named(entry, arms[first])
        if min(map(min, mine.values())) <= 0:
            left_out.append(name)
            continue
        runs[name], better[name] = _columns(mine, layout != "pairs"), entry.better
    if not runs:
        raise DataError(
            f"{tool}: the arms {', '.join(arms)} have no number above zero in common",
            next_step="give files of the same benchmarks",
        )
    design = _design(tool, layout, list(arms), of_files)
    return Imported(tool, block, runs, better, design, tuple(left_out))


def _named(entry: Entry, among: Sequence[Entry]) -> str:
    """A metric by its benchmark; with its unit where the benchmark has several."""
    several = [e.name for e in among].count(entry.name) > 1
    return f"{entry.name} {entry.unit}" if several else entry.name


def _columns(arms: dict[str, tuple[float, ...]], by_position: bool) -> Columns:
    """The k-th numbers of all arms are a block: nothing else joins them."""
    numbers = [(k, a, v) for a, values in enumerate(arms.values()) for k, v in enumerate(values)]
    block, arm, values = zip(*numbers, strict=True)
    names = list(arms)
    return Columns(
        blocks=list(range(1, max(block) + 2)),
        arms=names,
        block=np.array(block, np.int64),
        arm=np.array(arm, np.int64),
        values=np.array(values, np.float64),
        orders=None,
        where=lambda run: f"number {numbers[run][0] + 1} of {names[numbers[run][1]]}",
        by_position=by_position,
    )


def _design(tool: str, layout: Layout, arms: list[str], of_files: bool) -> Reason | None:
    """What the order of the runs cannot carry; None where each row is a pair."""
    if layout == "pairs":
        return None
    first, second = arms[0], arms[1]
    codes = {"one process": Code.ONE_PROCESS, "one run": Code.ORDER_OF_FILES}
    fallback = Code.FILE_AFTER_FILE if of_files else Code.ARM_AFTER_ARM
    return Reason.of(codes.get(layout, fallback), tool=tool, first=first, second=second)


def _metric_of(entry: Entry) -> str:
    return "time" if entry.better == "lower" else "rate"


def _stem(path: Path, paths: Sequence[Path]) -> str:
    """What the arm of a file is called; with its folder where two are called alike."""
    shared = [p.stem for p in paths].count(path.stem) > 1
    return f"{path.parent.name}/{path.stem}" if shared else path.stem


def _format(text: str) -> Format | None:
    head = text[:HEAD].lstrip("\ufeff")
    return next((f for f in FORMATS if f.fits(head)), None)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"{path} cannot be read: {reason}", next_step="give a file") from None
