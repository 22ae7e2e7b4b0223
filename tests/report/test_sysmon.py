"""What a DBA's system monitor would print of a bundle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.record import Bundle, RunRecord, counted_runs
from assay.report import sysmon_lines
from assay.targets import Measured
from fakes import FakeTarget, run_fake


@pytest.fixture
def bundle(tmp_path: Path, fake: FakeTarget, read_study) -> Bundle:
    """A finished study of the fake engine."""
    return run_fake(tmp_path / "b", fake, read_study())


def printed(bundle: Bundle, arm: str | None = None) -> list[str]:
    return [line.text for line in sysmon_lines(bundle.plan, counted_runs(bundle), arm)]


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


def test_the_runs_are_those_of_the_verdict(tmp_path: Path, fake: FakeTarget, read_study) -> None:
    """A good run whose case was run again in its block is not added."""

    def disturbed(number: int, measured: Measured) -> Measured:
        stolen = {"steal": 0.5 if number == 1 else 0.0}
        return replace(measured, health=measured.health.model_copy(update=stolen))

    fake.script = disturbed
    bundle = run_fake(tmp_path / "b", fake, read_study())
    assert [r.run for r in bundle.runs() if r.status == "void"] == [1]
    verdict = bundle.verdicts().verdicts[0]
    (head,) = (line for line in printed(bundle, verdict.arm) if ", arm " in line)
    assert f": {verdict.blocks} runs, " in head
    aside = [r for r in bundle.runs() if r.status == "ok" and r not in counted_runs(bundle)]
    assert [r.run for r in aside if r.attempt == 0] != []
    assert len([r for r in counted_runs(bundle) if r.arm == verdict.arm]) == verdict.blocks


def test_a_bundle_without_verdicts_counts_the_blocks_it_has(bundle: Bundle) -> None:
    """A study that was killed has them from its runs."""
    whole = counted_runs(bundle)
    (bundle.folder / "verdicts.json").unlink()
    assert counted_runs(bundle) == whole


def per_cpu_second(runs: list[RunRecord], bundle: Bundle) -> str:
    lines = [line.text for line in sysmon_lines(bundle.plan, runs, "baseline")]
    return next(line for line in lines if line.startswith("Xacts per CPU-second")).split()[-2]


def test_transactions_are_divided_by_the_cpu_time_of_the_server(bundle: Bundle) -> None:
    """Not by that of the load's threads, which on a real server are the client's."""
    runs = [
        r.model_copy(update={"threads": [{"cpu_s": 9e9}], "metrics": {"cpu_per_operation": 2000.0}})
        for r in counted_runs(bundle)
    ]
    assert per_cpu_second(runs, bundle) == "500000.0"
    unknown = [r.model_copy(update={"metrics": {}}) for r in runs]
    assert per_cpu_second([*runs, *unknown], bundle) == "n/a"
