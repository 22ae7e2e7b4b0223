"""Load on real servers, from Python and from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import servers

from assay._errors import InputError, MissingError
from assay.load import Load, clean, parse_url, prepare, run_load

ASSAY = Path(sys.executable).parent / "assay"


def load(server: servers.Server, workload: str, **more: object) -> Load:
    """A short load."""
    return Load(parse_url(server.url), workload, time_s=0.5, warmup_s=0.1, **more)


def test_a_closed_loop_asks_as_fast_as_it_is_answered(redis: servers.Server):
    """The server itself counts as many commands, and the latency is the service time."""
    seconds = []
    before = _commands(redis)
    summary = run_load(load(redis, "redis-set", connections=4), seconds.append)
    assert summary.complete
    assert summary.errors == 0
    assert summary.operations > 100
    assert _commands(redis) - before >= summary.operations
    assert summary.latency_ns == summary.service_ns
    assert summary.lateness_ns == {}
    assert sum(second.operations for second in seconds) == summary.operations
    assert summary.by_kind.keys() == {"set"}


def test_an_open_loop_sends_as_often_as_asked(redis: servers.Server):
    """Evenly and at random, over several threads, pipelines counted by command."""
    for poisson, threads in ((False, 1), (True, 2)):
        asked = load(
            redis, "redis-get", connections=8, threads=threads, rate=500.0, poisson=poisson
        )
        summary = run_load(asked)
        assert summary.asked_per_s == 500
        assert summary.operations == pytest.approx(250, rel=0.4 if poisson else 0.1)
        assert summary.latency_ns["0.99"] >= summary.service_ns["0.99"]
        assert summary.lateness_ns["max"] > 0
    deep = run_load(load(redis, "redis-get", options={"pipeline": 16}, connections=2))
    assert deep.operations % 16 == 0


def test_ycsb_runs_over_redis_without_its_scans(redis: servers.Server):
    """Records are made, used and taken away again; the server counts them."""
    asked = load(redis, "ycsb", connections=4, options={"mix": "f", "records": 500})
    prepare(asked)
    assert _keys(redis) >= 500
    summary = run_load(asked)
    assert summary.errors == 0
    assert summary.by_kind.keys() == {"read", "rmw"}
    clean(asked)
    assert _keys(redis) < 500
    with pytest.raises(InputError, match="order of keys"):
        run_load(load(redis, "ycsb", options={"mix": "e"}))


def test_a_file_is_fetched_and_one_that_is_not_there_is_an_error(nginx: servers.Server):
    """A 404 counts as an operation that failed."""
    found = run_load(load(nginx, "http-get", connections=4))
    assert found.operations > 100
    assert found.errors == 0
    missing = load(nginx, "http-get", options={"path": "/nowhere"}, connections=2)
    summary = run_load(missing)
    assert summary.errors == summary.operations > 0


def test_the_command_line_tells_the_latency_and_the_verdict_on_itself(redis: servers.Server):
    """For people on a terminal, and as JSON."""
    command = [str(ASSAY), "load", "redis-get", "--to", redis.url, "--connections", "4",
               "--time", "500ms", "--warmup", "100ms", "--rate", "500"]  # fmt: skip
    told = subprocess.run(command, capture_output=True, text=True)
    assert "p99.9" in told.stdout
    assert "of the 500 op/s asked for" in told.stdout
    assert "CPU per operation" in told.stdout
    assert "client was not the limit" in told.stdout or "void: " in told.stdout
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    summary = json.loads(done.stdout)
    assert summary["operations"] > 0
    assert done.returncode == (4 if summary["void"] else 0)


def test_a_port_without_a_server_and_a_wrong_workload_are_told_with_what_next(
    redis: servers.Server,
):
    """Nothing is measured."""
    nobody = Load(parse_url("redis://127.0.0.1:1"), "redis-get")
    with pytest.raises(MissingError, match=r"127\.0\.0\.1:1"):
        run_load(nobody)
    with pytest.raises(InputError, match="cannot be asked"):
        run_load(load(redis, "http-get"))
    with pytest.raises(InputError, match="pipeline is 0"):
        run_load(load(redis, "redis-get", options={"pipeline": 0}))
    with pytest.raises(InputError, match="more than the 1 connections"):
        run_load(load(redis, "redis-get", threads=2))


def test_a_server_that_dies_ends_the_run_with_what_was_measured():
    """Marked void, with the reason."""
    with servers.redis() as server:
        asked = Load(parse_url(server.url), "redis-get", time_s=20, warmup_s=0, connections=2)
        timer = threading.Timer(1.0, lambda: subprocess.run(["kill", "-9", str(server.pid)]))
        timer.start()
        begun = time.monotonic()
        summary = run_load(asked)
        assert time.monotonic() - begun < 15
    assert not summary.complete
    assert summary.operations > 0
    assert "the run ended early" in summary.void


def _keys(server: servers.Server) -> int:
    """How many keys a Redis has."""
    command = [servers.find("redis-cli"), "-p", str(server.port), "DBSIZE"]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _commands(server: servers.Server) -> int:
    """How many commands a Redis says that it has carried out."""
    command = [servers.find("redis-cli"), "-p", str(server.port), "INFO", "stats"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(text.split("total_commands_processed:")[1].split()[0])
