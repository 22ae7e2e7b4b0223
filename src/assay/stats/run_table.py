"""Measurements from anybody, turned into a table of blocks or refused.

This is the only place where unchecked data enters the verdict engine. A run is (block, arm,
value) or (block, arm, value, order). Every way in which runs can be unusable raises `DataError`
that names the run and says what to do; nothing is repaired silently. It does not read files:
`table_file.py` turns text into the same columns that `from_rows` makes of tuples.

Runs are held as columns, because somebody's file may have a million of them. Names are held
once; a run refers to them by number. Memory grows with the runs, never with blocks times arms.

`order` is a running number over the whole study, or the slot inside each block; which of the two
is seen from whether the numbers repeat. Without it blocks follow each other by name, with
numbers in names counted as numbers.
"""

from __future__ import annotations

import itertools
import math
import numbers
import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import DataError

Better = Literal["higher", "lower"]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Columns:
    """Runs whose cells were read one by one, not yet checked together: shapes (runs,).

    Run k belongs to block `blocks[block[k]]` and arm `arms[arm[k]]`; names stand in the order of
    their first run.

    orders       running number or slot of each run; None when no run has one
    where        the number of a run, from 0 -> where it stands, for messages
    by_position  the blocks are no more than the position of a run among those of its arm
    """

    blocks: list[Hashable]
    arms: list[str]
    block: Indices
    arm: Indices
    values: Floats
    orders: NDArray[Any] | None
    where: Callable[[int], str]
    by_position: bool = False

    def named(self, run: int) -> str:
        """The block and the arm of a run, for messages."""
        return f"(block {self.blocks[self.block[run]]}, arm {self.arms[self.arm[run]]})"


@dataclass(frozen=True, eq=False)
class Table:
    """Checked runs, arm by arm, those of an arm in the time order of their blocks.

    blocks       names of the blocks, in time order
    arms         names of the arms, sorted
    starts       the runs of arm k are those from starts[k] up to starts[k+1]
    block        of each run: the index of its block
    values       of each run: the metric as given, above zero
    logs         of each run: the natural log of the metric, signed so that up is better
    places       of each run: its place in time, comparable inside a block; None when unknown
    running      places are comparable over the whole study
    by_position  as in `Columns`
    """

    blocks: list[Hashable]
    arms: list[str]
    starts: Indices
    block: Indices
    values: Floats
    logs: Floats
    places: NDArray[Any] | None
    running: bool
    by_position: bool

    @cached_property
    def runs_of(self) -> dict[str, slice]:
        """Arm -> where its runs stand in the columns."""
        ends = itertools.pairwise(self.starts.tolist())
        return {arm: slice(*pair) for arm, pair in zip(self.arms, ends, strict=True)}

    @cached_property
    def by_block(self) -> dict[Hashable, dict[str, float]]:
        """Block -> arm -> signed log; blocks in time order, arms too where that is known."""
        found: dict[Hashable, dict[str, float]] = {name: {} for name in self.blocks}
        rows = list(found.values())
        for block, arm, log in self._in_time((self.block, self._arm, self.logs)):
            rows[block][self.arms[arm]] = log
        return found

    @cached_property
    def orders(self) -> dict[Hashable, list[str]] | None:
        """Block -> its arms in the order they ran; None when the rows did not say."""
        if self.places is None:
            return None
        return {block: list(row) for block, row in self.by_block.items()}

    @cached_property
    def sequence(self) -> list[str] | None:
        """The arm of every run in time order over the study; None when that is unknown."""
        if self.places is None or not self.running:
            return None
        return [self.arms[k] for k in self._arm[np.argsort(self.places)].tolist()]

    @cached_property
    def _arm(self) -> Indices:
        return np.repeat(np.arange(len(self.arms)), np.diff(self.starts))

    def _in_time(self, columns: tuple[NDArray[Any], ...]) -> Iterable[tuple[Any, ...]]:
        places = np.zeros(len(self.block)) if self.places is None else self.places
        order = np.lexsort((places, self.block))
        return zip(*(column[order].tolist() for column in columns), strict=True)


def read_runs(runs: Iterable[tuple[object, ...]] | Columns, better: Better) -> Table:
    """Check runs and arrange them. Raises DataError; see the file's docstring."""
    if better not in ("higher", "lower"):
        raise DataError(f"better is {better!r}", next_step='say better="higher" or better="lower"')
    columns = runs if isinstance(runs, Columns) else from_rows(runs)
    if not len(columns.values):
        raise DataError("there are no runs", next_step="give rows of (block, arm, value)")
    _require_positive(columns)
    _require_each_arm_once(columns)
    orders = columns.orders
    running = orders is not None and bool(np.all(np.diff(np.sort(orders))))
    if orders is not None and not running:
        _require_own_slots(columns, orders)
    time = _time_of_blocks(columns, orders if running else None)
    names = sorted(range(len(columns.arms)), key=columns.arms.__getitem__)
    arm, block = _inverse(names)[columns.arm], _inverse(time)[columns.block]
    sort = np.lexsort((block, arm))
    values, sign = columns.values[sort], 1.0 if better == "higher" else -1.0
    # math.log and not numpy's: it gives the same bits on every processor, and as a study does.
    logs = sign * np.fromiter(map(math.log, values.tolist()), np.float64, len(values))
    return Table(
        blocks=[columns.blocks[k] for k in time],
        arms=[columns.arms[k] for k in names],
        starts=np.searchsorted(arm[sort], np.arange(len(names) + 1)),
        block=block[sort],
        values=values,
        logs=logs,
        places=None if orders is None else orders[sort],
        running=running,
        by_position=columns.by_position,
    )


def from_rows(runs: Iterable[tuple[object, ...]]) -> Columns:
    """Tuples as columns, each checked on its own. Raises DataError that names the row."""
    blocks: dict[Hashable, int] = {}
    arms: dict[str, int] = {}
    block, arm, values, orders = [], [], [], []
    for number, row in enumerate(runs, start=1):
        name, of, value, order = _row(number, row)
        block.append(blocks.setdefault(name, len(blocks)))
        arm.append(arms.setdefault(of, len(arms)))
        values.append(value)
        orders.append(order)
    given = [order for order in orders if order is not None]
    if given and len(given) < len(orders):
        raise DataError(
            f"{len(orders) - len(given)} of {len(orders)} runs have no order",
            next_step="number every run, or none",
        )
    return Columns(
        blocks=list(blocks),
        arms=list(arms),
        block=np.array(block, dtype=np.intp),
        arm=np.array(arm, dtype=np.intp),
        values=np.array(values, dtype=np.float64),
        orders=_exact(given) if given else None,
        where=lambda run: f"run {run + 1}",
    )


def _row(number: int, row: object) -> tuple[Hashable, str, float, numbers.Real | None]:
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
    order = row[3] if len(row) == 4 else None
    if order is not None and not math.isfinite(
        _number(order, f"{where}: the order", "number the runs as they happened")
    ):
        raise DataError(
            f"{where}: the order is {order}, which is not finite",
            next_step="number the runs as they happened",
        )
    what = f"{where} (block {block}, arm {arm}): the value"
    return block, arm, _number(value, what, _LEFT_OUT), order


_LEFT_OUT = "a run without a result is left out: its block then does not count"


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
        return float(value)
    except OverflowError:
        return math.inf


def _exact(orders: list[numbers.Real]) -> NDArray[Any]:
    """Whole numbers stay whole: time stamps in nanoseconds differ by less than a float can say."""
    whole = [int(order) for order in orders if isinstance(order, numbers.Integral)]
    if len(whole) == len(orders) and all(abs(order) < 2**63 for order in whole):
        return np.array(whole, dtype=np.int64)
    return np.array([float(order) for order in orders], dtype=np.float64)


def _require_positive(columns: Columns) -> None:
    values = columns.values
    bad = np.flatnonzero(~((values > 0) & np.isfinite(values)))
    if not len(bad):
        return
    run = int(bad[0])
    what = f"{columns.where(run)} {columns.named(run)}: the value is {values[run]:g}"
    if not math.isfinite(values[run]):
        raise DataError(f"{what}, which is not finite", next_step=_LEFT_OUT)
    raise DataError(
        f"{what}; ratios need values above zero",
        next_step="leave failed runs out, or pick a metric that is positive",
    )


def _require_each_arm_once(columns: Columns) -> None:
    twice = _first_twin(columns.block, columns.arm)
    if twice is None:
        return
    first, second = twice
    raise DataError(
        f"{columns.where(second)}: block {columns.blocks[columns.block[second]]} has arm "
        f"{columns.arms[columns.arm[second]]} twice, first in {columns.where(first)}",
        next_step="give every run of an arm its own block, or average nothing and "
        "number the repetitions as blocks",
    )


def _require_own_slots(columns: Columns, orders: NDArray[Any]) -> None:
    twice = _first_twin(columns.block, orders)
    if twice is None:
        return
    first, second = twice
    raise DataError(
        f"{columns.where(second)}: block {columns.blocks[columns.block[second]]} has two runs "
        f"with the same order, the other in {columns.where(first)}",
        next_step="number runs over the whole study, or slots inside each block",
    )


def _first_twin(*keys: NDArray[Any]) -> tuple[int, int] | None:
    """The first run that equals an earlier one in all keys, after that earlier one."""
    sort = np.lexsort(keys)  # stable: equal runs stay in the order given
    same = np.all([key[sort][1:] == key[sort][:-1] for key in keys], axis=0)
    if not same.any():
        return None
    late = sort[1:][same]
    k = int(np.argmin(late))
    return int(sort[:-1][same][k]), int(late[k])


def _time_of_blocks(columns: Columns, running: NDArray[Any] | None) -> Indices:
    """The numbers of the blocks, in time order; `running`: as `Columns.orders`, if they run on."""
    if running is not None:
        in_time = columns.block[np.argsort(running)]
        _, first = np.unique(in_time, return_index=True)
        return np.argsort(first)
    keys = [natural(name) for name in columns.blocks]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)


def _inverse(order: Indices | list[int]) -> Indices:
    """Of each number, its place in `order`."""
    found = np.empty(len(order), dtype=np.intp)
    found[order] = np.arange(len(order))
    return found


_DIGITS = re.compile(r"([0-9]+)")


def natural(block: Hashable) -> tuple[int, object, tuple[object, ...], str]:
    """Sort key: numbers by size before texts, and digits inside texts by size."""
    text = str(block)
    if isinstance(block, numbers.Real):
        return (0, block, (), text)
    # Texts at even places, digits at odd ones; most blocks are plain numbers.
    parts = ["", text, ""] if text.isdigit() and text.isascii() else _DIGITS.split(text)
    digits = (part.lstrip("0") for part in parts[1::2])
    keys: list[object] = [*parts]
    keys[1::2] = [(len(part), part) for part in digits]  # by size, however long
    return (1, 0.0, tuple(keys), text)
