"""What is kept is complete or not there, whoever makes it and however that ends."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from assay.core import cache as cache_module
from assay.core.cache import cache, keep, scratch
from assay.core.errors import MissingError


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
    done = keep(tmp_path / "thing", lambda folder: (folder / "whole").touch())
    assert [p.name for p in done.iterdir()] == ["whole"]
    assert keep(tmp_path / "thing", fill) == done


def test_what_a_killed_maker_left_is_cleared_away(tmp_path: Path) -> None:
    """It is not taken for the thing, and does not pile up."""
    left = tmp_path / ".partial-thing-abc"
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


def test_what_a_living_maker_makes_is_left_alone(tmp_path: Path) -> None:
    """Another thing is made beside it meanwhile, without waiting."""

    def fill(folder: Path) -> None:
        keep(tmp_path / "other", lambda folder: None)
        assert folder.is_dir()
        (folder / "x").touch()

    done = keep(tmp_path / "thing", fill)
    assert [p.name for p in done.iterdir()] == ["x"]
    assert (tmp_path / "other").is_dir()


def test_a_full_disk_says_what_to_do(tmp_path: Path) -> None:
    """Whatever was being put there."""

    def fill(folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(MissingError, match="No space left") as caught:
        keep(tmp_path / "thing", fill)
    assert "make room" in caught.value.next_step
    assert [p.name for p in tmp_path.iterdir()] == [".turn"]


def test_the_cache_is_where_xdg_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default below the home folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache("data") == tmp_path / "assay" / "data"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache("data") == Path.home() / ".cache" / "assay" / "data"


def test_scratch_goes_with_its_process_and_takes_what_others_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that a killed process left is removed, one that is in use is not, nor is a link."""
    monkeypatch.setattr(cache_module.tempfile, "tempdir", str(tmp_path))
    left, other = tmp_path / "assay-kind-left", tmp_path / "elsewhere"
    for folder in (left, other):
        folder.mkdir()
        (folder / "x").touch()
    (tmp_path / "assay-kind-link").symlink_to(other)
    with scratch("kind") as first, scratch("kind") as second:
        assert first.is_dir()
        assert second.is_dir()
        assert not left.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["assay-kind-link", "elsewhere"]
    assert (other / "x").exists()
