"""benchmarks/doctor.py: it runs, and its goal follows from the worse end of the interval."""

from __future__ import annotations

import json

import doctor
import pytest


@pytest.mark.server
def test_a_quick_look_has_a_row_for_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    """Alone and examined."""
    assert doctor.main(["--quick", "--json", "--only", "redis"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["name"] == "doctor"
    (row,) = said["rows"]
    assert row["metric"] == "redis"
    assert row["ours"] > 0
    assert row["theirs"] > 0


def test_a_server_that_notices_misses_the_goal() -> None:
    """Five percent less is too much; half a percent is not."""
    alone = [1e5 + 100 * (n % 5) for n in range(12)]
    for factor, met in ((0.95, False), (0.995, True)):
        row = doctor.row_of(
            "redis", {doctor.ALONE: alone, doctor.EXAMINED: [factor * v for v in alone]}
        )
        assert row.met is met
