"""Witnesses of stores that are libraries: each proves its level, and fails at another's."""

from __future__ import annotations

from typing import Any

import pytest

from assay.changes import CATALOGUE
from assay.changes.witness import Executable, LogSays, PagesShow
from witness_kit import showing


def whole(crc32: int) -> dict[str, Any]:
    """The census of a whole library, as for one that is stripped."""
    counts = {"crc32": crc32}
    return {
        "role": "crc32c_code",
        "symbol": "librocksdb.so, all of its code",
        "instructions": None,
        "counts": counts,
    }


def function(symbol: str, **counts: int) -> dict[str, Any]:
    return {"role": "crc32c", "symbol": symbol, "instructions": 9, "counts": counts}


SLOW = {"Fast CRC32 supported": "Not supported on x86"}
FAST = {"Fast CRC32 supported": "Supported on x86"}
LIBRARY = CATALOGUE["rocksdb.library"].witness
WITH = function("_ZN7rocksdb6crc32c11crc32c_3wayEjPKcm", crc32=9, pclmul=4)
WITHOUT = function("_ZN7rocksdb6crc32c10ExtendImplEjPKcm")


def test_a_library_is_told_by_its_code_its_function_and_its_log() -> None:
    """All three agree, or it is another."""
    portable = {"functions": [whole(0), WITHOUT], "log": SLOW}
    crc = {"functions": [whole(9), WITH], "log": FAST}
    debian = {"functions": [whole(0)], "log": SLOW}
    assert LIBRARY.judge("portable", {}, showing(**portable)).held
    assert LIBRARY.judge("crc", {}, showing(**crc)).held
    assert LIBRARY.judge("debian", {}, showing(**debian)).held
    assert not LIBRARY.judge("portable", {}, showing(**crc)).held
    assert not LIBRARY.judge("crc", {}, showing(**portable)).held
    assert not LIBRARY.judge("debian", {}, showing(**crc)).held


def test_the_evidence_names_the_slow_function_and_what_it_lacks() -> None:
    """As it stands in a report."""
    found = LIBRARY.judge(
        "portable", {}, showing(**{"functions": [whole(0), WITHOUT], "log": SLOW})
    )
    assert found.evidence == (
        "librocksdb.so, all of its code (0 crc32); "
        "_ZN7rocksdb6crc32c10ExtendImplEjPKcm (9 instructions: 0 crc32); "
        "its log says Fast CRC32 supported: Not supported on x86"
    )


@pytest.mark.parametrize(
    "evidence",
    [
        {"functions": [whole(9), WITH], "log": SLOW},
        {"functions": [whole(0), WITH], "log": FAST},
        {"functions": [whole(9), function("crc32c_3way", crc32=9)], "log": FAST},
        {"functions": [whole(9), WITH]},
        {"functions": [], "log": FAST},
    ],
)
def test_a_library_of_which_one_thing_does_not_fit_is_not_believed(evidence: Any) -> None:
    """The log, the code, the function without its folding, or nothing seen."""
    assert not LIBRARY.judge("crc", {}, showing(**evidence)).held


def test_a_table_beside_the_function_that_runs_is_no_fault() -> None:
    """The portable code may be in the library too."""
    assert LIBRARY.judge(
        "crc", {}, showing(**{"functions": [whole(9), WITH, WITHOUT], "log": FAST})
    ).held


def test_what_a_library_chose_by_itself_is_read_in_its_log() -> None:
    """A text in it; small and large letters count."""
    judge = LogSays("block_cache_name", {"a": "LRUCache", "b": "HyperClockCache"}).judge
    said = {"log": {"block_cache_name": "AutoHyperClockCache"}}
    assert judge("b", {}, showing(**said)).held
    assert not judge("a", {}, showing(**said)).held
    assert not judge("a", {}, showing(log={})).held


def test_pages_are_there_or_not() -> None:
    """Of the kernel's pool; unread pages prove nothing."""
    judge = PagesShow({"off": {"huge": False}, "on": {"huge": True}}).judge
    assert judge("on", {}, showing(memory={"huge": 1})).held
    assert judge("off", {}, showing(memory={"huge": 0})).held
    assert not judge("on", {}, showing(memory={"huge": 0})).held
    assert not judge("off", {}, showing(memory={"huge": 1})).held
    assert not judge("off", {}, showing(memory={})).held


def test_what_runs_is_called_by_what_it_is() -> None:
    """A server's executable, or the library that a process has loaded."""
    judge = Executable({"x": "a" * 64}).judge
    seen = {"sha256": "a" * 64, "build_id": "b"}
    assert judge("x", {}, showing(executable=seen)).evidence.startswith("running executable aaaa")
    library = {"executable": {**seen, "what": "library"}}
    assert judge("x", {}, showing(**library)).evidence.startswith("running library aaaa")


@pytest.mark.parametrize(
    ("change", "level", "counters", "held"),
    [
        ("rocksdb.wal", "synced", {"wal.bytes": 9, "wal.synced": 1}, True),
        ("rocksdb.wal", "synced", {"wal.bytes": 9, "wal.synced": 0}, False),
        ("rocksdb.wal", "written", {"wal.bytes": 9, "wal.synced": 1}, False),
        ("rocksdb.wal", "none", {"wal.bytes": 9}, False),
        ("rocksdb.row_cache", "on", {"row.cache.hit": 0}, False),
        ("rocksdb.row_cache", "off", {"row.cache.hit": 0}, True),
        ("rocksdb.verify_checksums", "off", {"block.checksum.compute.count": 5}, False),
        ("rocksdb.verify_checksums", "on", {"block.checksum.compute.count": 5}, True),
    ],
)
def test_what_leaves_a_count_is_witnessed_by_it(
    change: str, level: str, counters: dict[str, int], held: bool
) -> None:
    """Settings that are read back are not believed alone."""
    applied = CATALOGUE[change].level(level).application.settings
    evidence = {"read_back": applied, "counters": counters}
    assert CATALOGUE[change].witness.judge(level, applied, showing(**evidence)).held == held


def test_memtables_differ_in_their_kind_and_in_what_it_forbids() -> None:
    """The prefix that two of them need, all have."""
    levels = CATALOGUE["rocksdb.memtable"].levels
    settings = [dict(level.application.settings) for level in levels.values()]
    assert {s["prefix_extractor"] for s in settings} == {"capped:12"}
    concurrent = {n for n, s in zip(levels, settings, strict=True) if s[CONCURRENT]}
    assert concurrent == {"skiplist"}


CONCURRENT = "allow_concurrent_memtable_write"
