"""The cache of what was made or fetched: a folder each, complete or not there.

Everything lies under `$XDG_CACHE_HOME/assay` (by default `~/.cache/assay`). A folder
is filled under another name beside its place and then renamed. Makers wait for each
other, so whatever stands half made when one's turn comes belongs to one that was killed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HALF_MADE = ".making-"


def cache(name: str) -> Path:
    """The folder of one kind of kept things; it may not be there yet."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "assay" / name


def keep(place: Path, fill: Callable[[Path], None]) -> Path:
    """The folder `place`, filled by `fill` if it is not there; if that fails nothing is left."""
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with turn(place.parent):
        if place.is_dir():
            return place
        for left in place.parent.glob(f"{HALF_MADE}{place.name}-*"):
            shutil.rmtree(left)
        making = Path(tempfile.mkdtemp(prefix=f"{HALF_MADE}{place.name}-", dir=place.parent))
        try:
            fill(making)
            making.chmod(0o755)
            making.rename(place)
        except BaseException:
            shutil.rmtree(making, ignore_errors=True)
            raise
    return place


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """One maker at a time, of all processes."""
    with (folder / ".turn").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
