"""benchmarks/sampler.py: it runs, and its goals follow from the intervals."""

from __future__ import annotations

import json

import pytest
import sampler


def test_a_quick_look_has_a_row_for_each_question(capsys: pytest.CaptureFixture[str]) -> None:
    """The share of a core, the rivals that are here, and the engine's throughput."""
    assert sampler.main(["--quick", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["name"] == "sampler"
    share, *races, effect = told["rows"]
    assert share["metric"] == "share of a core at 10 Hz"
    assert [r["rival"] for r in races] == list(sampler.rivals(1))
    assert effect["rival"] == sampler.ALONE
    assert all(row["ours"] > 0 for row in told["rows"])


def test_the_share_meets_its_goal_only_with_its_upper_end() -> None:
    """A median below half a percent is not enough."""
    steady = [0.003 + 0.0001 * (n % 3) for n in range(12)]
    assert sampler.share_row(steady).met
    wild = [0.003, 0.009] * 6
    row = sampler.share_row(wild)
    assert row.high > 0.5
    assert not row.met
    assert not sampler.share_row(steady[:2]).met


def test_a_run_that_notices_misses_the_goal(monkeypatch, capsys) -> None:
    """Throughput beside the sampler 5 % lower."""
    alone = [1e6 + 1000 * (n % 5) for n in range(12)]
    values = {sampler.ALONE: alone, sampler.OURS: [0.95 * v for v in alone]}
    row = sampler.ratio_row("engine throughput", values, sampler.ALONE, "op/s", sampler.NOTICED)
    assert row.ratio == pytest.approx(0.95, abs=0.002)
    assert not row.met
    monkeypatch.setattr(sampler, "measured", lambda *given: [row])
    assert sampler.main([]) == 1
    assert "MISSED" in capsys.readouterr().out
    assert sampler.main(["--quick"]) == 0
