"""Runs over their window in the report: every run, its stalls with their cause, the meanwhile."""

from __future__ import annotations

import statistics

import pytest
from browser import Browser
from dom import parsed
from report_samples import Made

from assay.report.html.timelines import LATENCY, RUNS_DRAWN, timeline_views
from timeline_kit import FLUSHED, SECONDS


def test_every_arm_has_its_runs_and_their_median(samples: Made) -> None:
    """In the unit of the axis; runs with stalls are drawn first where there are many."""
    found = samples.view("timeline").timelines
    assert found is not None
    assert found.counted
    (group,) = found.groups
    for arm in group.arms:
        assert 0 < len(arm.lines) <= RUNS_DRAWN
        assert all(len(line) == SECONDS for line in arm.lines)
        if not found.left_out:
            middle = [statistics.median(line[s][1] for line in arm.lines) for s in range(SECONDS)]
            assert [y for _, y in arm.median] == pytest.approx(middle, rel=1e-3)
        assert f"{len(arm.stalls)} with a stall" in arm.heading or not arm.stalls


def test_a_stall_is_a_row_with_its_cause(samples: Made) -> None:
    """And a mark at the lowest second, which says which run it is of."""
    found = samples.view("timeline").timelines
    assert found is not None
    rows, arms = found.groups[0].stalls, found.groups[0].arms
    assert {row.arm for row in rows} == {arm.arm for arm in arms if arm.stalls}
    assert any("InnoDB flushed pages" in row.cause for row in rows)
    assert all(" s: " in mark.title for arm in arms for mark in arm.stalls)


def test_panels_go_from_nothing_to_their_largest_value(samples: Made) -> None:
    """Latency first, CPU time by kind, then the server's own."""
    found = samples.view("timeline").meanwhile
    assert found is not None
    (group,) = found.groups
    names = [panel.name for panel in group.panels]
    assert names == [LATENCY, "host.cpu.user_ms", "host.cpu.softirq_ms", FLUSHED]
    for panel in group.panels:
        values = [y for line in panel.lines for _, y in line.points]
        assert max(values) == 1.0
        assert min(values) >= 0
    assert group.panels[2].top == "20 ms/s"


def test_a_study_that_counted_nothing_says_what_is_missing(samples: Made) -> None:
    """Throughput, latency and stalls are there all the same."""
    found = samples.view("timeline-bare").timelines
    assert found is not None
    assert not found.counted
    assert "were not recorded second by second" in parsed(samples.html("timeline-bare")).text
    assert samples.view("plain").timelines is None
    assert 'id="timelines"' not in samples.html("plain")


def test_no_run_no_timeline(samples: Made) -> None:
    """A study that was never run has neither section."""
    assert timeline_views(samples.bundle("empty").plan, []) == (None, None)


def test_every_run_is_a_line_and_every_stall_a_mark(samples: Made, browser: Browser) -> None:
    """Drawn by a real browser; the legend has every arm's line and shape."""
    page = parsed(browser.dom(samples.page("timeline")))
    said, meanwhile = samples.view("timeline").timelines, samples.view("timeline").meanwhile
    assert said is not None
    assert meanwhile is not None
    arms = said.groups[0].arms
    assert page.marks["timelines", "run"] == sum(len(arm.lines) for arm in arms)
    assert page.marks["timelines", "median"] == len(arms)
    assert page.marks["timelines", "stall"] == sum(len(arm.stalls) for arm in arms)
    panels = meanwhile.groups[0].panels
    assert page.marks["meanwhile", "series"] == sum(len(panel.lines) for panel in panels)
