"""The benchmark of comparisons with tiny parameters, and what it takes for a conclusion."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import compare

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "compare.py"


def test_it_runs_and_gives_its_rows() -> None:
    """One trial of the same work twice, and the start of an empty process."""
    done = subprocess.run(
        [sys.executable, SCRIPT, "--quick", "--json"],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["name"] == "compare"
    assert {row["metric"] for row in found["rows"]} == {"A/A: a difference", "empty process"}


def test_a_ratio_within_its_deviation_is_no_conclusion() -> None:
    """As hyperfine's user reads it."""
    assert not compare.by_deviation([[1.0, 1.1, 0.9], [1.05, 1.15, 0.95]])
    assert compare.by_deviation([[1.0, 1.01, 0.99], [1.5, 1.51, 1.49]])


def test_the_interval_of_a_share_holds_it() -> None:
    """And narrows with the trials."""
    few, many = compare.Tally(10, 1), compare.Tally(100, 10)
    assert compare.wilson(few)[0] < 0.1 < compare.wilson(few)[1]
    assert compare.wilson(many)[1] < compare.wilson(few)[1]
