"""What a DBA's system monitor would print of a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.record import Bundle
from assay.report import sysmon_lines
from fakes import FakeTarget, run_fake


@pytest.fixture
def bundle(tmp_path: Path, fake: FakeTarget, read_study) -> Bundle:
    """A finished study of the fake engine."""
    return run_fake(tmp_path / "b", fake, read_study())


def printed(bundle: Bundle, arm: str | None = None) -> list[str]:
    runs = [r for r in bundle.runs() if r.status == "ok"]
    return [line.text for line in sysmon_lines(bundle.plan, runs, arm)]


def test_counts_are_added_over_the_runs_of_an_arm(bundle: Bundle) -> None:
    """Committed transactions, and waits as a share of grabs."""
    runs = [r for r in bundle.runs() if r.status == "ok" and r.arm == "baseline"]
    lines = printed(bundle, "baseline")
    committed = next(line for line in lines if line.startswith("Committed xacts"))
    assert committed.split()[-2] == str(sum(r.operations for r in runs))
    waits = sum(r.counters["waits.data_cache"] for r in runs)
    grabs = sum(r.counters["grabs.data_cache"] for r in runs)
    place = lines.index("Default data cache")
    assert lines[place + 2].split()[-1] == f"{waits / grabs:.1%}"


def test_an_arm_alone_or_all_of_them(bundle: Bundle) -> None:
    """Each with its number of runs; what nobody grabbed has no lines."""
    assert sum(", arm " in line for line in printed(bundle, "baseline")) == 1
    assert sum(", arm " in line for line in printed(bundle)) == len(bundle.plan.arms)
    assert "Log cache" not in printed(bundle)


def test_runs_that_do_not_count_are_left_out(bundle: Bundle) -> None:
    """Nothing is printed of an arm without valid runs."""
    assert sysmon_lines(bundle.plan, [], None) == []
