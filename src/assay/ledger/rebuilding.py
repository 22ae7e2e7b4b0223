"""The ledger made anew from the bundles it is about."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from assay.core.errors import AssayError, DamagedLedgerError
from assay.ledger.entries import entry_of
from assay.ledger.places import LedgerPlace, known_folders, remember
from assay.ledger.store import Ledger


@dataclass
class Rebuilt:
    """What came of it: bundles entered, copies left out, folders with no bundle any more, bundles
    refused with the reason, and where a damaged file was put."""

    entered: int = 0
    copies: int = 0
    gone: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    set_aside: str = ""


def rebuild(
    place: LedgerPlace,
    under: Iterable[Path] = (),
    *,
    check: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Rebuilt:
    """Empty the ledger, or set a damaged file aside, and enter every bundle there is: those of the
    list of this user, and those in or under the folders given.

    What another machine entered into a shared ledger is not touched. LedgerError where it cannot
    be written.
    """
    found = Rebuilt()
    ledger = _emptied(place, found)
    new = {folder.resolve() for place_ in under for folder in bundles_under(place_)}
    folders = list(dict.fromkeys([*known_folders(), *sorted(new)]))
    listed = set(known_folders())
    try:
        for done, folder in enumerate(folders):
            progress(done, len(folders))
            if not (folder / "plan.json").exists():
                found.gone.append(str(folder))
                continue
            try:
                entry = entry_of(folder, check=check)
            except (AssayError, OSError, ValueError) as error:
                found.refused[str(folder)] = str(error)
                continue
            if folder not in listed:
                remember(folder)
            is_copy = bool(ledger.add(entry).copy)
            found.copies += is_copy
            found.entered += not is_copy
    finally:
        ledger.close()
    return found


def bundles_under(folder: Path) -> Iterator[Path]:
    """The bundle in a folder, or else those in the folders below it."""
    if (folder / "plan.json").exists():
        yield folder
        return
    for plan in sorted(folder.rglob("plan.json")):
        yield plan.parent


def _emptied(place: LedgerPlace, found: Rebuilt) -> Ledger:
    try:
        ledger = Ledger.open(place)
        ledger.clear()
        return ledger
    except DamagedLedgerError:
        assert place.file is not None, "only a file can be damaged"
    aside = place.file.with_name(f"{place.file.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    place.file.rename(aside)
    for rest in ("-journal", "-wal", "-shm"):
        place.file.with_name(place.file.name + rest).unlink(missing_ok=True)
    found.set_aside = str(aside)
    return Ledger.open(place)
