"""What benchmarks/load.py makes of its turns; neither a server nor a client is run here."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from pathlib import Path

import pytest
import servers

import load

SERVER = servers.Server(1, 8080, Path("/nowhere"), "http://127.0.0.1:8080/file")
COSTS = {"wrk": 10.0, "ping-pong-epoll": 7.0, "ping-pong-io-uring": 6.0, "epoll": 7.5}


def rows(monkeypatch: pytest.MonkeyPatch, ours: float) -> dict[str, load.Row]:
    """The rows of HTTP by rival, when every client has a cost of its own, which wobbles."""
    wobble = itertools.cycle([1.0, 1.004, 0.998, 1.002, 0.996])

    def our_turn(race: load.Race, server: servers.Server, seconds: float, backend: str | None):
        return next(wobble) * (COSTS[backend] if backend else ours)

    def rival_turn(rival: load.Rival, server: servers.Server, seconds: float):
        return next(wobble) * COSTS[rival.name]

    monkeypatch.setattr(load, "our_turn", our_turn)
    monkeypatch.setattr(load, "rival_turn", rival_turn)
    race = dataclasses.replace(load.RACES["http"], server=lambda: contextlib.nullcontext(SERVER))
    return {row.rival: row for row in load.rows_of("http", race, 15, 1.0)}


def test_every_rival_has_a_row_and_the_floor_has_a_goal_beside_wrk(monkeypatch):
    """Met against wrk and one floor, missed against the lower one."""
    found = rows(monkeypatch, 6.9)
    assert {name: row.goal for name, row in found.items()} == {
        "wrk": "<= 0.7x", "ping-pong-epoll": "<= 1.1x", "ping-pong-io-uring": "<= 1.1x",
        load.OLDER: "",
    }  # fmt: skip
    assert {name: row.met for name, row in found.items()} == {
        "wrk": True, "ping-pong-epoll": True, "ping-pong-io-uring": False, load.OLDER: True,
    }  # fmt: skip
    assert found["ping-pong-io-uring"].ratio == pytest.approx(1.15, rel=0.01)
    assert "MISSED" in "\n".join(load.table(list(found.values())))


def test_the_floor_asks_for_what_the_load_asks_for(monkeypatch):
    """The same bytes, over as many connections."""
    monkeypatch.setattr(load, "race_load", lambda: "race-load")
    _, floor, _ = load.RACES["http"].rivals
    assert floor.stdin(SERVER) == b"GET /file HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"
    command = floor.command(SERVER, 3.0)
    assert command[:3] == ["race-load", "ping-pong-epoll", "--port=8080"]
    assert f"--connections={load.CONNECTIONS}" in command
