"""benchmarks/startup.py, with few runs: it runs, and says what it measured."""

from __future__ import annotations

import json

import pytest
import startup


def test_each_command_has_its_time_on_the_clock_and_of_the_cpu(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One JSON object; the interval holds the median."""
    startup.main(["--runs", "2", "--json"])
    told = json.loads(capsys.readouterr().out)
    names = [f"{name}: {what}" for name in startup.GOALS_S for what in ("clock", "CPU")]
    assert [row["metric"] for row in told["rows"]] == names
    assert all(row["low"] <= row["ours"] <= row["high"] for row in told["rows"])


@pytest.mark.parametrize(
    ("count", "low", "high"), [(3, 0, 2), (9, 1, 7), (31, 9, 21), (101, 40, 60)]
)
def test_the_interval_of_a_median_is_that_of_the_tables(count: int, low: int, high: int) -> None:
    """Ranks of the sign test at 5 %: the 2nd and 8th of 9, the 10th and 22nd of 31."""
    assert startup.median_interval(range(count)) == (low, high)
