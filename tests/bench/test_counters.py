"""Counters beside a run: what a study may ask for, what it gets, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.bench import counters as counting
from assay.bench import preflight, prepare
from assay.bench.counters import beside, with_counters
from assay.core.errors import MissingError, StudyError
from assay.counters import Count, WindowCounts, asked, models
from assay.host import host_facts
from assay.record import Bundle, differences
from assay.report import verdict_lines
from assay.study import arms, read
from assay.targets import TARGETS, Launch
from fakes import FACTS, STUDY, FakeTarget, histogram, run_fake

PMU: dict[str, Any] = {**FACTS, "can": {"pmu": {"ok": False, "why": "no such file"}}}
WANTING = STUDY.replace(
    'also = ["latency_p99"]', 'also = ["latency_p99"]\ncounters = ["vm", "psi"]'
)


def measured(fake: FakeTarget, read_study) -> Any:
    """A run of the fake: 300,000 operations in 0.3 s."""
    study = read_study()
    arm = arms(study)[0]
    server = fake.start(study.launch(study.cases[0], arm, seed=1), Path("log"))
    found = server.measure(lambda done, spent_s: None)
    return replace(found, operations=300_000, window_s=0.3, histogram=histogram(1000.0))


@pytest.mark.server
def test_a_studys_runs_carry_the_counters_that_it_asked_for(
    tmp_path: Path, fake: FakeTarget, read_study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read by a real sampler beside each run; the bundle verifies as any other."""
    # A busy machine may make a sampler late, and the fake's window is over at once.
    monkeypatch.setattr(counting, "LATE", 1e9)
    text = WANTING.replace(
        '"latency_p99"]', '"latency_p99", "counted_per_operation.vm.pgfault"]', 1
    )
    bundle = run_fake(tmp_path / "b", fake, read_study(text), facts=PMU)
    assert bundle.plan.counters.groups == ["vm", "psi"]
    for record in bundle.runs():
        assert record.counters["vm.pgfault"] >= 0
        assert record.counters["sampler.span_s"] > 0
        assert "counted_per_operation.vm.pgfault" in record.metrics
        assert record.counters["grabs.data_cache"] == record.operations
    assert differences(bundle) == []


def test_a_study_that_asks_for_nothing_has_no_sampler(finished: Bundle) -> None:
    """Nothing is counted unasked."""
    assert finished.plan.counters.groups == []
    assert not any("sampler" in name for r in finished.runs() for name in r.counters)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"psi"]', '"pressure"]', "'pressure' is not a group of counters here"),
        ('"latency_p99"]', '"operations_per_joule"]', "needs counters of energy"),
        ('"latency_p99"]', '"counted_per_operation.perf.cycles"]', "needs counters of perf"),
        ('"latency_p99"]', '"counted_per_operation.colour"]', "no counter is called 'colour'"),
        ('"latency_p99"]', '"counted_per_operation"]', "is not a metric"),
    ],
)
def test_a_counter_that_nobody_can_give_is_a_mistake_in_the_study(
    old: str, new: str, why: str, read_study
) -> None:
    """Said with the line, before anything starts."""
    assert read_study(WANTING).counters == ("vm", "psi")
    with pytest.raises(StudyError, match=why):
        read_study(WANTING.replace(old, new, 1))


@pytest.mark.server
def test_what_cannot_be_counted_is_said_before_and_after(
    tmp_path: Path, fake: FakeTarget, read_study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the plan and in the text of the result."""
    monkeypatch.setattr(preflight, "probe", lambda wanted, pid: {"energy": "no powercap"})
    text = WANTING.replace('"psi"]', '"energy"]')
    bundle = run_fake(tmp_path / "b", fake, read_study(text), facts=PMU)
    assert bundle.plan.counters.absent == {"energy": "no powercap"}
    said = [line.text for line in verdict_lines(bundle.verdicts(), bundle.plan)]
    assert "not counted: energy: no powercap" in said


@pytest.mark.parametrize(
    ("group", "name", "absent"),
    [
        ("energy", "operations_per_joule", {"energy": "no powercap"}),
        ("perf", "instructions_per_cycle", {"perf.cycles, perf.instructions": "no powercap"}),
        ("vm", "counted_per_operation.vm.x", {"vm.x": "no powercap"}),
    ],
)
def test_a_metric_of_what_cannot_be_counted_stops_the_study(
    group: str, name: str, absent: dict[str, str], tmp_path: Path, fake, read_study, monkeypatch
) -> None:
    """Nothing has been started by then."""
    monkeypatch.setattr(preflight, "probe", lambda wanted, pid: absent)
    text = WANTING.replace('"psi"]', f'"{group}"]').replace("latency_p99", name)
    with pytest.raises(MissingError, match=f"{name} cannot be had here: no powercap"):
        prepare(read_study(text), tmp_path / "b", PMU, base=Path("."), targets={"engine": fake})
    assert fake.started == 0


def test_figures_per_operation_are_quotients_of_rates(fake: FakeTarget, read_study) -> None:
    """A sampler that heard of both ends late has counted for another time than the window."""
    run = measured(fake, read_study)
    # A million operations a second for 0.32 s; 0.64 J, of which the memory's part is in none.
    totals = {
        "vm.pgfault": 32_000.0,
        "energy.package-0_uj": 600_000.0,
        "energy.package-1_uj": 40_000.0,
        "energy.package-0.dram_uj": 500_000.0,
        "process.rss_bytes": 1e6,
    }
    found = WindowCounts(totals, {}, 0.32, 0.001, levels=frozenset({"process.rss_bytes"}))
    wanted = ("counted_per_operation.vm.pgfault", "counted_per_operation.process.rss_bytes")
    with_them = with_counters(run, found, None, wanted)
    assert with_them.metrics["counted_per_operation.vm.pgfault"] == pytest.approx(0.1)
    assert with_them.metrics["operations_per_joule"] == pytest.approx(500_000)
    assert "counted_per_operation.process.rss_bytes" not in with_them.metrics
    assert with_them.counters["process.rss_bytes"] == 1e6
    assert with_them.counters["sampler.span_s"] == 0.32


def test_an_event_that_took_turns_leaves_its_share_and_no_number(fake, read_study) -> None:
    """And no metric that follows from it."""
    run = measured(fake, read_study)
    events = {
        "cycles:u": Count("cycles:u", 1000.0, running=1.0),
        "instructions:u": Count("instructions:u", 500.0, running=1.0),
        "dtlb_load_walks:u": Count("dtlb_load_walks:u", None, running=0.44, why="multiplexed"),
    }
    found = with_counters(run, WindowCounts({}, events, 0.3, 0.0), models()["broadwell"], ())
    assert found.counters["perf.cycles:u"] == 1000.0
    assert found.counters["perf.dtlb_load_walks:u.running"] == 0.44
    assert "perf.dtlb_load_walks:u" not in found.counters
    assert found.metrics["instructions_per_cycle"] == 0.5
    assert "dtlb_walks_per_1000_instructions" not in found.metrics


def test_a_window_without_marks_adds_nothing(fake: FakeTarget, read_study) -> None:
    """Rather than figures of some other time."""
    run = measured(fake, read_study)
    assert with_counters(run, WindowCounts({}, {}, None, 0.0), None, ()) == run


def test_a_sampler_that_came_too_late_adds_only_that_it_did(fake, read_study) -> None:
    """It had to wait for a CPU, and counted another time than the window."""
    run = measured(fake, read_study)
    for span_s, late_s, is_kept in [
        (0.3, 0.029, True),
        (0.3, 0.031, False),
        (0.269, 0.0, False),
        (0.331, 0.0, False),
    ]:
        seen = WindowCounts({"vm.x": 5.0}, {}, span_s, 0.0, late_s=late_s)
        found = with_counters(run, seen, None, ())
        assert found.counters["sampler.span_s"] == span_s
        assert ("vm.x" in found.counters) is is_kept


@pytest.mark.server
def test_the_engine_is_counted_over_its_window(tmp_path: Path) -> None:
    """For real: its CPU time by two ways of counting."""
    study = read("x.toml", STUDY, Path("."))
    launch = study.launch(study.cases[0], arms(study)[0], seed=1)
    # On a busy machine a sampler may be late.
    found = next(f for _ in range(20) if "process.cpu_us" in (f := engine_run(launch, tmp_path)))
    worked_s = found["process.cpu_us"] / 1e6
    assert worked_s > 0
    assert found["host.context_switches"] > 0
    clock = found.get("perf.task_clock_ns")
    if clock is not None:
        assert clock / 1e9 == pytest.approx(worked_s, rel=0.5)


def engine_run(launch: Launch, folder: Path) -> Mapping[str, float]:
    """The counters of one run of the real engine."""
    server = TARGETS["engine"].start(launch, folder / "log")
    try:
        with beside(asked(["process", "perf", "cpu"], host_facts()), server, ()) as count:
            server.read_back()
            found = server.measure(count.telling(lambda *told: None), count.begin)
            return count.added_to(found).counters
    finally:
        server.stop()
