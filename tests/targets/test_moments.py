"""Real servers say of themselves what a timeline keeps; a checkpoint and a save are seen in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.timeline import SERIES
from assay.load import Load, prepare, run_load
from assay.targets.servers.framework.adapter import Adapter
from assay.targets.servers.framework.moments import Moments
from assay.targets.servers.framework.server import Started
from assay.targets.servers.mariadb import MARIADB
from assay.targets.servers.postgresql import POSTGRESQL
from assay.targets.servers.redis import REDIS
from sql_kit import make, running

pytestmark = pytest.mark.server

ROWS = {"tables": 1, "table_size": 2000, "distribution": "uniform"}
KEPT = {
    "mariadb": {"Innodb_buffer_pool_pages_flushed", "Innodb_data_fsyncs", "Innodb_checkpoint_age"},
    "postgresql": {"checkpoints_req", "buffers_checkpoint", "wal_bytes"},
    "redis": {"total_forks", "rdb_bgsave_in_progress", "evicted_keys"},
}


def started(adapter: Adapter, folder: Path):
    """A server without data that ends with the block."""
    make(adapter, folder / adapter.kind, folder / "log")
    return running(adapter, {}, folder / adapter.kind, folder / "log")


@pytest.mark.parametrize("adapter", [MARIADB, POSTGRESQL, REDIS], ids=lambda a: a.kind)
def test_a_server_has_what_a_timeline_keeps(adapter: Adapter, tmp_path: Path) -> None:
    """And nothing that is not in the table."""
    with started(adapter, tmp_path) as server:
        found = adapter.moment(server.ask)
    assert KEPT[adapter.kind] <= found.keys() <= SERIES.keys()


def test_a_checkpoint_is_seen_in_the_interval_it_was_in(tmp_path: Path) -> None:
    """PostgreSQL wrote pages between the second moment and the third."""
    with started(POSTGRESQL, tmp_path) as server:
        series = around(server, lambda: server.ask("CHECKPOINT"))
    assert series["buffers_checkpoint"][1] > 0
    assert series["buffers_checkpoint"][0] == 0
    assert series["checkpoints_req"] == [0, 1]


def test_a_flush_is_seen_in_the_interval_it_was_in(tmp_path: Path) -> None:
    """MariaDB wrote its dirty pages when it was told to keep none."""
    flush = "SET GLOBAL innodb_max_dirty_pages_pct = 0"
    with started(MARIADB, tmp_path) as server:
        series = around(server, lambda: server.ask(flush, "SELECT SLEEP(2)"))
    flushed = series["Innodb_buffer_pool_pages_flushed"]
    assert flushed[1] > 10 * max(1.0, flushed[0])


def test_a_save_is_a_fork_in_the_interval_it_was_in(tmp_path: Path) -> None:
    """Redis forks for it."""
    with started(REDIS, tmp_path) as server:
        moments = Moments(lambda: REDIS.moment(server.ask))
        waited(moments)
        waited(moments)
        server.ask("BGSAVE")
        waited(moments)
        series = moments.series()
    assert series["total_forks"] == [0, 1]


def around(server: Started, happening) -> dict:
    """Series of two intervals, with load in both and something that happens in the second."""
    load = Load(server.target, "oltp-read-write", ROWS, connections=2, time_s=0.3, warmup_s=0.1)
    prepare(load)
    run_load(load)
    moments = Moments(lambda: server.adapter.moment(server.ask))
    waited(moments)
    waited(moments)
    happening()
    waited(moments)
    return moments.series()


def waited(moments: Moments) -> None:
    """A moment, once it is there."""
    moments.take()
    assert moments._asking is not None
    moments._asking.result(60)
