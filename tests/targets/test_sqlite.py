"""SQLite as a target: the system's library, loaded for real by `assayer store`."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.changes import CATALOGUE
from assay.core.errors import AssayError
from assay.targets import TARGETS
from assay.targets.stores.framework.target import StoreTarget
from assay.targets.stores.sqlite import SQLITE, _meaning
from server_kit import own_folders
from store_kit import store_launch

__all__ = ["own_folders"]


def run(made, log: Path):
    """One run: what was read back, measured and seen."""
    server = StoreTarget(SQLITE).start(made, log)
    try:
        return server.read_back(), server.measure(lambda done, spent: None), server.evidence()
    finally:
        server.stop()


@pytest.mark.parametrize("mix", ["a", "c", "d", "e", "f"])
def test_every_mix_finds_its_records(mix: str, tmp_path: Path) -> None:
    """Two threads, each with a connection of its own."""
    launch = store_launch("ycsb", {"mix": mix}, journal_mode="wal", synchronous="off")
    read, measured, evidence = run(launch, tmp_path / "log")
    assert measured.complete
    assert measured.errors == 0
    assert measured.operations > 0
    assert read["journal_mode"] == "wal"
    assert measured.metrics["cpu_per_operation"] > 0
    assert evidence.executable.what == "library"


@pytest.mark.parametrize(
    ("change", "level", "other"),
    [
        ("sqlite.journal_mode", "wal", "delete"),
        ("sqlite.journal_mode", "truncate", "wal"),
        ("sqlite.journal_mode", "off", "wal"),
        ("sqlite.synchronous", "normal", "full"),
        ("sqlite.synchronous", "off", "normal"),
        ("sqlite.page_size", "16384", "4096"),
        ("sqlite.mmap_size", "256MiB", "0B"),
        ("sqlite.cache_size", -64000, -2000),
        ("sqlite.temp_store", "memory", "default"),
        ("sqlite.placebo", 1, 0),
    ],
)
def test_a_witness_holds_with_its_level_and_not_with_another(
    change: str, level: object, other: object, tmp_path: Path
) -> None:
    """What is in force is read back on the connection that is used."""
    settings = CATALOGUE[change].level(level).application.settings
    _, _, evidence = run(store_launch("ycsb", {"mix": "b"}, **settings), tmp_path / "log")
    assert judged(change, level, evidence)
    assert not judged(change, other, evidence)


def judged(change: str, name: object, evidence) -> bool:
    level = CATALOGUE[change].level(name)
    return CATALOGUE[change].witness.judge(level.name, level.application.settings, evidence).held


def test_a_lock_that_is_kept_is_for_one_thread(tmp_path: Path) -> None:
    """With two, the second would never come in."""
    launch = store_launch(locking_mode="exclusive", threads=1)
    _, _, evidence = run(launch, tmp_path / "log")
    assert judged("sqlite.locking_mode", "exclusive", evidence)
    with pytest.raises(AssayError, match="one thread"):
        StoreTarget(SQLITE).check(store_launch(locking_mode="exclusive", threads=2))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"journal_mode": "wall"}, r"journal_mode.*wall.*delete|journal_mode.*delete.*wall"),
        ({"page_size": 5000}, r"page_size.*5000.*4096|page_size.*4096.*5000"),
    ],
)
def test_a_value_that_sqlite_ignores_is_an_error_with_both(given, why: str) -> None:
    """It says nothing by itself."""
    with pytest.raises(AssayError, match=why):
        StoreTarget(SQLITE).check(store_launch(**given))


@pytest.mark.parametrize(
    ("name", "given", "reported", "is_same"),
    [
        ("synchronous", "NORMAL", "1", True),
        ("synchronous", "full", "1", False),
        ("journal_mode", "WAL", "wal", True),
        ("mmap_size", "256MiB", "268435456", True),
        ("mmap_size", "1MiB", "268435456", False),
        ("cache_size", -2000, "-2000", True),
        ("foreign_keys", True, "1", True),
        ("foreign_keys", "off", "1", False),
        ("temp_store", "memory", "memory", True),
    ],
)
def test_words_numbers_and_sizes_are_compared_by_meaning(
    name: str, given: object, reported: str, is_same: bool
) -> None:
    """SQLite takes words and reports numbers."""
    assert (_meaning(name, given) == _meaning(name, reported)) == is_same


def test_the_list_says_which_library_is_here() -> None:
    """Its version and its file."""
    assert TARGETS["sqlite"].found().startswith("3.")
