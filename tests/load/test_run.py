"""Load on real servers, from Python and from the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import servers

from assay.core.errors import InputError, MissingError
from assay.load import Load, Summary, clean, parse_url, prepare, run_load
from assay.load.summary import summary_lines
from assay.native import WindowInterval
from load_samples import run_enough

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
    assert summary.operations > 0
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
        # A stall of the machine moves operations out of the window or into it, not every time.
        near = pytest.approx(250, rel=0.4 if poisson else 0.1)
        summaries = (run_load(asked) for _ in range(10))
        summary = next(found for found in summaries if found.operations == near)
        assert summary.asked_per_s == 500
        assert summary.latency_ns["0.99"] >= summary.service_ns["0.99"]
        assert summary.lateness_ns["max"] > 0
    deep = run_load(load(redis, "redis-get", options={"pipeline": 16}, connections=2))
    assert deep.operations % 16 == 0


def test_ycsb_runs_over_redis_without_its_scans(redis: servers.Server):
    """Records are made, used and taken away again; the server counts them."""
    asked = load(redis, "ycsb", connections=4, options={"mix": "f", "records": 500})
    prepare(asked)
    assert _keys(redis) >= 500
    summary = run_enough(asked, 1)
    assert summary.errors == 0
    assert summary.by_kind.keys() == {"read", "rmw"}
    clean(asked)
    assert _keys(redis) < 500
    with pytest.raises(InputError, match="order of keys"):
        run_load(load(redis, "ycsb", options={"mix": "e"}))


def test_a_file_is_fetched_and_one_that_is_not_there_is_an_error(nginx: servers.Server):
    """A 404 counts as an operation that failed, with its status."""
    found = run_enough(load(nginx, "http-get", connections=4), 100)
    assert (found.errors, found.errors_by_code) == (0, [])
    missing = load(nginx, "http-get", options={"path": "/nowhere"}, connections=2)
    summary = run_enough(missing, 1)
    assert summary.errors == summary.operations
    assert summary.errors_by_code == [
        {"kind": "other", "code": "404", "message": "Not Found", "count": summary.errors}
    ]
    assert f"  {summary.errors} with 404: Not Found" in _texts(summary)


def test_a_key_of_the_wrong_kind_is_an_error_by_its_first_word(redis: servers.Server):
    """A pipeline of many errors counts once."""
    _cli(redis, "DEL", "key:000000000000")
    _cli(redis, "LPUSH", "key:000000000000", "x")
    try:
        for pipeline in (1, 16):
            summary = run_enough(load(redis, "redis-get", options={"pipeline": pipeline}), 1)
            assert summary.operations == pipeline * summary.errors
            (refused,) = summary.errors_by_code
            assert (refused["kind"], refused["code"]) == ("other", "WRONGTYPE")
            assert "wrong kind of value" in refused["message"]
            assert refused["count"] == summary.errors
    finally:
        _cli(redis, "DEL", "key:000000000000")


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
        asked = Load(parse_url(server.url), "redis-get", time_s=120, warmup_s=0, connections=2)

        def kill(second: WindowInterval) -> None:
            if second.operations:
                os.kill(server.pid, signal.SIGKILL)

        summary = run_load(asked, kill)
    assert not summary.complete
    assert summary.window_s < asked.time_s
    assert summary.operations > 0
    assert "the run ended early" in summary.void


def _texts(summary: Summary) -> list[str]:
    """The end of a run for people."""
    return [line.text for line in summary_lines(summary)]


def _keys(server: servers.Server) -> int:
    """How many keys a Redis has."""
    return int(_cli(server, "DBSIZE"))


def _commands(server: servers.Server) -> int:
    """How many commands a Redis says that it has carried out."""
    return int(_cli(server, "INFO", "stats").split("total_commands_processed:")[1].split()[0])


def _cli(server: servers.Server, *words: str) -> str:
    """What a Redis answers."""
    command = [servers.find("redis-cli"), "-p", str(server.port), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
