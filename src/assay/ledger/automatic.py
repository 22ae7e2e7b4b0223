"""Entering a bundle by itself, at its end: whatever goes wrong is a warning, never an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.ledger.places import ledger_place, remember

LATER = "`assay ledger add {folder}` enters it later; ASSAY_LEDGER=off keeps no ledger"


@contextmanager
def entered(folder: Path, warn: Callable[[str], None]) -> Iterator[None]:
    """Enter the bundle when what is done to it has ended, in whatever way.

    A bundle without any verdict is left out. `warn` is called with one sentence where the ledger
    failed.
    """
    try:
        yield
    finally:
        why = enter(folder)
        if why:
            warn(f"not in the ledger: {why}; {LATER.format(folder=folder)}")


def enter(folder: Path) -> str:
    """Enter a bundle that was just made; why that failed, or empty."""
    try:
        place = ledger_place()
        if place is None or not _has_answers(folder):
            return ""
        remember(folder)
        from assay.ledger.entries import entry_of
        from assay.ledger.store import Ledger

        ledger = Ledger.open(place)
        try:
            ledger.add(entry_of(folder, check=False).model_copy(update={"checked": True}))
        finally:
            ledger.close()
    except Exception as error:  # a study must not fail for what only keeps books
        return f"{type(error).__name__}: {error}" if not str(error) else str(error).rstrip(".")
    return ""


def _has_answers(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("verdicts.json", "found.json"))
