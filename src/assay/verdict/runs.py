"""Rows of measurements from anybody, turned into a table of blocks or refused.

This is the only place where unchecked data enters the verdict engine. A row is (block, arm,
value) or (block, arm, value, order). Every way in which such rows can be unusable raises
`DataError` that names the row and says what to do; nothing is repaired silently. It does not
read files: the command line turns text into numbers.

`order` is a running number over the whole study, or the slot inside each block; which of the two
is seen from whether the numbers repeat. Without it blocks follow each other by name, with
numbers in names counted as numbers.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Literal

from assay._errors import DataError

Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class Row:
    """One run as given, checked on its own."""

    block: Hashable
    arm: str
    value: float
    order: float | None


@dataclass(frozen=True)
class Table:
    """Checked runs: blocks in time order.

    logs      block -> arm -> natural log of the metric, signed so that up is better
    orders    block -> its arms in the order they ran; None when the rows did not say
    sequence  the arm of every run in time order over the study; None when that is unknown
    arms      all arms, sorted by name
    """

    logs: dict[Hashable, dict[str, float]]
    orders: dict[Hashable, list[str]] | None
    sequence: list[str] | None
    arms: list[str]


def read_runs(runs: Iterable[tuple], better: Better) -> Table:
    """Check rows and arrange them. Raises DataError; see the file's docstring."""
    if better not in ("higher", "lower"):
        raise DataError(f"better is {better!r}", next_step='say better="higher" or better="lower"')
    rows = [_row(number, row) for number, row in enumerate(runs, start=1)]
    if not rows:
        raise DataError("there are no runs", next_step="give rows of (block, arm, value)")
    blocks = _group(rows)
    running, ordered = _read_order(rows, blocks)
    if running:
        names = sorted(blocks, key=lambda block: min(row.order or 0 for row in blocks[block]))
    else:
        names = sorted(blocks, key=_natural)
    sign = 1.0 if better == "higher" else -1.0
    in_order = {name: sorted(blocks[name], key=lambda row: row.order or 0) for name in names}
    return Table(
        logs={
            name: {row.arm: sign * math.log(row.value) for row in in_order[name]} for name in names
        },
        orders={name: [row.arm for row in in_order[name]] for name in names} if ordered else None,
        sequence=[row.arm for row in sorted(rows, key=lambda row: row.order or 0)]
        if running
        else None,
        arms=sorted({row.arm for row in rows}),
    )


def _row(number: int, row: object) -> Row:
    where = f"run {number}"
    if not isinstance(row, (tuple, list)) or len(row) not in (3, 4):
        raise DataError(
            f"{where} is {row!r}", next_step="give (block, arm, value) or one more, the order"
        )
    block, arm, value = row[:3]
    if not isinstance(arm, str) or not arm:
        raise DataError(f"{where}: the arm is {arm!r}", next_step="name the arm with a text")
    if not _names_a_block(block):
        raise DataError(f"{where}: the block is {block!r}", next_step="number or name the block")
    order = None
    if len(row) == 4 and row[3] is not None:
        order = _number(row[3], f"{where}: the order", "number the runs as they happened")
    return Row(block, arm, _value(value, f"{where} (block {block}, arm {arm}): the value"), order)


def _names_a_block(block: object) -> bool:
    try:
        hash(block)
    except TypeError:
        return False
    return block is not None and block == block


def _number(value: object, what: str, next_step: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise DataError(f"{what} is {value!r}, which is no number", next_step=next_step)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise DataError(f"{what} is {number}, which is not finite", next_step=next_step)
    return number


def _value(value: object, what: str) -> float:
    number = _number(
        value, what, "a run without a result is left out: its block then does not count"
    )
    if number <= 0:
        raise DataError(
            f"{what} is {number:g}; ratios need values above zero",
            next_step="leave failed runs out, or pick a metric that is positive",
        )
    return number


def _group(rows: list[Row]) -> dict[Hashable, list[Row]]:
    """Rows by block. Raises DataError when a block has an arm twice."""
    blocks: dict[Hashable, list[Row]] = {}
    for row in rows:
        mates = blocks.setdefault(row.block, [])
        if any(mate.arm == row.arm for mate in mates):
            raise DataError(
                f"block {row.block} has arm {row.arm} twice",
                next_step="give every run of an arm its own block, or average nothing and "
                "number the repetitions as blocks",
            )
        mates.append(row)
    return blocks


def _read_order(rows: list[Row], blocks: dict[Hashable, list[Row]]) -> tuple[bool, bool]:
    """(order runs over the whole study, order is known). Raises DataError on half an order."""
    given = [row.order for row in rows if row.order is not None]
    if not given:
        return False, False
    if len(given) < len(rows):
        raise DataError(
            f"{len(rows) - len(given)} of {len(rows)} runs have no order",
            next_step="number every run, or none",
        )
    if len(set(given)) == len(given):
        return True, True
    for block, mates in blocks.items():
        if len({mate.order for mate in mates}) < len(mates):
            raise DataError(
                f"block {block} has two runs with the same order",
                next_step="number runs over the whole study, or slots inside each block",
            )
    return False, True


def _natural(block: Hashable) -> tuple:
    """Sort key: numbers by size before texts, and digits inside texts by size."""
    text = str(block)
    if isinstance(block, numbers.Real):
        return (0, float(block), (), text)
    parts = re.split(r"([0-9]+)", text)  # texts at even places, digits at odd ones
    keys = tuple((int(part), "") if k % 2 else (0, part) for k, part in enumerate(parts))
    return (1, 0.0, keys, text)
