"""Arms that live side by side and take turns: on a fake machine, and on the real engine."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from assay.bench import prepare, run
from assay.core.errors import StudyError, VoidError
from assay.native import facts
from assay.plan import turns
from assay.record import Bundle, differences
from assay.study import Study, read
from assay.targets import TARGETS
from assay.verdict.observations import SliceSeen, worked_idle
from fakes import STUDY, FakeTarget, run_fake


def sliced(study: Study) -> Study:
    """The same study, with arms that take turns."""
    return replace(study, measuring="slices", slice_asked_s=0.05, window_s=0.5)


def speeds(seed: int, round_: int) -> float:
    """A machine that halves its speed for a third of the rounds."""
    return random.Random(f"{seed} {round_}").choice([1.0, 1.0, 0.5])


def drawn(bundle: Bundle, case: str, block: int, attempt: int, arms: int) -> tuple[int, ...]:
    """The turns of a block, as its plan draws them."""
    return turns(bundle.plan.seed, case, block, attempt, arms, bundle.plan.rounds)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A study on a machine of two speeds."""
    study = read("s.toml", STUDY, Path("."), {}, TARGETS)
    fake = FakeTarget(
        effect=lambda settings, env: 1.3 if settings["data_cache"] == "optimistic" else 1.0,
        machine=speeds,
    )
    return run_fake(tmp_path_factory.mktemp("slices") / "b", fake, sliced(study))


def test_a_machine_of_two_speeds_does_not_hide_an_effect(bundle: Bundle) -> None:
    """What a round's slices share cancels inside the block."""
    rows = {r.arm: r for r in bundle.verdicts().verdicts if r.metric == "throughput"}
    assert (rows["cache"].word, rows["hint"].word) == ("helps", "no difference")
    assert rows["cache"].high - rows["cache"].low < 0.06
    assert differences(bundle) == []


def test_all_arms_of_a_block_have_the_turns_that_the_plan_draws(bundle: Bundle) -> None:
    """From the seed, so that a reader can check them."""
    for block in (0, 1):
        runs = [r for r in bundle.runs() if r.block == block]
        order = drawn(bundle, runs[0].case, block, 0, len(runs))
        assert len(order) == len(runs) * bundle.plan.rounds
        for arm, record in enumerate(runs):
            own = [turn for turn, of in enumerate(order) if of == arm]
            assert [i.slice.turn for i in record.intervals] == own


def test_every_round_is_a_permutation_and_they_differ(bundle: Bundle) -> None:
    """Uniform, and drawn anew for each round, block and attempt."""
    order = drawn(bundle, "engine", 3, 0, 3)
    rounds = [order[i : i + 3] for i in range(0, len(order), 3)]
    assert all(sorted(each) == [0, 1, 2] for each in rounds)
    assert len(set(rounds)) > 1
    assert order != drawn(bundle, "engine", 4, 0, 3) != drawn(bundle, "engine", 4, 1, 3)


def test_an_arm_that_fails_spoils_the_block_and_is_named(tmp_path: Path, study: Study) -> None:
    """The case is run again; if it never works, the study stops and says why."""
    fake = FakeTarget(broken=lambda number, launch: launch.settings["data_cache"] == "optimistic")
    with pytest.raises(VoidError, match="arm cache: the fake server did not start"):
        run_fake(tmp_path / "b", fake, sliced(study))
    records = Bundle.open(tmp_path / "b").runs()
    assert {r.status for r in records} == {"void"}
    assert len(records) == 4, "one for each attempt"


def test_a_block_that_was_spoiled_once_is_made_again(tmp_path: Path, study: Study) -> None:
    """With new turns, and the study goes on."""
    fake = FakeTarget(broken=lambda number, launch: number == 4)
    bundle = run_fake(tmp_path / "b", fake, sliced(study))
    records = bundle.runs()
    assert [r.status for r in records].count("void") == 1
    assert differences(bundle) == []
    again = next(r for r in records if r.attempt == 1)
    order = drawn(bundle, again.case, again.block, 1, 3)
    assert [i.slice.turn for i in again.intervals] == [
        turn for turn, arm in enumerate(order) if arm == again.slot
    ]


def test_rounds_in_which_a_server_worked_while_it_should_rest_do_not_count() -> None:
    """Those on both sides of the rest: it took time from one, and prepared the other."""
    busy, idle = (SliceSeen({}, 0.0, idle_cpus=cpus) for cpus in (0.02, 0.0))
    rounds = [(idle, idle), (idle, idle), (idle, busy), (idle, idle)]
    assert worked_idle(rounds) == {1, 2}
    assert worked_idle([(idle, idle)]) == set()


def test_a_study_of_servers_that_work_in_others_turns_keeps_what_runs_say(
    tmp_path: Path, study: Study
) -> None:
    """No round is left, so whole runs are compared; the bundle verifies."""
    bundle = run_fake(tmp_path / "b", FakeTarget(idle_cpus=0.2), sliced(study))
    assert all(r.status == "ok" for r in bundle.runs())
    assert differences(bundle) == []


def test_calibrated_runs_see_through_a_machine_that_wanders(tmp_path: Path, study: Study) -> None:
    """Plain runs of the same machine stay undecided, or have a far wider interval."""
    words = {}
    for way in ("calibrated", "runs"):
        fake = FakeTarget(
            effect=lambda settings, env: 1.3 if settings["data_cache"] == "optimistic" else 1.0,
            wandering=0.4,
        )
        bundle = run_fake(tmp_path / way, fake, replace(sliced(study), measuring=way))
        assert differences(bundle) == []
        rows = {r.arm: r for r in bundle.verdicts().verdicts if r.metric == "throughput"}
        words[way] = rows["cache"].word, rows["cache"].high - rows["cache"].low
        slices = [i.slice for r in bundle.runs() for i in r.intervals]
        assert all((s is not None and s.calibration is not None) == (way != "runs") for s in slices)
    assert words["calibrated"][0] == "helps"
    assert words["calibrated"][1] < words["runs"][1] / 2


def test_what_changes_the_machine_is_refused() -> None:
    """Arms that live at the same time share it."""
    text = STUDY.replace('window = "300ms"', 'window = "1s"\ndesign = "slices"')
    command = text.replace(
        'change = "engine.spin_hint"\non = "pause"',
        'change = "command"\n[factor.levels.off]\napply = ["true"]\nundo = ["true"]\n'
        'witness = ["echo", "x"]\nexpect = "x"\n[factor.levels.on]\napply = ["true"]\n'
        'undo = ["true"]\nwitness = ["echo", "x"]\nexpect = "x"\n',
    )
    with pytest.raises(StudyError, match="changes the machine"):
        read("s.toml", command, Path("."), {}, TARGETS)
    short = text.replace('window = "1s"', 'window = "60ms"')
    with pytest.raises(StudyError, match="fewer than 4 slices"):
        read("s.toml", short, Path("."), {}, TARGETS)


REAL = """
name = "turns"
question = "Do arms take turns?"
[target]
kind = "micro"
threads = 1
[workload]
kind = "lock"
[measure]
primary = "throughput"
warmup = "20ms"
window = "200ms"
design = "slices"
slice = "20ms"
[[factor]]
name = "lock"
change = "engine.lock"
on = "futex"
[design]
kind = "one-at-a-time"
[decide]
smallest = "50%"
margin = "50%"
budget = "60s"
"""


@pytest.mark.server
def test_the_engine_is_calibrated(tmp_path: Path) -> None:
    """One arm after the other, with the machine's speed beside each slice."""
    text = REAL.replace('design = "slices"', 'design = "calibrated"')
    study = read("s.toml", text, tmp_path, {}, TARGETS)
    bundle = prepare(study, tmp_path / "b", facts().model_dump(), base=tmp_path, seed=3)
    run(bundle)
    first = [r for r in bundle.runs() if r.block == 0]
    runs = [r for r in first if r.attempt == first[-1].attempt]
    assert [r.status for r in runs] == ["ok", "ok"]
    slices = [i.slice for r in runs for i in r.intervals]
    assert len(slices) == 2 * bundle.plan.rounds
    assert all(s is not None and s.calibration is not None and s.calibration > 0 for s in slices)
    assert differences(bundle) == []


@pytest.mark.server
def test_the_engine_takes_turns(tmp_path: Path) -> None:
    """Real processes on a real board; their slices follow each other and do not overlap."""
    study = read("s.toml", REAL, tmp_path, {}, TARGETS)
    bundle = prepare(study, tmp_path / "b", facts().model_dump(), base=tmp_path, seed=3)
    run(bundle)
    runs = [r for r in bundle.runs() if r.block == 0]
    assert [r.status for r in runs] == ["ok", "ok"]
    held = sorted(i.slice.turn for r in runs for i in r.intervals)
    assert held == list(range(2 * bundle.plan.rounds))
    assert all(r.operations > 0 for r in runs)
    assert differences(bundle) == []
