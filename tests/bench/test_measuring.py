"""How a study is measured that leaves it to Assay: its kind decides, then a pilot of both ways."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from assay.bench import Silent
from assay.bench import measuring as choice
from assay.bench.measuring import against, choose
from assay.core.errors import StudyError
from assay.plan import PlannedMeasuring
from assay.reasons import Code
from assay.record import Bundle, differences
from assay.study import Study, read
from assay.targets import TARGETS, Measured, Target
from fakes import STUDY, FakeTarget, run_fake

AUTO = STUDY.replace('window = "300ms"', 'window = "1s"')


def study_of(text: str = AUTO, budget_s: float = 600.0) -> Study:
    """A study that leaves the way to Assay."""
    return replace(read("s.toml", text, Path("."), {}, TARGETS), budget_s=budget_s)


def fake(**more: object) -> FakeTarget:
    """A fake whose servers may take turns."""
    target = FakeTarget(**more)  # type: ignore[arg-type]
    target.takes_turns = True
    return target


def chosen(study: Study, target: FakeTarget, folder: Path) -> PlannedMeasuring:
    """What is chosen, with the fake in the place of the engine."""
    return choose(study, {"engine": target}, target.clock.clocks(), folder, 7, Silent())


def writing(study: Study) -> Study:
    """The same study under a mix that writes."""
    case = replace(study.cases[0], parameters={"mix": "a"})
    return replace(study, cases=(case,))


def shaken(spread: float, in_slices: bool) -> object:
    """A script that shakes runs of one of the two ways."""

    def script(number: int, measured: Measured) -> Measured:
        sliced = any(interval.slice is not None for interval in measured.intervals)
        if sliced != in_slices:
            return measured
        factor = 1 + random.Random(number).uniform(-spread, spread)
        shown = [
            i.model_copy(update={"operations": int(i.operations * factor)})
            for i in measured.intervals
        ]
        metrics = {**measured.metrics, "throughput": measured.metrics["throughput"] * factor}
        return replace(measured, metrics=metrics, intervals=shown)

    return script


def test_a_machine_that_shakes_runs_has_slices_chosen_and_says_what_they_save(
    tmp_path: Path,
) -> None:
    """The sentence has both noises and both times."""
    found = chosen(study_of(), fake(script=shaken(0.4, in_slices=False)), tmp_path)
    assert found.chosen == "slices"
    assert found.blocks >= choice.LEAST_BLOCKS
    assert found.noise["slices"].pair_noise < 0.05 < found.noise["runs"].pair_noise
    assert found.noise["slices"].to_see_s < found.noise["runs"].to_see_s
    assert found.sentence.startswith("slices: pair noise ")
    assert " instead of " in found.sentence


def test_slices_that_are_clearly_noisier_are_not_chosen(tmp_path: Path) -> None:
    """A server that defers work into another's turn, say."""
    found = chosen(study_of(), fake(script=shaken(0.4, in_slices=True)), tmp_path)
    assert (found.chosen, found.reason.code) == ("runs", Code.LESS_NOISE)


def test_the_comparison_keeps_to_its_share_of_the_budget(tmp_path: Path) -> None:
    """And the plan takes what it spent from the budget."""
    found = chosen(study_of(budget_s=200.0), fake(), tmp_path / "b")
    assert 0 < found.took_s <= choice.SHARE * 200
    assert list(tmp_path.iterdir()) == [], "a pilot leaves nothing"


def test_a_small_budget_takes_turns_without_a_comparison(tmp_path: Path) -> None:
    """No run is made, and the reason is said."""
    target = fake()
    found = chosen(study_of(budget_s=20.0), target, tmp_path)
    assert (found.chosen, found.reason.code, target.started) == ("slices", Code.UNPILOTED, 0)


def test_a_machine_without_memory_for_all_servers_calibrates_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what one server took."""
    left = iter([10 << 30, *[6 << 30] * 1000])
    monkeypatch.setattr(choice, "available_bytes", lambda: next(left))
    found = chosen(study_of(), fake(), tmp_path)
    assert (found.chosen, found.reason.code) == ("calibrated", Code.MEMORY)
    assert "12.0 GiB" in found.sentence


def test_arms_that_cannot_start_side_by_side_make_runs(tmp_path: Path) -> None:
    """The first two runs are one after the other; then two start at once, and one fails."""
    found = chosen(study_of(), fake(broken=lambda number, launch: number == 3), tmp_path)
    assert (found.chosen, found.reason.code) == ("runs", Code.SLICES_FAILED)


def test_a_server_that_works_in_others_turns_takes_none(tmp_path: Path) -> None:
    """The pilot measures what it does while it should rest."""
    found = chosen(study_of(), fake(idle_cpus=0.3), tmp_path)
    assert (found.chosen, found.reason.code) == ("calibrated", Code.WORKED_IDLE)
    assert "0.30 CPUs" in found.sentence


def test_what_writes_through_the_page_cache_is_calibrated_where_that_narrows(
    tmp_path: Path,
) -> None:
    """A pilot compares it with plain runs, and the plan has both reasons."""
    target = fake(wandering=0.4)
    target.through_page_cache = True
    found = chosen(writing(study_of()), target, tmp_path)
    assert (found.chosen, found.reason.code) == ("calibrated", Code.LESS_NOISE)
    assert found.noise["calibrated"].pair_noise < 0.05 < found.noise["runs"].pair_noise
    assert found.no_turns is not None
    assert found.no_turns.code == Code.WRITES
    assert found.sentence.startswith("calibrated: pair noise ")
    assert "page cache" in found.sentence


def test_what_writes_is_calibrated_without_a_pilot_where_the_budget_is_small(
    tmp_path: Path,
) -> None:
    """A calibration may only narrow, so it needs none."""
    target = fake()
    target.through_page_cache = True
    found = chosen(writing(study_of(budget_s=20.0)), target, tmp_path)
    assert (found.chosen, found.reason.code) == ("calibrated", Code.UNPILOTED)


def test_the_pilot_says_how_much_of_a_slice_should_not_count(tmp_path: Path) -> None:
    """A server that answers nothing for its first 9 ms."""
    found = chosen(study_of(), fake(cold_s=0.009), tmp_path)
    assert found.lead_s == pytest.approx(0.009)
    bundle = run_fake(tmp_path / "b", fake(cold_s=0.009), study_of())
    assert bundle.plan.lead_s == pytest.approx(0.009)
    length_ms = bundle.runs()[0].intervals[0].length_ms
    assert length_ms == pytest.approx(1000 * (bundle.plan.slice_s - 0.009))


def test_runs_that_others_disturb_leave_slices(tmp_path: Path) -> None:
    """Foreign work voids runs, and meets all arms that take turns alike."""

    def busy(number: int, measured: Measured) -> Measured:
        return replace(measured, health=measured.health.model_copy(update={"foreign_cpu": 0.4}))

    found = chosen(study_of(), fake(script=busy), tmp_path)
    assert (found.chosen, found.reason.code) == ("slices", Code.RUNS_DISTURBED)


def test_what_speaks_against_turns_is_said_before_anything_runs() -> None:
    """Each by its code."""
    turning = {"engine": fake(), "rocksdb": TARGETS["rocksdb"]}
    study = study_of()
    case = replace(study.cases[0], target="rocksdb", parameters={"mix": "a"})
    reads = replace(case, parameters={"mix": "c"})

    def code(study: Study, targets: Mapping[str, Target] = turning) -> str | None:
        reason = against(study, targets)
        return reason and reason.code

    assert code(study) is None
    assert code(study, {"engine": FakeTarget()}) == Code.TOGETHER_UNSUPPORTED
    assert code(replace(study, window_s=0.06)) == Code.SHORT_WINDOW
    assert code(replace(study, counters=("vm",))) == Code.MACHINE_COUNTED
    assert code(replace(study, cases=(case,))) == Code.WRITES
    repeating = AUTO.replace('"engine.spin_hint"\non = "pause"', '"engine.repeat_every"\non = 33')
    assert repeating != AUTO
    assert code(study_of(repeating)) == Code.WHOLE_RUNS
    assert code(replace(study, cases=(reads,))) is None


def test_a_study_without_a_design_is_measured_as_the_pilot_says(tmp_path: Path) -> None:
    """The plan keeps the choice and its numbers, and the bundle verifies."""
    target = fake(
        effect=lambda settings, env: 1.3 if settings["data_cache"] == "optimistic" else 1.0,
        script=shaken(0.4, in_slices=False),
    )
    bundle = run_fake(tmp_path / "b", target, study_of())
    assert bundle.plan.measuring == "slices"
    assert bundle.plan.measured_by is not None
    assert bundle.plan.runs_budget_s == 600.0 - bundle.plan.measured_by.took_s
    assert differences(bundle) == []
    assert Bundle.open(tmp_path / "b").plan.measured_by == bundle.plan.measured_by


def test_a_design_that_is_asked_for_is_not_compared() -> None:
    """Runs stay runs; whole-machine counters refuse slices that were asked for."""
    runs = study_of(AUTO.replace('window = "1s"', 'window = "1s"\ndesign = "runs"'))
    assert runs.measuring == "runs"
    text = AUTO.replace('window = "1s"', 'window = "1s"\ndesign = "slices"\ncounters = ["vm"]')
    with pytest.raises(StudyError, match="would count all arms"):
        study_of(text)
