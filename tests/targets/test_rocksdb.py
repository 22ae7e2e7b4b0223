"""RocksDB as a target: Debian's library, loaded for real by `assayer store`."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from assay.changes import CATALOGUE
from assay.core.digest import file_digest
from assay.core.errors import AssayError, MissingError, RunError
from assay.targets import TARGETS
from assay.targets.stores.framework.library import LibraryInUse
from assay.targets.stores.framework.store import find
from assay.targets.stores.framework.target import StoreTarget
from assay.targets.stores.rocksdb import ROCKSDB
from server_kit import own_folders
from store_kit import store_launch

__all__ = ["own_folders"]

UNCACHED = {"cache_bytes": 1 << 16}


def rocksdb() -> StoreTarget:
    """The target of the registry, as if it were new: the cache is the test's own."""
    return StoreTarget(ROCKSDB)


def run(target: StoreTarget, made, log: Path):
    """One run: what was read back, measured and seen."""
    server = target.start(made, log)
    try:
        return server.read_back(), server.measure(lambda done, spent: None), server.evidence()
    finally:
        server.stop()


@pytest.mark.parametrize("mix", ["a", "c", "d", "e", "f"])
def test_every_mix_finds_its_records_and_says_what_it_cost(mix: str, tmp_path: Path) -> None:
    """The CPU time is that of all threads, those that compact too."""
    read, measured, _ = run(rocksdb(), store_launch("ycsb", {"mix": mix}), tmp_path / "log")
    assert measured.complete
    assert measured.errors == 0
    assert measured.operations > 0
    cost = measured.metrics["cpu_per_operation"] * measured.operations
    assert cost == pytest.approx(measured.counters["server.cpu_s"] * 1e9)
    assert measured.counters["number.keys.read" if mix != "e" else "number.db.seek"] > 0
    assert read["version"].startswith("7.8")


def test_settings_of_the_database_its_family_and_its_tables_are_read_back(tmp_path: Path) -> None:
    """As they were written, where what is in force means the same."""
    given = {
        "max_background_jobs": 3,
        "write_buffer_size": "32MiB",
        "checksum": "kCRC32c",
        "block_size": "8KiB",
        "cache_bytes": "4MiB",
        "use_adaptive_mutex": True,
        "compression": "kNoCompression",
    }
    read, _, _ = run(rocksdb(), store_launch(**given), tmp_path / "log")
    assert given.items() <= read.items()


def test_a_value_that_rocksdb_changes_by_itself_is_an_error_with_both(tmp_path: Path) -> None:
    """It takes no write buffer under 64 KiB, and says nothing."""
    with pytest.raises(AssayError, match=r"write_buffer_size.*\D1\b.*65536|65536.*\D1\b"):
        run(rocksdb(), store_launch(write_buffer_size=1), tmp_path / "log")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"blok_size": 1}, "has no setting blok_size"),
        ({"cache": "hyper-clock"}, "rocksdb_cache_create_hyper_clock"),
    ],
)
def test_what_this_library_cannot_have_is_refused_before_anything_starts(
    given: dict[str, Any], why: str
) -> None:
    """By its name, or by the function that it lacks."""
    with pytest.raises(AssayError, match=why):
        rocksdb().check(store_launch(**given))
    rocksdb().check(store_launch())


def test_memtables_want_huge_pages_that_are_there() -> None:
    """RocksDB would go on without and say nothing."""
    with pytest.raises(MissingError, match="no huge pages of 3 MiB"):
        rocksdb().check(store_launch(memtable_huge_page_size=3 << 20))


def test_a_pool_has_room_for_the_cache_and_what_else_malloc_gives() -> None:
    """It grows with what is set. Pages of 1 GiB no heap of a thread could have."""
    small, large = store_launch(cache_bytes="32MiB"), store_launch(cache_bytes="1GiB")
    page = 2 << 20
    grown = rocksdb().huge_bytes(large, page) - rocksdb().huge_bytes(small, page)
    assert grown == (1 << 30) - (32 << 20)
    assert rocksdb().huge_bytes(small, page) % page == 0
    assert rocksdb().huge_bytes(small, page) > 160 << 20
    with pytest.raises(MissingError, match="eight while it makes it"):
        rocksdb().huge_bytes(small, 1 << 30)


@pytest.mark.parametrize(
    ("change", "level", "other", "mix"),
    [
        ("rocksdb.checksum", "crc32c", "xxh3", "c"),
        ("rocksdb.verify_checksums", "off", "on", "c"),
        ("rocksdb.verify_checksums", "on", "off", "c"),
        ("rocksdb.row_cache", "on", "off", "c"),
        ("rocksdb.row_cache", "off", "on", "c"),
        ("rocksdb.data_block_hash_index", "on", "off", "c"),
        ("rocksdb.memtable", "hash-skiplist", "skiplist", "a"),
        ("rocksdb.memtable", "hash-linklist", "vector", "a"),
        ("rocksdb.memtable", "vector", "hash-skiplist", "c"),
        ("rocksdb.memtable_huge_pages", "off", "on", "a"),
        ("rocksdb.adaptive_mutex", "on", "off", "a"),
        ("rocksdb.write_thread_adaptive_yield", "off", "on", "a"),
        ("rocksdb.wal", "none", "written", "a"),
        ("rocksdb.wal", "written", "synced", "a"),
        ("rocksdb.wal", "synced", "none", "a"),
        ("rocksdb.unordered_write", "on", "off", "a"),
        ("rocksdb.pipelined_write", "on", "off", "a"),
        ("rocksdb.library", "debian", "crc", "c"),
    ],
)
def test_a_witness_holds_with_its_level_and_not_with_another(
    change: str, level: str, other: str, mix: str, tmp_path: Path
) -> None:
    """What was set is seen, and nothing else is."""
    settings = CATALOGUE[change].level(level).application.settings
    launch = store_launch("ycsb", {"mix": mix}, **{**UNCACHED, **settings})
    _, _, evidence = run(rocksdb(), launch, tmp_path / "log")
    assert held(change, level, evidence) == ""
    assert held(change, other, evidence) != ""


def held(change: str, name: str, evidence) -> str:
    """Why the change's witness does not hold; empty if it does."""
    level = CATALOGUE[change].level(name)
    found = CATALOGUE[change].witness.judge(level.name, level.application.settings, evidence)
    return "" if found.held else found.evidence


def test_every_number_that_a_change_takes_is_taken(tmp_path: Path) -> None:
    """The placebo's, which nothing can see but the read-back."""
    launch = store_launch(keep_log_file_num=1001)
    _, _, evidence = run(rocksdb(), launch, tmp_path / "log")
    assert held("rocksdb.placebo", 1001, evidence) == ""
    assert held("rocksdb.placebo", 1000, evidence) != ""


@dataclass(frozen=True)
class ForgetfulLibrary(LibraryInUse):
    """A library that is never given some settings, and reports whatever it was given."""

    forgotten: tuple[str, ...] = ()

    def request(self, launch, action, folder):
        given = {n: v for n, v in launch.settings.items() if n not in self.forgotten}
        return super().request(replace(launch, settings=given), action, folder)

    def differing(self, launch, reported):
        return []


class Forgetful(StoreTarget):
    """RocksDB with such a library."""

    def __init__(self, *forgotten: str) -> None:
        super().__init__(ROCKSDB)
        self.forgotten = forgotten

    def _opened(self, library):
        opened = super()._opened(library)
        return ForgetfulLibrary(opened.store, opened.path, opened.ours, self.forgotten)


@pytest.mark.parametrize(
    ("change", "level"),
    [("rocksdb.row_cache", "on"), ("rocksdb.verify_checksums", "off"), ("rocksdb.wal", "synced")],
)
def test_a_witness_fails_when_its_change_was_taken_out_by_hand(
    change: str, level: str, tmp_path: Path
) -> None:
    """What RocksDB counts gives it away."""
    settings = CATALOGUE[change].level(level).application.settings
    launch = store_launch("ycsb", {"mix": "a" if "wal" in change else "c"}, **UNCACHED, **settings)
    _, _, evidence = run(Forgetful(*settings), launch, tmp_path / "log")
    assert held(change, level, evidence) != ""
    _, _, evidence = run(rocksdb(), launch, tmp_path / "log")
    assert held(change, level, evidence) == ""


def test_another_file_of_the_library_is_told_apart_by_its_digest(tmp_path: Path) -> None:
    """As the generic change of a binary does it."""
    found = find(ROCKSDB)
    assert found is not None
    other = tmp_path / "librocksdb.so.7.8.3"
    shutil.copyfile(found, other)
    with other.open("ab") as file:
        file.write(b"another build")
    digests = []
    for binary in (None, str(other)):
        launch = replace(store_launch(), binary=binary)
        _, _, evidence = run(rocksdb(), launch, tmp_path / "log")
        digests.append(evidence.executable.sha256)
    assert digests == [file_digest(found), file_digest(other)]


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    """Before anything starts."""
    path = tmp_path / "librocksdb.so"
    path.write_bytes(b"no library")
    with pytest.raises(AssayError, match=r"librocksdb\.so"):
        rocksdb().check(store_launch(library=str(path)))


def test_a_run_that_is_stopped_is_incomplete_and_one_that_is_killed_has_failed(
    tmp_path: Path,
) -> None:
    """In the middle of the window."""
    launch = replace(store_launch(), window_s=20.0, interval_s=0.1)
    server = rocksdb().start(launch, tmp_path / "log")
    try:
        measured = server.measure(lambda done, spent: server._session.process.terminate())
        assert not measured.complete
    finally:
        server.stop()
    server = rocksdb().start(launch, tmp_path / "log")
    try:
        with pytest.raises(RunError, match="gave no result: it was killed by SIGKILL"):
            server.measure(lambda done, spent: server._session.process.kill())
    finally:
        server.stop()


def test_the_list_says_which_library_is_here() -> None:
    """Its version and its file."""
    found = find(ROCKSDB)
    assert TARGETS["rocksdb"].found() == f"7.8.3, {found}"
