"""Real MariaDB and PostgreSQL through their adapters: made, started, asked, loaded and ended."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.changes import CATALOGUE
from assay.core.errors import RunError
from assay.load import Load, check, prepare, run_load
from assay.targets import TARGETS, Launch
from assay.targets.servers.framework.adapter import Adapter
from assay.targets.servers.framework.server import Started
from assay.targets.servers.mariadb import BASE as MARIADB_BASE
from assay.targets.servers.mariadb import MARIADB
from assay.targets.servers.postgresql import BASE as POSTGRESQL_BASE
from assay.targets.servers.postgresql import POSTGRESQL
from sql_kit import make, running
from witness_kit import showing

BASES = {"mariadb": MARIADB_BASE, "postgresql": POSTGRESQL_BASE}
POOLS = {"mariadb": "innodb_buffer_pool_size", "postgresql": "shared_buffers"}
SERVERS = pytest.mark.parametrize("adapter", [MARIADB, POSTGRESQL], ids=lambda a: a.kind)
ROWS = {"tables": 1, "table_size": 1000, "distribution": "uniform"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Empty data of each server, made once."""
    folder = tmp_path_factory.mktemp("made")
    for adapter in (MARIADB, POSTGRESQL):
        make(adapter, folder / adapter.kind, folder / "log")
    return {adapter.kind: folder / adapter.kind for adapter in (MARIADB, POSTGRESQL)}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where a server says what it does."""
    return tmp_path / "log"


def read_back(server: Started, settings: Mapping[str, Any]) -> dict[str, Any]:
    return server.adapter.read_back(server.ask, settings)


def counters(server: Started) -> dict[str, float]:
    return server.adapter.counters(server.ask)


def load(server: Started, workload: str) -> Load:
    return Load(server.target, workload, ROWS, connections=4, time_s=0.5, warmup_s=0.1)


def under_load(server: Started, workload: str) -> tuple[dict[str, float], int]:
    """What the counters count over one short load on new data, and its operations."""
    prepare(load(server, workload))
    before = counters(server)
    done = run_load(load(server, workload))
    after = counters(server)
    return {n: after[n] - before.get(n, 0.0) for n in after}, done.operations


@SERVERS
def test_every_base_setting_is_read_back_from_a_new_server(
    adapter: Adapter, made: Mapping[str, Path], log: Path
) -> None:
    """What Assay gives by itself, the server has; and it leaves nothing."""
    settings = dict(BASES[adapter.kind])
    with running(adapter, settings, made[adapter.kind], log) as server:
        told = read_back(server, settings)
        pid, folder = server.process.pid, server.folder
    assert {n: told[n] for n in settings} == settings
    assert told["pool_bytes"] == 128 << 20
    assert not Path(f"/proc/{pid}").exists()
    assert not folder.exists()


@SERVERS
@pytest.mark.parametrize("written", ["80MB", "80MiB", "81920kB"])
def test_a_size_is_the_same_however_it_is_written(adapter: Adapter, written: str) -> None:
    """Servers count in 1024; the spelling that was given stays."""
    setting = adapter.settings(None)[POOLS[adapter.kind]]
    assert setting.read(written) == written
    assert setting.is_same(written, "80MiB")
    assert not setting.is_same(written, "80000kB")
    assert setting.told(written).startswith("83886080")


@SERVERS
def test_a_setting_that_the_server_changes_by_itself_is_seen(
    adapter: Adapter, made: Mapping[str, Path], log: Path
) -> None:
    """The pool is rounded to whole pages or more: not what was asked for."""
    name, asked = POOLS[adapter.kind], "131073kB"
    with running(adapter, {name: asked}, made[adapter.kind], log) as server:
        told = read_back(server, {name: asked})
    assert told[name] != asked
    assert told[name]


@pytest.mark.parametrize(
    ("adapter", "asked", "given"),
    [
        (MARIADB, {"innodb_spin_wait_delay": 9}, {}),
        (POSTGRESQL, {"wal_compression": "lz4", "commit_delay": 7}, {"commit_delay": 7}),
    ],
    ids=lambda v: getattr(v, "kind", ""),
)
def test_a_setting_that_never_reached_the_server_is_seen(
    adapter: Adapter,
    asked: dict[str, Any],
    given: dict[str, Any],
    made: Mapping[str, Path],
    log: Path,
) -> None:
    """What is reported is what the server has, and no witness of the change holds."""
    with running(adapter, given, made[adapter.kind], log) as server:
        told = read_back(server, asked)
    wrong = next(n for n in asked if n not in given)
    assert told[wrong] != asked[wrong]
    assert {n: told[n] for n in given} == given
    change = next(
        c
        for c in CATALOGUE.values()
        if c.fits(adapter)
        and (
            c.numeric_setting == wrong
            or any(wrong in v.application.settings for v in c.levels.values())
        )
    )
    level = change.level(asked[wrong])
    held = change.witness.judge(level.name, level.application.settings, showing(read_back=told))
    assert not held.held


def test_a_mariadb_counts_waits_only_while_it_is_told_to(
    made: Mapping[str, Path], log: Path
) -> None:
    """The performance schema's waits are there, in ps, and gone when the change is taken out."""
    with running(MARIADB, {"performance_schema": True}, made["mariadb"], log) as server:
        on, _ = under_load(server, "oltp-point-select")
    with running(MARIADB, {}, made["mariadb"], log) as server:
        off, _ = under_load(server, "oltp-point-select")
    latches = [n for n in on if n.startswith("waits.wait/synch/") and on[n] > 0]
    assert latches
    assert all(on[n.replace("waits.", "wait_ps.", 1)] > 0 for n in latches)
    assert not [n for n in off if n.startswith(("waits.", "wait_ps."))]


def test_a_mariadb_counts_what_its_changes_do(made: Mapping[str, Path], log: Path) -> None:
    """Look-ups by hash with the adaptive hash index only; flushes of files with every commit."""
    on = {"innodb_adaptive_hash_index": "ON", "innodb_flush_log_at_trx_commit": 1}
    with running(MARIADB, on, made["mariadb"], log) as server:
        counted, operations = under_load(server, "oltp-point-select")
        flushed, commits = under_load(server, "oltp-update-non-index")
    assert counted["Innodb_adaptive_hash_hash_searches"] > operations / 2
    off = {"innodb_adaptive_hash_index": "OFF", "innodb_flush_log_at_trx_commit": 2}
    with running(MARIADB, off, made["mariadb"], log) as server:
        without, _ = under_load(server, "oltp-point-select")
        lazily, others = under_load(server, "oltp-update-non-index")
    assert without["Innodb_adaptive_hash_hash_searches"] == 0
    assert flushed["Innodb_data_fsyncs"] / commits > 10 * lazily["Innodb_data_fsyncs"] / others
    assert doses("mariadb") - {"waits", "pages"} <= set(flushed)
    assert {"pages.read", "pages.written"} <= set(flushed)


def doses(kind: str) -> set[str]:
    """Counters of the server's own that are doses of its changes; packets are the host's."""
    changes = [
        c for c in CATALOGUE.values() if c.fits(TARGETS[kind]) and not c.name.startswith("host.")
    ]
    return {c.dose.counter for c in changes if c.dose}


def test_a_table_keeps_the_checksums_it_was_made_with(
    made: Mapping[str, Path], log: Path, tmp_path: Path
) -> None:
    """So the setting alone proves nothing: the witness looks at the data."""
    witness = CATALOGUE["mariadb.checksum_algorithm"].witness
    settings = {"innodb_checksum_algorithm": "crc32"}
    kept = tmp_path / "kept"
    with running(MARIADB, settings, made["mariadb"], log, keep=kept) as server:
        prepare(load(server, "oltp-point-select"))
        told = read_back(server, settings)
    assert witness.judge("crc32", settings, showing(read_back=told)).held
    settings = {"innodb_checksum_algorithm": "full_crc32"}
    with running(MARIADB, settings, kept, log) as server:
        told = read_back(server, settings)
    assert told["data_format"] == "crc32"
    assert not witness.judge("full_crc32", settings, showing(read_back=told)).held
    assert "innodb_checksum_algorithm" in MARIADB.shaping


def test_checksums_of_a_postgresql_are_put_into_the_same_data_and_taken_out(
    made: Mapping[str, Path], log: Path, tmp_path: Path
) -> None:
    """Off, on, on again and off: the rows stay, and the server says what it has each time."""
    data = made["postgresql"]
    for turn, wanted in enumerate(("off", "on", True, "off")):
        settings, kept = {"data_checksums": wanted}, tmp_path / str(turn)
        with running(POSTGRESQL, settings, data, log, keep=kept) as server:
            if turn == 0:
                prepare(load(server, "oltp-read-write"))
            shown = "off" if wanted == "off" else "on"
            assert server.ask("SHOW data_checksums") == [[[shown]]]
            assert read_back(server, settings)["data_checksums"] == wanted
            assert check(load(server, "oltp-read-write")) == []
        data = kept


def test_a_postgresql_counts_its_log_and_what_it_compiles(
    made: Mapping[str, Path], log: Path
) -> None:
    """Bytes of log, flushes, and functions of queries that the planner finds costly enough."""
    change = CATALOGUE["postgresql.jit"]
    settings = {**change.level("on").application.settings, "jit_above_cost": 0}
    with running(POSTGRESQL, settings, made["postgresql"], log) as server:
        told = read_back(server, settings)
        counted, operations = under_load(server, "oltp-update-non-index")
        before = counters(server)["jit_functions"]
        server.ask("SELECT sum(i) FROM generate_series(1, 1000) i")
        after = counters(server)["jit_functions"]
    assert {n: told[n] for n in settings} == settings
    assert counted["wal_bytes"] > 100 * operations / 2
    assert counted["wal_sync"] > 0
    assert after > before
    assert doses("postgresql") - {"pages"} | {"pages.read", "pages.written"} <= set(counted)


def test_a_postgresql_without_huge_pages_does_not_start_with_them(
    made: Mapping[str, Path], log: Path
) -> None:
    """Its log says why; what is short is known before anything starts."""
    settings = {"huge_pages": "on", "shared_buffers": "4TB"}
    told = POSTGRESQL.lacks(settings)
    assert told is not None
    assert "4194304 MiB of huge pages are needed" in told[0]
    assert POSTGRESQL.lacks({"huge_pages": "try", "shared_buffers": "4TB"}) is None
    with (
        pytest.raises(RunError, match="could not map anonymous shared memory"),
        running(POSTGRESQL, settings, made["postgresql"], log),
    ):
        pass


def test_a_mariadb_that_cannot_start_says_why(made: Mapping[str, Path], log: Path) -> None:
    """The data have pages of 16 KiB."""
    settings = {"innodb_page_size": 8192}
    with (
        pytest.raises(RunError, match=r"did not start: .*\[ERROR\].*page"),
        running(MARIADB, settings, made["mariadb"], log),
    ):
        pass


def test_large_pages_of_a_mariadb_need_a_pool() -> None:
    """The server would go on without them: the machine is looked at first."""
    told = MARIADB.lacks({"large_pages": "ON", "innodb_buffer_pool_size": "4TiB"})
    assert told is not None
    assert "nr_hugepages" in told[1]
    assert MARIADB.lacks({"large_pages": "OFF", "innodb_buffer_pool_size": "4TiB"}) is None


@SERVERS
def test_settings_are_those_of_the_executable(adapter: Adapter) -> None:
    """Its names and judgement, without where it lives; none without an executable."""
    settings = adapter.settings(None)
    assert len(settings) > 200
    assert not {"port", "datadir", "data_directory", "no_such_setting"} & set(settings)
    assert settings[POOLS[adapter.kind]].default == BASES[adapter.kind][POOLS[adapter.kind]]
    assert adapter.settings(adapter.programs[0].find()) is settings


@pytest.mark.parametrize(
    ("adapter", "name", "value", "why"),
    [
        (MARIADB, "innodb_spin_wait_delay", 9999, "adjusted to 6000"),
        (MARIADB, "innodb_flush_method", "O_DIRCT", "did you mean 'O_DIRECT'"),
        (MARIADB, "innodb_checksum_algorithm", "none", "Error while setting value 'none'"),
        (MARIADB, "large_pages", "maybe", "true or false"),
        (POSTGRESQL, "shared_buffers", 100, "100 times 8kB"),
        (POSTGRESQL, "shared_buffers", "8kB", "16 to 1073741823 times 8kB"),
        (POSTGRESQL, "checkpoint_timeout", "10B", "200ms"),
        (POSTGRESQL, "wal_compression", "lz5", "did you mean 'lz4'"),
        (POSTGRESQL, "commit_delay", 200_000, "0 to 100000"),
    ],
)
def test_a_value_that_the_server_would_not_take_is_refused_before_it_starts(
    adapter: Adapter, name: str, value: object, why: str
) -> None:
    """With what is allowed."""
    with pytest.raises(ValueError, match=why):
        adapter.settings(None)[name].read(value)


@pytest.mark.parametrize(
    ("name", "level"),
    [("mariadb.adaptive_hash_index", "on"), ("postgresql.wal_compression", "lz4")],
)
def test_a_run_is_measured_and_its_witness_and_dose_are_found(
    name: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the registry's target, by the catalogue's change, on data that the store makes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    change = CATALOGUE[name]
    (kind,) = change.targets
    target, applied = TARGETS[kind], change.level(level).application.settings
    settings = {n: p.default for n, p in target.settings.items() if p.default is not None}
    launch = Launch({**settings, **applied, "connections": 4}, "oltp-read-write", ROWS, 1, 0.1, 0.5)
    target.check(launch)
    server = target.start(launch, tmp_path / "log")
    try:
        server.read_back()
        measured = server.measure(lambda done, seconds: None)
        evidence = server.evidence()
    finally:
        server.stop()
    assert measured.operations > 0
    assert measured.metrics["cpu_per_operation"] > 0
    assert change.witness.judge(level, applied, evidence).held
    assert measured.counters[change.dose.counter] > 0
    pages = CATALOGUE["mariadb.large_pages"].witness.witnesses[1]
    assert not pages.judge("on", {}, evidence).held
    assert pages.judge("off", {}, evidence).held


def test_memory_in_large_pages_is_counted_by_the_defaults_of_this_mariadb() -> None:
    """Its own for what nobody gives, Assay's for the pool, and a study's before both."""
    binary = MARIADB.programs[0].find()
    told = subprocess.run(
        [str(binary), "--no-defaults", "--verbose", "--help"], capture_output=True, text=True
    ).stdout
    own = [
        int(re.search(rf"(?m)^{name} +([0-9]+)$", told)[1])
        for name in ("key-buffer-size", "aria-pagecache-buffer-size", "innodb-log-buffer-size")
    ]
    assert min(own) > 0
    plain = MARIADB.huge_bytes({}, 2 << 20)
    assert plain == sum(own) + MARIADB_BASE["innodb_buffer_pool_size"]
    assert MARIADB.huge_bytes({"key_buffer_size": "1GiB"}, 2 << 20) == plain - own[0] + (1 << 30)
