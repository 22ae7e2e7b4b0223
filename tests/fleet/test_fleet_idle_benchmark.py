"""benchmarks/fleet_idle.py: its rows and goals without Ray, and for real where Ray is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import fleet_idle
import pytest

from assay.fleet.rays import IdleCost


class Link:
    """An agent whose Ray costs something while it runs."""

    host = "here"

    def __init__(self, stopped: float) -> None:
        self._stopped = stopped

    def call(
        self, verb: str, request: Mapping[str, Any] | None = None, patience_s: float = 1.0
    ) -> dict[str, Any]:
        assert request is not None
        cost = self._stopped if request["stopped"] else 100.0
        found = IdleCost(seconds=1.0, processes=5, cpu_ms_per_s=cost / 10, wakeups_per_s=cost)
        return found.model_dump()

    def lose(self) -> None: ...


@pytest.mark.parametrize(("stopped", "is_met"), [(0.5, True), (2.0, False)])
def test_the_worst_round_is_held_against_the_goal(stopped: float, is_met: bool) -> None:
    """Of what is stopped; as it is, Ray may cost what it does."""
    rows = list(fleet_idle.rows(fleet_idle.measured(Link(stopped), 3, 1.0, 1)))
    assert [(row.metric, row.ours) for row in rows] == [
        ("Ray, as it is: wake-ups", 100.0),
        ("Ray, as it is: CPU", 10.0),
        ("Ray, stopped: wake-ups", stopped),
        ("Ray, stopped: CPU", stopped / 10),
    ]
    assert [row.met for row in rows] == [True, True, is_met, True]


@pytest.mark.server
@pytest.mark.large
@pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'assay[fleet]'")
def test_a_fleet_is_watched_for_real(capsys: pytest.CaptureFixture[str]) -> None:
    """One short round."""
    assert fleet_idle.main(["--quick", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["name"] == "fleet_idle"
    assert len(told["rows"]) == 4
