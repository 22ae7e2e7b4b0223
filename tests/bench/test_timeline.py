"""`timeline = true`: what it asks for, what it speaks against, and what comes of it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from assay.bench.counters import with_counters
from assay.core.errors import RunError, StudyError
from assay.core.timeline import GROUPS
from assay.counters import WindowCounts
from assay.native.messages import SliceUse
from assay.study import arms, read
from assay.targets import Measured
from assay.targets.servers.framework.moments import Moments
from fakes import STUDY, FakeTarget
from timeline_kit import SECONDS, by_second

TIMED = STUDY.replace('also = ["latency_p99"]', 'also = ["latency_p99"]\ntimeline = true')
FLUSHED = "Innodb_buffer_pool_pages_flushed"


@pytest.fixture
def run(fake: FakeTarget, read_study) -> Measured:
    """A run of twelve seconds."""
    study = read_study()
    server = fake.start(study.launch(study.cases[0], arms(study)[0], seed=1), Path("log"))
    found = server.measure(lambda done, spent_s: None)
    return by_second(found, [1e6] * SECONDS, {"from_the_server": [1.0] * SECONDS})


def test_a_timeline_asks_for_its_groups_and_says_so_in_the_launch(read_study) -> None:
    """Beside those that the study asks for itself."""
    study = read_study(TIMED.replace("timeline", 'counters = ["vm", "cpu"]\ntimeline'))
    assert study.counters == ("vm", "cpu", *(g for g in GROUPS if g != "cpu"))
    assert study.launch(study.cases[0], arms(study)[0], seed=1).timeline
    assert not read_study().launch(study.cases[0], arms(study)[0], seed=1).timeline


def test_a_timeline_and_turns_of_arms_exclude_each_other(fake: FakeTarget) -> None:
    """Between the slices of an arm others have the machine."""
    text = TIMED.replace("timeline = true", 'timeline = true\ndesign = "slices"')
    with pytest.raises(StudyError) as caught:
        read("study.toml", text, Path("."), targets={"engine": fake})
    assert any("counters of the whole machine" in str(p)
               for p in caught.value.problems)  # fmt: skip


def test_what_was_counted_stands_by_interval_beside_what_the_server_said(run: Measured) -> None:
    """One value for each; a series of another length is none of this window."""
    counted = WindowCounts(
        {}, {}, run.window_s, 0.0, series={"psi.io.some_us": [5.0] * SECONDS, "vm.x": [1.0]}
    )
    found = with_counters(run, counted, None, ())
    assert found.series.keys() == {"from_the_server", "psi.io.some_us"}


def test_slices_have_no_series(run: Measured) -> None:
    """What is counted between two of them is of other arms."""
    used = SliceUse(
        turn=0, server_cpu_s=None, rest_cpu_s=None, foreign_cpu_s=0.0, steal_s=0.0, drain_ms=0.0
    )
    sliced = [i.model_copy(update={"slice": used}) for i in run.intervals]
    run = Measured(**{**vars(run), "intervals": sliced, "series": {}})
    counted = WindowCounts({}, {}, run.window_s, 0.0, series={"psi.io.some_us": [5.0] * SECONDS})
    assert with_counters(run, counted, None, ()).series == {}


def test_a_server_that_answers_late_holds_up_nothing() -> None:
    """It is not asked another question meanwhile; the growth is spread over the gap."""
    answered, asked = threading.Event(), 0

    def look() -> dict[str, float]:
        nonlocal asked
        asked += 1
        if asked == 2:
            answered.wait(10)
        return {FLUSHED: 10.0 * asked}

    moments = Moments(look)
    moments.take()
    while not moments._asking.done():
        pass
    for _ in range(3):
        moments.take()
    answered.set()
    while not moments._asking.done():
        pass
    moments.take()
    assert moments.series() == {
        FLUSHED: [10.0, pytest.approx(10 / 3), *[pytest.approx(10 / 3)] * 2]
    }
    assert asked == 3


def test_a_server_that_is_gone_has_no_series() -> None:
    """Whoever measures hears of it from the load."""

    def look() -> dict[str, float]:
        raise RunError("gone")

    moments = Moments(look)
    moments.take()
    moments.take()
    assert moments.series() == {}
    moments.stop()
