"""Criterion's folder: `target/criterion`, with the samples of the last run and of the one before.

In it every benchmark has a folder with `new/sample.json`, and `base/sample.json` of the run before
(or another folder, of a baseline that was saved). A sample is many iterations; its number is their
time divided by how many they were, in nanoseconds. All samples of a run are of one process.
Source: criterion.rs, book/src/user_guide (the layout), and its files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from assay.core.errors import DataError
from assay.imports.result import Entry, broken

SAMPLES = "sample.json"
CHANGE = "change"


def is_criterion(folder: Path) -> bool:
    """Whether a folder is one of Criterion's, or holds some."""
    return folder.is_dir() and next(folder.rglob(f"*/{SAMPLES}"), None) is not None


def read_criterion(folder: Path) -> dict[str, list[Entry]]:
    """By arm (`base`, `new`, a saved baseline) its benchmarks."""
    arms: dict[str, list[Entry]] = {}
    for path in sorted(folder.rglob(SAMPLES)):
        arm, place = path.parent.name, path.parent.parent
        if arm == CHANGE:
            continue
        name = "/".join(place.relative_to(folder).parts) or place.name
        arms.setdefault(arm, []).append(Entry(name, "ns", "lower", tuple(_values(path))))
    if "base" in arms and "new" in arms:
        arms = {"base": arms.pop("base"), **arms}
    if len(arms) < 2:
        raise DataError(
            f"{folder} has samples of one run only ({', '.join(arms)})",
            next_step="run the benchmarks before and after the change: Criterion keeps both",
        )
    return arms


def _values(path: Path) -> Iterator[float]:
    try:
        data = json.loads(path.read_text())
        pairs = zip(data["times"], data["iters"], strict=True)
        yield from (float(time) / float(iterations) for time, iterations in pairs)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        broken(path, "Criterion", f"{type(error).__name__}: {error}")
