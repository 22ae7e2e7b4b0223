"""A bundle in a line of a list: what its result says, as written. Its own page recomputes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from assay.bisection import SearchBundle
from assay.core.errors import AssayError
from assay.core.unforeseen import unforeseen
from assay.record import Bundle
from assay.report.words.sections import primary
from assay.report.words.wording import kind_of, label
from assay.ui.shelf import Shelf, name_of
from assay.ui.state import is_of_search, result_name, state_of, written

WORDS_SHOWN = 4


@dataclass(frozen=True)
class BundleLine:
    """One line. `phase` is empty where the bundle cannot be read, and `said` tells why."""

    name: str
    folder: str
    study: str
    said: str
    phase: str
    is_search: bool
    changed_ns: int


@dataclass(frozen=True)
class _Result:
    study: str
    said: str


def lines_of(shelf: Shelf) -> list[BundleLine]:
    """A line for each bundle of the folder, the last changed first."""
    found = [line_of(folder, shelf) for folder in shelf.contents().bundles.values()]
    return sorted(found, key=lambda line: (-line.changed_ns, line.folder))


def line_of(folder: Path, shelf: Shelf) -> BundleLine:
    """A bundle's line; what is wrong with it stands there."""
    study, said, phase, search = folder.name, "", "", False
    try:
        search = is_of_search(folder)
        phase = state_of(folder).phase
        times = written(folder / "plan.json"), written(folder / result_name(search))
        result = _result(folder, search, times)
        study, said = result.study, result.said
    except AssayError as error:
        phase, said = "", f"cannot be read: {error.message}"
    except Exception as error:  # whatever a damaged file can lead to
        phase, said = "", f"cannot be read: {unforeseen(error)[0]}"
    changed = max(written(folder / name) for name in ("plan.json", "runs.jsonl"))
    return BundleLine(name_of(folder), shelf.shown(folder), study, said, phase, search, changed)


@lru_cache(maxsize=4096)
def _result(folder: Path, search: bool, times: tuple[int, int]) -> _Result:
    """What a bundle says of itself; `times` of its plan and of its result, 0 where it has none."""
    if search:
        bundle = SearchBundle.open(folder)
        culprits = [c.name for c in bundle.found().culprits] if times[1] else []
        said = f"changed by {_few(culprits)}" if culprits else "no change found" if times[1] else ""
        return _Result(bundle.plan.study, said)
    study = Bundle.open(folder)
    if not times[1]:
        return _Result(study.plan.study, "")
    verdicts = study.verdicts()
    if verdicts.told_apart:
        return _Result(verdicts.study, "no verdict is valid")
    rows = [r for r in primary(verdicts) if kind_of(r) != "control"]
    return _Result(verdicts.study, _few(f"{label(r)}: {r.word}" for r in rows))


def _few(texts: Iterable[str]) -> str:
    shown = list(texts)
    more = f" and {len(shown) - WORDS_SHOWN} more" if len(shown) > WORDS_SHOWN else ""
    return f"{', '.join(shown[:WORDS_SHOWN])}{more}"
