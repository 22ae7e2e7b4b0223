"""A study whose metric each run searches: read, refused where it makes no sense, run, and told."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from assay.bench.guard import void_reason
from assay.core.errors import RunError, StudyError
from assay.record import Bundle, counted_runs, differences
from assay.report.html.view import view
from assay.report.words.particulars import search_text
from assay.study import arms, read
from assay.targets import Launch, Measured
from assay.targets.servers.framework.rate_run import at_rate, searched
from assay.workloads.promise import Promise
from fakes import HEALTHY, STUDY, FakeServer, FakeTarget, run_fake

ASKED = STUDY.replace(
    'primary = "throughput"', 'primary = "max_rate"\npromise = "p99<5ms"'
).replace('also = ["latency_p99"]', "also = []")
PROMISE = Promise(0.99, 0.005)


def latencies(nanoseconds: float, count: int = 2000) -> str:
    """So many, all of them alike."""
    made = HdrHistogram(1, 60_000_000_000, 3)
    made.record_value(int(nanoseconds), count)
    return made.encode().decode()


def answering(launch: Launch, like: Measured, limit: float, count: int = 2000) -> Measured:
    """One window of a server that keeps 5 ms up to a rate."""
    rate = launch.settings.get("rate") or 2 * limit
    latency = 2e6 if rate < limit else 9e6
    asked = launch.settings.get("rate")
    health = HEALTHY.model_copy(update={"asked_per_s": asked, "achieved_per_s": rate})
    histogram = latencies(latency, count)
    return replace(like, operations=count, histogram=histogram, health=health, errors=0)


class SearchingServer(FakeServer):
    """A pretended server whose limit is its speed."""

    def measure(self, on_interval, on_begin=lambda: None) -> Measured:
        like = replace(super().measure(on_interval, on_begin), health=HEALTHY)
        if self.launch.promise is None:
            return like
        limit = like.metrics["throughput"]
        return searched(self.launch, self.launch.promise, lambda it: answering(it, like, limit))


@dataclass
class SearchingTarget(FakeTarget):
    """The fake, asked at rates."""

    searches_rate: bool = True

    def start(self, launch: Launch, log: Path) -> FakeServer:
        self.started += 1
        return SearchingServer(self, launch, self.started - 1)


def reading(text: str, target: FakeTarget | None = None):
    """The study, for a target that can be asked at rates."""
    return read("study.toml", text, Path("."), targets={"engine": target or SearchingTarget()})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ASKED.replace('promise = "p99<5ms"\n', ""), "there is none"),
        (ASKED.replace("p99<5ms", "p42<5ms"), "is not a promise about latency"),
        (ASKED.replace('"max_rate"', '"throughput"'), "has nothing else of its own"),
        (ASKED.replace("also = []", "also = []\ntimeline = true"), "not one to count in"),
        (ASKED.replace("also = []", "also = []\nprofile = true"), "not one to count in"),
        (ASKED.replace('window = "300ms"', 'window = "auto"'), "a search has many"),
        (ASKED.replace("also = []", 'also = []\ndesign = "slices"'), "no slice of a run shows"),
        (STUDY.replace('["latency_p99"]', '["max_rate"]'), "searches max_rate or it does not"),
    ],
)
def test_a_promise_that_makes_no_sense_is_refused(text: str, said: str) -> None:
    """Before anything is started."""
    with pytest.raises(StudyError) as caught:
        reading(text)
    assert any(said in problem.message for problem in caught.value.problems)


def test_a_target_that_is_not_asked_at_rates_is_refused() -> None:
    """The load runs inside the engine, as fast as it can."""
    with pytest.raises(StudyError) as caught:
        reading(ASKED, FakeTarget())
    assert any("not asked at a rate" in problem.message for problem in caught.value.problems)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """A change that moves the limit by 30 %."""
    fake = SearchingTarget(
        effect=lambda s, e: 1.3 if s["data_cache"] == "optimistic" else 1.0, noise=0.01
    )
    text = ASKED.replace('"60s"', '"10min"').replace('"5%"', '"10%"')
    return run_fake(tmp_path / "b", fake, reading(text, fake))


def test_a_run_has_the_highest_rate_and_how_well_it_knows_it(bundle: Bundle) -> None:
    """The ends of its search are beside it, and the limit is between them."""
    for run in counted_runs(bundle):
        kept, broken = run.counters["max_rate.kept"], run.counters["max_rate.broken"]
        assert kept < run.metrics["throughput"] <= broken
        assert kept < run.metrics["max_rate"] < broken
        assert run.counters["max_rate.error"] == pytest.approx(math.sqrt(broken / kept) - 1)
        assert 10 <= run.counters["max_rate.tries"] <= 16
        assert run.health is not None
        assert run.health.asked_per_s == kept
    assert differences(bundle) == []


def test_the_verdict_is_on_the_highest_rate_and_its_error_is_said(bundle: Bundle) -> None:
    """In `show` and in the report."""
    verdicts = bundle.verdicts()
    (row,) = [r for r in verdicts.verdicts if r.arm == "cache" and r.metric == "max_rate"]
    assert row.word == "helps"
    assert row.low is not None
    assert row.low < 0.3 < (row.high or 1.0)
    said = search_text(counted_runs(bundle))
    assert said.startswith("each max_rate is known to ±")
    assert said in view(bundle).verdicts.reading


def test_tries_after_the_first_settle_shortly_at_the_rate_that_is_tried() -> None:
    """The closed loop warms the server up."""
    study = reading(ASKED)
    launch = study.launch(study.cases[0], arms(study)[0], seed=1)
    launch = replace(launch, warmup_s=10.0, window_s=2.0)
    assert (at_rate(launch, None).warmup_s, at_rate(launch, None).settings["rate"]) == (10.0, None)
    tried = at_rate(launch, 500.0)
    assert (tried.warmup_s, tried.settings["rate"], tried.promise) == (0.5, 500.0, None)


@pytest.fixture
def one() -> tuple[Launch, Measured]:
    """A launch, and a run like those that its tries are."""
    target = SearchingTarget()
    study = reading(ASKED, target)
    launch = study.launch(study.cases[0], arms(study)[0], seed=1)
    plain = replace(launch, promise=None)
    return launch, target.start(plain, Path("log")).measure(lambda done, spent_s: None)


def found(one: tuple[Launch, Measured], measure: Callable[[Launch], Measured]) -> Measured:
    """The search of one run."""
    return searched(one[0], PROMISE, measure)


def test_a_window_with_too_few_requests_fails_the_run(one: tuple[Launch, Measured]) -> None:
    """Its quantile would be the story of one request."""
    with pytest.raises(RunError, match="a window of 300 ms has 50 requests, and p99 < 5 ms needs"):
        found(one, lambda launch: answering(launch, one[1], 1e4, count=50))


def test_a_promise_that_no_rate_keeps_leaves_the_metric_out(one: tuple[Launch, Measured]) -> None:
    """The run has failed by then: it has not its primary metric."""
    slow = latencies(9e6)
    measured = found(one, lambda launch: replace(answering(launch, one[1], 1e4), histogram=slow))
    assert "max_rate" not in measured.metrics


def test_a_client_that_was_the_limit_at_an_end_voids_the_run(one: tuple[Launch, Measured]) -> None:
    """It may have been what broke the promise there; far above the limit nobody minds."""

    def limited(above: float) -> Callable[[Launch], Measured]:
        def measure(launch: Launch) -> Measured:
            made = answering(launch, one[1], 1e4)
            if (launch.settings["rate"] or 0.0) < above:
                return made
            busy = {"busiest_thread": 0.95, "server_idle": 0.4, "late_sends": 0.2}
            return replace(made, health=made.health.model_copy(update=busy))

        return measure

    assert "the client was the limit" in void_reason(found(one, limited(9e3)))
    assert void_reason(found(one, limited(12e3))) == ""
    assert void_reason(found(one, lambda launch: answering(launch, one[1], 1e4))) == ""


def test_a_try_that_was_ended_ends_the_search(one: tuple[Launch, Measured]) -> None:
    """What comes back says that it is not complete."""
    left = [3]

    def ended(launch: Launch) -> Measured:
        left[0] -= 1
        return replace(answering(launch, one[1], 1e4), complete=left[0] > 0)

    assert not found(one, ended).complete
    assert left[0] == 0


def test_what_is_searched_has_its_own_luck(one: tuple[Launch, Measured]) -> None:
    """A limit that moves from try to try makes the ends move apart, and the error says so."""
    drawn = random.Random(3)
    steady = found(one, lambda launch: answering(launch, one[1], 1e4))
    moving = [
        found(one, lambda launch: answering(launch, one[1], 1e4 * drawn.gauss(1, 0.1)))
        for _ in range(10)
    ]
    errors = [run.counters["max_rate.error"] for run in moving]
    assert max(errors) > steady.counters["max_rate.error"]
