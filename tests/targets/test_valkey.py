"""Valkey as a target of its own, and as another server under the name of Redis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.changes import CATALOGUE, generic_change
from assay.core.errors import InputError
from assay.study import read
from assay.targets import TARGETS, Launch, Measured
from assay.targets.servers.framework.target import ServerTarget
from assay.targets.servers.redis import REDIS
from assay.targets.servers.valkey import VALKEY, FromWheel, Valkey
from server_kit import KEYS, Unread, launch, own_folders, redis

__all__ = ["own_folders"]


def run(target: ServerTarget, made: Launch, log: Path) -> tuple[Measured, dict]:
    """One run: what was measured and seen."""
    server = target.start(made, log)
    try:
        server.read_back()
        return server.measure(lambda done, spent: None), server.evidence()
    finally:
        server.stop()


def valkey() -> ServerTarget:
    """The target of the registry."""
    return TARGETS["valkey"]


def test_a_run_finds_every_key_and_counts_them(tmp_path: Path) -> None:
    """By Redis's commands and counters."""
    measured, evidence = run(valkey(), launch(), tmp_path / "log")
    assert measured.complete
    assert measured.errors == 0
    assert measured.counters["keyspace_misses"] == 0
    assert measured.counters["calls.get"] > 0
    assert measured.metrics["cpu_per_operation"] > 0
    assert evidence.executable.sha256


@pytest.mark.parametrize(
    ("change", "level", "other"),
    [
        ("valkey.io_threads", "2", "1"),
        ("redis.appendfsync", "always", "everysec"),
        ("redis.thp", "on", "off"),
    ],
)
def test_a_witness_holds_with_its_level_and_not_with_another(
    change: str, level: str, other: str, tmp_path: Path
) -> None:
    """Changes of Redis hold here too, but for its threads, of which one setting is gone."""
    applied = {name: CATALOGUE[change].level(name).application.settings for name in (level, other)}
    made = launch("redis-set")
    made = replace(made, settings={**made.settings, **applied[level]})
    _, evidence = run(valkey(), made, tmp_path / "log")
    witness = CATALOGUE[change].witness
    assert witness.judge(level, applied[level], evidence).held
    assert not witness.judge(other, applied[other], evidence).held


def test_a_witness_fails_when_the_threads_were_taken_out_by_hand(tmp_path: Path) -> None:
    """Even if the server were believed to have been told."""

    class Lying(Unread, Valkey):
        """Valkey that is never told of its threads."""

    change = CATALOGUE["valkey.io_threads"]
    _, evidence = run(ServerTarget(Lying("io-threads")), launch(io_threads=2), tmp_path / "log")
    assert evidence.read_back["io-threads"] == 2
    assert not change.witness.judge("2", {"io-threads": 2}, evidence).held


def test_where_it_is_not_here_the_one_command_is_named() -> None:
    """A Python package, not one of the distribution."""

    class Absent(Valkey):
        """Valkey of a machine that has none."""

        programs = (FromWheel("valkey-server-of-nobody", "no-such-package"),)

    assert valkey().found().startswith("Valkey server v=")
    assert ServerTarget(Absent()).found() == "not here: pip install no-such-package"


def test_its_settings_are_its_own(tmp_path: Path) -> None:
    """What Redis has and it has not is refused."""
    with pytest.raises(InputError, match="has no setting io-threads-do-reads"):
        valkey().check(launch(io_threads_do_reads="yes"))
    assert "io-threads-do-reads" in redis().settings
    assert "valkey-server has" in valkey().settings["io-threads"].text


def test_it_is_another_binary_of_redis_told_apart_by_digest(tmp_path: Path) -> None:
    """The generic kind: the same study, two servers, each its own data and its own witness."""
    files = {"redis": REDIS.programs[0].find(), "valkey": VALKEY.programs[0].find()}
    levels = {name: str(path) for name, path in files.items()}
    change = generic_change("binary", "server", None, levels, target="redis", base=Path("/"))
    seen = {}
    for name in levels:
        made = replace(launch(), binary=change.levels[name].application.binary)
        redis().check(made)
        measured, seen[name] = run(redis(), made, tmp_path / "log")
        assert measured.errors == 0
    for name in levels:
        for shown, evidence in seen.items():
            held = change.witness.judge(name, {}, evidence)
            assert held.held == (name == shown)
            assert evidence.executable.sha256[:12] in held.evidence
    ids = {name: evidence.executable.build_id for name, evidence in seen.items()}
    assert ids["redis"]
    assert ids["redis"] != ids["valkey"]
    kept = (tmp_path / "cache/assay/data").iterdir()
    assert len([p for p in kept if p.name != ".turn"]) == 2


def test_a_study_may_compare_them(tmp_path: Path) -> None:
    """As a user writes it."""
    text = f"""
name = "s"
question = "?"
[target]
kind = "redis"
[workload]
kind = "redis-get"
keys = {KEYS["keys"]}
[measure]
primary = "throughput"
window = "300ms"
[[factor]]
name = "server"
change = "binary"
levels = {{ redis = "{REDIS.programs[0].find()}", valkey = "{VALKEY.programs[0].find()}" }}
[design]
kind = "one-at-a-time"
[decide]
budget = "5min"
"""
    study = read("s", text, tmp_path)
    assert list(study.factors["server"].levels) == ["redis", "valkey"]
