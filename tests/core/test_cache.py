"""What is kept is complete or not there, whoever makes it and however that ends."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from assay.core.cache import keep


def test_a_folder_is_filled_once(tmp_path: Path) -> None:
    """The second time nothing is made."""
    made: list[Path] = []

    def fill(folder: Path) -> None:
        made.append(folder)
        (folder / "x").write_text("x")

    place = tmp_path / "a" / "thing"
    assert keep(place, fill) == keep(place, fill) == place
    assert len(made) == 1
    assert (place / "x").read_text() == "x"


def test_what_failed_half_way_leaves_nothing(tmp_path: Path) -> None:
    """Not the folder, and not the one beside it in which it was made."""

    def fill(folder: Path) -> None:
        (folder / "x").write_text("x")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        keep(tmp_path / "thing", fill)
    assert [p.name for p in tmp_path.iterdir()] == [".turn"]


def test_what_a_killed_maker_left_is_cleared_away(tmp_path: Path) -> None:
    """It is not taken for the thing, and does not pile up."""
    left = tmp_path / ".making-thing-abc"
    left.mkdir()
    (left / "half").write_text("half")
    keep(tmp_path / "thing", lambda folder: (folder / "x").touch())
    assert not left.exists()
    assert [p.name for p in (tmp_path / "thing").iterdir()] == ["x"]


def test_makers_of_the_same_thing_wait_for_each_other(tmp_path: Path) -> None:
    """One fills it, the other finds it filled."""
    filled = []
    inside = threading.Event()

    def fill(folder: Path) -> None:
        filled.append(folder)
        inside.set()
        (folder / "x").touch()

    threads = [threading.Thread(target=keep, args=(tmp_path / "thing", fill)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert inside.is_set()
    assert len(filled) == 1
