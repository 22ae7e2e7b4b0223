"""What a reader of one tool's results gives: entries, each with its numbers, and how they came.

A reader is told a path and its text and knows nothing of arms: which entry or file is an arm is
decided for all tools alike (`read`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from assay.core.errors import DataError
from assay.core.metrics import Better

Layout = Literal["in turn", "one process", "pairs", "one run"]
"""How the numbers of a file came about.

in turn      runs of an entry, one after the other, then those of the next entry
one process  repetitions inside one process: what a start decides, all of them share
pairs        one number of each arm in every row
one run      a file is one run
"""


@dataclass(frozen=True)
class Entry:
    """The numbers of one benchmark in one unit, in the order of the file."""

    name: str
    unit: str
    better: Better
    values: tuple[float, ...]


Reader = Callable[[Path, str], list[Entry]]
"""From a file and its text to its entries; DataError where it is broken."""


@dataclass(frozen=True)
class Format:
    """One tool's results. `fits` looks at the beginning of a file; `block` says what one is."""

    name: str
    tool: str
    layout: Layout
    fits: Callable[[str], bool]
    read: Reader
    block: str


def broken(path: Path, tool: str, why: str) -> NoReturn:
    """Raise for a file that is the tool's and cannot be read."""
    raise DataError(
        f"{path} looks like {tool}'s results, but {why}",
        next_step="export it again, with all single values",
    )
