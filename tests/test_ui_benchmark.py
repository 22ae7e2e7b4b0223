"""benchmarks/ui_page.py, with a small study: it runs, and its page is drawn."""

from __future__ import annotations

import json

import pytest
import ui_page


def test_the_page_of_a_study_that_runs_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Every number is there; how fast this machine is does not matter here."""
    ui_page.main(["--quick", "--json"])
    rows = {r["metric"]: r for r in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["first paint"]["ours"] > 0
    assert rows["all drawn"]["ours"] > 0
    assert rows["page and files"]["met"]
    assert rows["event with every run"]["met"]
