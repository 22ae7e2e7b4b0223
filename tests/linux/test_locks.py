"""Who holds a lock: this process, another one, nobody."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from assay.linux.locks import LockHolder, lock_holder
from assay.linux.processes import identity


def test_the_holder_of_a_lock_is_known_by_its_number_and_start(tmp_path: Path) -> None:
    """While it holds it, and not because it has the file open."""
    path = tmp_path / "file"
    path.write_text("")
    with path.open("rb") as other, path.open("rb+") as file:
        assert lock_holder(path) is None
        fcntl.flock(other, fcntl.LOCK_SH)
        assert lock_holder(path) is None
        fcntl.flock(other, fcntl.LOCK_UN)
        fcntl.flock(file, fcntl.LOCK_EX)
        assert lock_holder(path) == LockHolder(identity(os.getpid()))
        assert lock_holder(tmp_path / "none") is None
    assert lock_holder(path) is None


def test_a_lock_of_another_file_is_none_of_this(tmp_path: Path) -> None:
    """Though the same process has this one open."""
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_text("")
    with other.open("w") as held, path.open():
        fcntl.flock(held, fcntl.LOCK_EX)
        assert lock_holder(path) is None
