"""Durations, sizes and percentages of options: a mistake is wrong use, and names the option."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from assay.cli import app


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["host", "apply", "plan.json", "--try", "10"], "--try: '10' is not a duration"),
        (["host", "size", "--bytes", "8GiB", "--headroom", "5"], "--headroom: '5' is not a perc"),
        (["host", "size", "--bytes", "8GB!"], "--bytes: '8GB!' is not a size"),
        (["host", "plan", "--memlock", "a.service=8"], ""),
        (["host", "plan", "--memlock", "a.service=8XB"], "--memlock a.service=8XB: '8XB' is not"),
        (
            ["load", "http-get", "--to", "http://127.0.0.1:1", "--time", "5"],
            "--time: '5' is not a duration",
        ),
        (["serve", "resp", "--stall", "5"], "--stall: '5' is not a duration"),
    ],
)
def test_a_quantity_without_its_unit_is_refused_by_name(words: list[str], message: str) -> None:
    """A bare number is bytes where a size is asked for, and nothing else."""
    done = CliRunner().invoke(app, words)
    assert not isinstance(done.exception, ValueError)
    if message:
        assert done.exit_code == 2, done.output
        assert message in done.stderr
        assert "next: write for example" in done.stderr
    else:
        assert done.exit_code == 0, done.output
