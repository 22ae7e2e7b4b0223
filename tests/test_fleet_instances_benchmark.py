"""benchmarks/fleet_instances.py, on few studies: it runs, and its goals are what it prints."""

from __future__ import annotations

import json

import fleet_instances
import pytest


def test_the_simulation_prints_every_share(capsys: pytest.CaptureFixture[str]) -> None:
    """Errors, power and instances needed, for each number of instances."""
    assert fleet_instances.main(["--quick", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    named = [row["metric"] for row in rows]
    for k in fleet_instances.NUMBERS:
        assert f"k={k}: equal types differ" in named
        assert f"k={k}: 5 % is found" in named
    assert all(0 <= row["ours"] <= 100 for row in rows)
    needed = [row["ours"] for row in rows if row["unit"] == "instances"]
    assert needed == sorted(needed)


def test_a_goal_that_is_missed_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And makes the exit code 1."""
    row = fleet_instances.Row("x", "blocks", "%", 9.0, goal="<= 5", met=False)
    monkeypatch.setattr(fleet_instances, "rows", lambda *given: [row])
    assert fleet_instances.main([]) == 1
    assert capsys.readouterr().out.endswith("MISSED\n")
