"""How much room builds may take: what was not used for longest goes first."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from assay.builds.stranger import working_place
from assay.core.cache import PARTIAL, cache
from assay.core.errors import InputError
from assay.core.units import parse_size

VARIABLE, MOST = "ASSAY_BUILD_CACHE", "20GiB"


def most_bytes() -> int:
    """The limit; InputError if the variable is no size."""
    said = os.environ.get(VARIABLE) or MOST
    try:
        return parse_size(said)
    except ValueError as error:
        raise InputError(
            f"{VARIABLE}={said}: {error}", next_step='write a size, "20GiB"'
        ) from error


def make_room() -> None:
    """Removes builds and trees until what is left is within the limit."""
    kept = cache("builds")
    place = working_place(kept)
    folders = {p for root in {kept, place} for p in root.glob("*-*") if p.is_dir()}
    folders = {p for p in folders if not p.name.startswith((PARTIAL, "source-"))}
    sizes = {p: _bytes(p) for p in folders}
    total, most = sum(sizes.values()), most_bytes()
    for folder in sorted(folders, key=lambda p: p.stat().st_mtime):
        if total <= most:
            break
        shutil.rmtree(folder, ignore_errors=True)
        total -= sizes[folder]
    for file in (kept / "store").glob("*"):
        if file.stat().st_nlink == 1:
            file.unlink(missing_ok=True)


def _bytes(folder: Path) -> int:
    """What would be free if it were removed; a file with several names counts for its share."""
    total = 0
    for inside, _, files in os.walk(folder):
        for file in files:
            about = os.lstat(os.path.join(inside, file))
            total += about.st_blocks * 512 // max(about.st_nlink, 1)
    return total
