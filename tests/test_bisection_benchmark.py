"""The benchmark of searches runs, on tiny parameters."""

import json

import pytest

import bisection


def test_the_simulated_searches_name_the_culprit(capsys: pytest.CaptureFixture[str]) -> None:
    """One case of three searches, and those without a change and with two."""
    assert bisection.main(["--quick", "--json"]) == 0
    rows = {row["metric"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["named, 64 commits, effect 2 x noise, normal"]["ours"] >= 2 / 3
    assert rows["named wrong, all cases"]["ours"] == 0
