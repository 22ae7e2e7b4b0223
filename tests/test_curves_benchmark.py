"""benchmarks/curves.py, with few studies: it runs, and counts what it says."""

from __future__ import annotations

import json

import curves
import pytest


def test_coverage_of_bands_and_crossings_is_counted_next_to_common_ways(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One JSON object; nothing is certain of two studies."""
    curves.main(["--quick", "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {r["metric"].partition(",")[0] for r in rows} == set(curves.TRUTHS)
    assert all(0 <= r["ours"] <= 1 for r in rows if r["unit"] == "fraction")


def test_a_crossing_is_found_in_its_interval() -> None:
    """Among seven points, and narrower where points are added."""
    effect, places = curves.TRUTHS["crossing"]
    fixed, refined = (curves.simulated(effect, points, False, seed=4) for points in curves.POINTS)
    for found in (fixed, refined):
        ((low, high),) = found.crossings
        assert low <= places[0] <= high
    assert fixed.crossings[0][1] / fixed.crossings[0][0] >= 2


def test_the_rivals_are_as_they_are_described() -> None:
    """Straight lines between means, in the logarithm of the axis."""
    assert curves._interpolated([(1, -0.1), (16, 0.1)]) == pytest.approx(4)
    assert curves._interpolated([(1, 0.1), (16, 0.2)]) is None
