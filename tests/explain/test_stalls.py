"""Stalls of a study: found in the runs that count, with what was counted in those seconds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.explain import stalls_of, timelines
from assay.record import Bundle, counted_runs, differences
from assay.report.terminal.stalls import stall_lines
from assay.report.words.stalls import stall_cause, stall_text
from assay.targets import Measured
from fakes import FakeTarget, run_fake
from timeline_kit import FLUSHED, SECONDS, stalling


@pytest.fixture
def stalled(tmp_path: Path, fake: FakeTarget, read_study) -> Bundle:
    """A study in half of whose runs a server stalls for a second and flushes pages."""
    fake.script = stalling()
    return run_fake(tmp_path / "b", fake, read_study())


def test_a_stall_is_found_with_the_series_that_is_high_in_it(stalled: Bundle) -> None:
    """And not with what falls, or stays as it is."""
    runs = counted_runs(stalled)
    found = stalls_of(stalled.plan, runs)
    assert {one.arm for one in found} <= {arm.name for arm in stalled.plan.arms}
    for one in found:
        mine = timelines([r for r in runs if r.arm == one.arm])
        assert one.runs == len(mine)
        assert one.stalls == one.stalled_runs == sum(bool(line.stalls) for line in mine)
        assert one.watched_s == SECONDS * one.runs
        assert one.stalled_s == one.stalls
        assert one.depth == pytest.approx(0.05, rel=0.1)
        assert one.cause is not None
        assert one.cause.name == FLUSHED
        assert one.cause.slow == 9000.0
        assert "InnoDB flushed pages: InnoDB: pages flushed 9 kpages/s" in stall_cause(one)
        assert stall_text(one).startswith(f"{one.stalls} stalls in {one.stalled_runs} of ")


def test_series_are_a_part_of_the_record_and_the_bundle_verifies(stalled: Bundle) -> None:
    """One value for each interval."""
    assert differences(stalled) == []
    for run in stalled.runs():
        assert {len(values) for values in run.series.values()} == {len(run.intervals)}


def test_a_stall_in_which_nothing_was_counted_says_how_to_count(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """It is a finding all the same."""
    fake.script = stalling(series=False)
    bundle = run_fake(tmp_path / "b", fake, read_study())
    found = stalls_of(bundle.plan, counted_runs(bundle))
    assert found
    assert {one.cause for one in found} == {None}
    assert all("`timeline = true`" in stall_cause(one) for one in found)
    assert any("stalls" in line.text for line in stall_lines(bundle.plan, found))


def test_a_series_that_does_not_go_with_stalls_is_blamed_for_none(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """Pages are flushed all the time; that some stalls had many of them is chance."""

    def script(number: int, measured: Measured) -> Measured:
        made = stalling(share=0.8)(number, measured)
        series = dict(made.series) | {FLUSHED: [float(1 + (7 * s) % 5) for s in range(SECONDS)]}
        return replace(made, series=series)

    fake.script = script
    bundle = run_fake(tmp_path / "b", fake, read_study())
    found = stalls_of(bundle.plan, counted_runs(bundle))
    assert found
    assert {one.cause for one in found} == {None}
    assert "series is high in those seconds and low in the others" in stall_cause(found[0])


def test_a_study_whose_runs_are_one_interval_has_no_timeline(finished: Bundle) -> None:
    """Nothing to compare a second with."""
    assert timelines(counted_runs(finished)) == []
    assert stalls_of(finished.plan, counted_runs(finished)) == []
    assert stall_lines(finished.plan, []) == []


def test_the_windows_short_remainder_is_left_out(fake: FakeTarget, stalled: Bundle) -> None:
    """Half a second of work is no stall of a second."""
    run = counted_runs(stalled)[0]
    last = run.intervals[-1].model_copy(update={"length_ms": 100.0, "operations": 1})
    (line,) = timelines([run.model_copy(update={"intervals": [*run.intervals[:-1], last]})])
    assert len(line.rates) == SECONDS - 1
