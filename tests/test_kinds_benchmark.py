"""benchmarks/kinds.py and benchmarks/ledger_size.py, with few studies and bundles: they run."""

from __future__ import annotations

import json

import kinds
import ledger_size
import pytest


def test_false_discoveries_are_counted_next_to_common_ways(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One JSON object; nothing is certain of two studies."""
    kinds.main(["--studies", "2", "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {r["metric"].partition(":")[0] for r in rows} == set(kinds.EFFECTS)
    assert all(0 <= r["ours"] <= 1 for r in rows if r["unit"] == "fraction")


def test_a_true_effect_is_found_and_a_false_one_is_not() -> None:
    """All blocks run: eight kinds are 10 % faster, 32 are not."""
    found = kinds.simulated(kinds.EFFECTS["some"], seed=3, full=True)
    assert len(found.ours & set(range(8))) >= 6
    assert len(found.ours - set(range(8))) <= 2


def test_the_ledger_answers_each_question(capsys: pytest.CaptureFixture[str]) -> None:
    """With a hundred bundles."""
    ledger_size.main(["--bundles", "120", "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {r["metric"] for r in rows} >= {"list, the newest 40", "history of one study"}
