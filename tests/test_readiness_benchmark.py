"""benchmarks/readiness.py, on a small file: it runs, and its rows have what they need."""

from __future__ import annotations

import json

import pytest

import readiness


def test_a_quick_look_races_the_census_against_the_disassemblers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One row for each rival, and one for memory."""
    assert readiness.main(["--quick", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["name"] == "readiness"
    rows = {(row["metric"], row["rival"]): row for row in told["rows"]}
    beside_objdump = rows["sh: census", "objdump"]
    assert beside_objdump["ours"] > 0
    assert beside_objdump["theirs"] > 0
    assert beside_objdump["goal"] == ">= 100x in each round"
    assert beside_objdump["low"] <= beside_objdump["high"]
    assert rows["sh: memory", "the file"]["ours"] > 0


def test_a_goal_that_is_missed_is_said(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """And makes the exit code 1, but not of a quick look."""
    slow = [readiness.Row("x: census", "objdump", "s", 1.0, 2.0, 2.0, 1.9, 2.1, ">= 100x", False)]
    monkeypatch.setattr(readiness, "rows_of", lambda *given: slow)
    monkeypatch.setattr(readiness, "subjects", lambda *given: [None])
    assert readiness.main([]) == 1
    assert "MISSED" in capsys.readouterr().out
    assert readiness.main(["--quick"]) == 0
