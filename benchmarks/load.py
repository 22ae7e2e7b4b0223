"""What does load cost the client, beside the generators that people use?

Each race starts one server on loopback and lets rivals and `assayer load` ask the same of it in
turns: the same statements, connections and time, one client thread. What is compared is the CPU
time of the client's process, from its start to its end, per operation; how fast the server answers
does not count. A turn of all is a block of `assay.decide`; a goal is met only when the upper end
of the ratio is below it.

Rivals are generators that people use, and programs of native/peers/clients: the floor, which sends
and receives the same bytes and looks at none, and tokio with the codec of a crate.

    python benchmarks/load.py [--quick] [--json] [--rounds N] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import servers
from outcome import Row, write_json

import assay
from assay.load import Load, parse_url
from assay.native import find_assayer

CONNECTIONS = 50
TABLE_SIZE = 10_000
OURS = "assay"
OLDER = "assay on epoll"
PEERS = Path(__file__).parent.parent / "native" / "peers"


@dataclass(frozen=True)
class Rival:
    """Another client; `goal` is our highest ratio to its CPU per operation."""

    name: str
    goal: float | None
    command: Callable[[servers.Server, float], list[str]]
    operations: str
    """Where it says how many operations it carried out; empty if it is told how many."""
    stdin: Callable[[servers.Server], bytes] = lambda server: b""


@dataclass(frozen=True)
class Race:
    """Rivals, and the same work done by us."""

    server: Callable[[], contextlib.AbstractContextManager[servers.Server]]
    rivals: tuple[Rival, ...]
    workload: str
    options: dict[str, Any] = field(default_factory=dict)
    prepare: Callable[[servers.Server], None] = lambda server: None


def _redis_benchmark(command: str, pipeline: int) -> Callable[[servers.Server, float], list[str]]:
    # It takes a number, not a time; about as many as the reference machine does.
    per_s = 70_000 if pipeline == 1 else 600_000
    return lambda server, seconds: [
        servers.find("redis-benchmark"), "-p", str(server.port), "-t", command, "-q", "--csv",
        "-c", str(CONNECTIONS), "-P", str(pipeline), "-n", str(int(seconds * per_s)),
    ]  # fmt: skip


def _sysbench(server: servers.Server, test: str, seconds: float, action: str) -> list[str]:
    kind, prefix = ("mysql", "mysql") if server.url.startswith("mysql") else ("pgsql", "pgsql")
    return [
        servers.find("sysbench"), f"oltp_{test}", f"--db-driver={kind}",
        f"--{prefix}-host=127.0.0.1", f"--{prefix}-port={server.port}", f"--{prefix}-user=load",
        f"--{prefix}-db=load", f"--{prefix}-password=", f"--threads={CONNECTIONS}",
        f"--table-size={TABLE_SIZE}", f"--time={seconds:g}", "--report-interval=0", action,
    ]  # fmt: skip


def _sysbench_tables(server: servers.Server) -> None:
    subprocess.run(
        _sysbench(server, "read_write", 1, "prepare"), check=True, stdout=subprocess.DEVNULL
    )


def _pgbench(server: servers.Server, *more: str) -> list[str]:
    return [servers.find("pgbench"), "-h", "127.0.0.1", "-p", str(server.port), "-U", "load",
            *more, "load"]  # fmt: skip


def _pgbench_tables(server: servers.Server) -> None:
    _sysbench_tables(server)
    subprocess.run(_pgbench(server, "-i", "-q"), check=True, stderr=subprocess.DEVNULL)


@functools.cache
def race_load() -> str:
    """The program of native/peers/clients, built when it is first wanted."""
    sys.stderr.write("building native/peers/clients: a minute the first time\n")
    build = [
        "cargo",
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "assay-peer-clients",
    ]
    subprocess.run(build, cwd=PEERS, check=True)
    return str(PEERS / "target" / "release" / "race-load")


def _race_load(kind: str, goal: float | None = None, **more: Any) -> Rival:
    return Rival(
        kind, goal,
        lambda it, seconds: [race_load(), kind, f"--port={it.port}", f"--seconds={seconds:g}",
                             f"--connections={CONNECTIONS}", f"--rows={TABLE_SIZE}"],
        r'"operations": (\d+)', **more,
    )  # fmt: skip


def _http_request(server: servers.Server) -> bytes:
    # As `HttpTarget::request` has it.
    return f"GET /file HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()


def _redis(command: str, pipeline: int, goal: float) -> Race:
    rival = Rival("redis-benchmark", goal, _redis_benchmark(command, pipeline), "")
    options = {"pipeline": pipeline}
    return Race(servers.redis, (rival,), workload=f"redis-{command}", options=options)


def _oltp(server: Callable[..., Any], test: str, *more: Rival) -> Race:
    rival = Rival(
        "sysbench", 0.5, lambda it, seconds: _sysbench(it, test, seconds, "run"),
        r"total number of events:\s+(\d+)",
    )  # fmt: skip
    return Race(
        server, (rival, *more), workload=f"oltp-{test.replace('_', '-')}",
        options={"table_size": TABLE_SIZE}, prepare=_sysbench_tables,
    )  # fmt: skip


RACES = {
    "redis-get": _redis("get", 1, 0.6),
    "redis-set": _redis("set", 1, 0.6),
    "redis-get-16": _redis("get", 16, 0.8),
    "redis-set-16": _redis("set", 16, 0.8),
    "http": Race(
        servers.nginx,
        (
            Rival("wrk", 0.7,
                  lambda it, seconds: [servers.find("wrk"), "-t1", f"-c{CONNECTIONS}",
                                       f"-d{max(1, round(seconds))}s", it.url],
                  r"(\d+) requests in"),
            _race_load("ping-pong-epoll", 1.1, stdin=_http_request),
            _race_load("ping-pong-io-uring", 1.1, stdin=_http_request),
        ),
        workload="http-get",
    ),
    "mariadb-point-select": _oltp(
        servers.mariadb, "point_select", _race_load("tokio-mysql-common")),
    "mariadb-read-write": _oltp(servers.mariadb, "read_write"),
    "postgresql-point-select": _oltp(
        servers.postgresql, "point_select", _race_load("tokio-postgres-protocol")),
    "postgresql-read-write": _oltp(servers.postgresql, "read_write"),
    "pgbench-select": Race(
        servers.postgresql,
        (
            Rival("pgbench", 0.65,
                  lambda it, seconds: _pgbench(
                      it, "-n", "-S", "-M", "prepared", "-c", str(CONNECTIONS), "-j", "1",
                      "-T", str(max(1, round(seconds)))),
                  r"transactions actually processed: (\d+)"),
        ),
        workload="oltp-point-select", options={"table_size": TABLE_SIZE}, prepare=_pgbench_tables,
    ),
}  # fmt: skip


def cpu_us(command: list[str], stdin: bytes = b"") -> tuple[float, str]:
    """CPU microseconds of a process from start to end, and what it wrote."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as written:
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen(command, stdin=given, stdout=written, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        written.seek(0)
        text = written.read().decode()
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {text[-500:]}")
    return (usage.ru_utime + usage.ru_stime) * 1e6, text


def rival_turn(rival: Rival, server: servers.Server, seconds: float) -> float:
    """CPU microseconds per operation of a rival."""
    command = rival.command(server, seconds)
    spent, text = cpu_us(command, rival.stdin(server))
    if not rival.operations:
        return spent / int(command[command.index("-n") + 1])
    found = re.search(rival.operations, text)
    if found is None:
        raise RuntimeError(f"{rival.name} did not say how much it did: {text[-500:]}")
    return spent / int(found[1])


def our_turn(race: Race, server: servers.Server, seconds: float, backend: str | None) -> float:
    """CPU microseconds per operation of `assayer load`."""
    load = Load(
        parse_url(server.url), race.workload, race.options, connections=CONNECTIONS,
        time_s=seconds, warmup_s=0, backend=backend,
    )  # fmt: skip
    spent, text = cpu_us([str(find_assayer()), "load"], json.dumps(load.request()).encode())
    result = json.loads(text.splitlines()[-1])["data"]
    if not result["complete"] or result["errors"]:
        raise RuntimeError(f"the load did not end well: {result['errors']} errors")
    return spent / result["operations"]


def rows_of(name: str, race: Race, rounds: int, seconds: float) -> list[Row]:
    """All in turns: ours beside each rival, and beside ours on the kernel's older interface."""
    turns: dict[str, Callable[[servers.Server], float]] = {
        OURS: lambda server: our_turn(race, server, seconds, None),
        OLDER: lambda server: our_turn(race, server, seconds, "epoll"),
    }
    for rival in race.rivals:
        turns[rival.name] = functools.partial(rival_turn, rival, seconds=seconds)
    runs = []
    with race.server() as server:
        race.prepare(server)
        for block in range(rounds):
            arms = list(turns)
            first = block % len(arms)
            for arm in arms[first:] + arms[:first]:
                runs.append((block, arm, turns[arm](server)))
            sys.stderr.write(f"\r{name}: {block + 1} of {rounds}  ")
    sys.stderr.write("\n")
    found = [_row(name, runs, rival.name, rival.goal) for rival in race.rivals]
    return [*found, _row(name, runs, OLDER, None)]


def _row(name: str, runs: list[tuple[int, str, float]], rival: str, goal: float | None) -> Row:
    pair = [run for run in runs if run[1] in (OURS, rival)]
    verdict = assay.decide(pair, baseline=rival).verdicts[OURS]
    low, high = (None if end is None else 1 + end for end in (verdict.low, verdict.high))
    ours, theirs = (
        statistics.median(value for _, arm, value in pair if arm == it) for it in (OURS, rival)
    )
    met = goal is None or (high is not None and high <= goal)
    return Row(
        name, rival, "us/op", ours, theirs, 1 + verdict.estimate, low, high,
        "" if goal is None else f"<= {goal:g}x", met,
    )  # fmt: skip


def table(rows: list[Row]) -> Iterator[str]:
    """The rows for people."""
    yield f"{'client CPU per operation':26s} {'assay':>8s} {'rival':>8s}         ratio"
    for row in rows:
        bounds = "" if row.low is None else f" [{row.low:.2f}, {row.high:.2f}]"
        word = (
            ""
            if not row.goal
            else "met"
            if row.met
            else "MISSED"
            if row.low is not None
            else "open: too few rounds"
        )
        yield (
            f"{row.metric:26s} {row.ours:8.2f} {row.theirs:8.2f} {row.unit:6s}  "
            f"{f'{row.ratio:.2f}{bounds}':20s} {row.goal:9s} {word:7s} {row.rival}"
        )


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny parameters: no numbers to use")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each")
    parser.add_argument("--only", nargs="+", choices=RACES, default=list(RACES), help="races")
    options = parser.parse_args(arguments)
    rounds, seconds = (3, 1.0) if options.quick else (options.rounds, 3.0)
    rows = [row for name in options.only for row in rows_of(name, RACES[name], rounds, seconds)]
    if options.json:
        write_json("load", rows)
    else:
        print("\n".join(table(rows)))
    return 0 if options.quick or all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
