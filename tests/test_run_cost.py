"""benchmarks/run_cost.py, on little data: it runs, and its parts make up the whole."""

from __future__ import annotations

import json

import pytest
import run_cost


@pytest.mark.parametrize("kind", run_cost.COSTS)
def test_the_parts_of_a_run_are_timed_and_make_up_the_whole(
    kind: str, tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One JSON object with a row for each part, and one for all of them beside its goal."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert run_cost.main(["--quick", "--json", "--only", kind]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["name"] == "run_cost"
    *parts, whole = told["rows"]
    assert [p["metric"] for p in parts] == [f"{kind}: {phase}" for phase in run_cost.PHASES]
    assert all(p["ours"] >= 0 for p in parts)
    assert whole["ours"] == pytest.approx(sum(p["ours"] for p in parts))
    assert whole["goal"] == f"< {run_cost.COSTS[kind].goal_s:g}"


def test_a_goal_that_is_missed_is_said(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """And makes the exit code 1, but not of a quick look."""
    slow = [run_cost.Row("x: a run", "", "s", 9.0, low=8.0, high=10.0, goal="< 3", met=False)]
    monkeypatch.setattr(run_cost, "rows_of", lambda *given: slow)
    assert run_cost.main(["--only", "redis"]) == 1
    assert "MISSED 8.000 to 10.000" in capsys.readouterr().out
    assert run_cost.main(["--only", "redis", "--quick"]) == 0
