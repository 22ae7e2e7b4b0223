"""Running a study on a fake target: exact, instant, and interruptible at any moment."""

from __future__ import annotations

import json
import random
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from assay.bench import Silent, prepare, run
from assay.core import interrupt
from assay.core.errors import AlteredError, MissingError, RestoreError, VoidError
from assay.record import Bundle, Replay, differences, replayed
from assay.study import Study, arms
from assay.targets import Measured
from assay.undo.journal import Journal
from fakes import COMMAND, FACTS, STUDY, FakeTarget, run_fake, throttled


def rows(bundle: Bundle) -> dict[str, str]:
    """The word of each arm."""
    return {r.arm: r.word for r in bundle.verdicts().verdicts if r.metric == "throughput"}


class Killed(BaseException):
    """Stands for kill -9: nothing in Assay catches it."""


class Killer(Silent):
    """Kills the study when a run ends, or in the middle of its window."""

    def __init__(self, after: int, midway: bool) -> None:
        self.left, self.midway = after, midway

    def ran(self, record, replay) -> None:
        self.left -= 1
        if self.left <= 0 and not self.midway:
            raise Killed

    def running(self, step, operations, spent_s) -> None:
        if self.left <= 0 and self.midway and operations:
            raise Killed


def measured(bundle: Bundle) -> list[dict]:
    """The runs without what time of day they were made."""
    text = (bundle.folder / "runs.jsonl").read_text()
    drop = ("started", "digest", "took_s")
    return [{k: v for k, v in json.loads(x).items() if k not in drop} for x in text.splitlines()]


def test_what_helps_is_found_and_what_does_not_is_called_no_difference(finished: Bundle) -> None:
    """A 30 % gain and a change that changes nothing."""
    assert rows(finished) == {"hint": "no difference", "cache": "helps"}
    cache = next(r for r in finished.verdicts().verdicts if r.arm == "cache")
    assert cache.low < 0.3 < cache.high
    assert finished.verdicts().recommended == "cache"


def test_a_decided_arm_leaves_the_schedule(finished: Bundle) -> None:
    """The last block has only what was still open, and the baseline."""
    last = [r.arm for r in finished.runs() if r.block == finished.verdicts().blocks - 1]
    first = [r.arm for r in finished.runs() if r.block == 0]
    assert sorted(first) == ["baseline", "cache", "hint"]
    assert "baseline" in last
    assert len(last) <= len(first)


def test_every_run_follows_the_plan_written_beforehand(finished: Bundle) -> None:
    """Block by block, the order on disk."""
    for block, order in enumerate(finished.plan.schedule[:8]):
        ran = [r.arm for r in finished.runs() if r.block == block]
        assert ran == [s.arm for s in order]


def test_all_runs_of_a_block_get_the_same_inputs(tmp_path: Path, study, fake: FakeTarget) -> None:
    """And each block new ones."""
    seeds: list[int] = []
    start = fake.start
    fake.start = lambda launch, log: (seeds.append(launch.seed), start(launch, log))[1]
    run_fake(tmp_path / "b", fake, study)
    blocks = [seeds[i : i + 3] for i in range(0, 24, 3)]
    assert all(len(set(b)) == 1 for b in blocks)
    assert len({b[0] for b in blocks}) == len(blocks)


@pytest.mark.parametrize("midway", [False, True])
@pytest.mark.parametrize("draw", range(5))
def test_a_killed_study_goes_on_as_if_it_had_not_been(
    tmp_path: Path, study, fake: FakeTarget, finished: Bundle, draw: int, midway: bool
) -> None:
    """Killed at random moments, resumed each time: the same runs, none twice, none missing."""
    targets, clocks = {"engine": fake}, fake.clock.clocks()
    bundle = prepare(study, tmp_path / "b", FACTS, base=Path("."), seed=7, targets=targets)
    plan = (bundle.folder / "plan.json").read_bytes()
    moments = random.Random(draw)
    for _ in range(200):
        try:
            opened = Bundle.open(bundle.folder)
            run(opened, Killer(moments.randint(1, 9), midway), targets=targets, clocks=clocks)
        except Killed:
            continue
        break
    assert measured(bundle) == measured(finished)
    assert (bundle.folder / "plan.json").read_bytes() == plan
    assert differences(bundle) == []
    assert fake.started == fake.stopped


def test_ctrl_c_keeps_what_is_done_and_says_so(tmp_path: Path, study, fake: FakeTarget) -> None:
    """The verdicts so far are written and can be verified; the study can go on."""

    class Impatient(Silent):
        def running(self, step, operations, spent_s) -> None:
            if step.block == 4 and operations:
                raise KeyboardInterrupt

    targets, clocks = {"engine": fake}, fake.clock.clocks()
    bundle = prepare(study, tmp_path / "b", FACTS, base=Path("."), seed=7, targets=targets)
    with pytest.raises(KeyboardInterrupt):
        run(bundle, Impatient(), targets=targets, clocks=clocks)
    assert fake.started == fake.stopped
    assert bundle.verdicts().stopped == "you stopped it"
    assert differences(bundle) == []
    run(Bundle.open(bundle.folder), targets=targets, clocks=clocks)
    assert bundle.verdicts().stopped == ""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_inside_of_a_finaliser_stops_the_study_too(
    tmp_path: Path, study, fake: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Python prints the exception and goes on: before the next run at the latest."""

    class Finalised:
        def __del__(self) -> None:
            interrupt.hear(signal.SIGINT, None)

    class Collected(Silent):
        def running(self, step, operations, spent_s) -> None:
            if step.block == 4 and operations:
                Finalised()

    monkeypatch.setattr(interrupt, "_asked", False)
    targets, clocks = {"engine": fake}, fake.clock.clocks()
    bundle = prepare(study, tmp_path / "b", FACTS, base=Path("."), seed=7, targets=targets)
    with pytest.raises(KeyboardInterrupt):
        run(bundle, Collected(), targets=targets, clocks=clocks)
    assert bundle.runs()[-1].block == 4
    assert bundle.verdicts().stopped == "you stopped it"


def test_a_run_that_is_kept_as_the_study_is_stopped_is_in_its_verdicts(
    tmp_path: Path, study, fake: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between the line on the disk and its being taken in."""
    append = Bundle.append

    def stopping(bundle: Bundle, record):
        kept = append(bundle, record)
        if record.run == 5:
            raise KeyboardInterrupt
        return kept

    monkeypatch.setattr(Bundle, "append", stopping)
    with pytest.raises(KeyboardInterrupt):
        run_fake(tmp_path / "b", fake, study)
    bundle = Bundle.open(tmp_path / "b")
    assert bundle.verdicts().runs == 6
    assert differences(bundle) == []


def test_what_is_missing_in_the_middle_says_how_to_go_on(
    tmp_path: Path, study, fake: FakeTarget
) -> None:
    """A disk that fills up, say: the bundle is kept, and resumed by its path."""

    def full(number: int, measured):
        if number == 4:
            raise MissingError("no room", next_step="make room")
        return measured

    fake.script = full
    with pytest.raises(MissingError) as caught:
        run_fake(tmp_path / "b", fake, study)
    assert caught.value.next_step == (
        f"make room; then go on with `assay run --resume {tmp_path / 'b'}`"
    )
    assert fake.started == fake.stopped
    fake.script = lambda number, measured: measured
    targets, clocks = {"engine": fake}, fake.clock.clocks()
    bundle = Bundle.open(tmp_path / "b")
    run(bundle, targets=targets, clocks=clocks)
    assert differences(bundle) == []


def test_a_throttled_client_voids_its_block_which_is_run_again(
    tmp_path: Path, study, fake: FakeTarget
) -> None:
    """The void run stays in the file, is counted, and never enters a verdict."""
    fake.script = lambda number, m: throttled(m) if number == 4 else m
    bundle = run_fake(tmp_path / "b", fake, study)
    void = [r for r in bundle.runs() if r.status == "void"]
    assert len(void) == 1
    assert "the client was the limit" in void[0].reason
    assert sum(bundle.verdicts().voids.values()) == 1
    again = [r for r in bundle.runs() if r.block == void[0].block and r.attempt == 1]
    assert sorted(r.arm for r in again) == ["baseline", "cache", "hint"]
    assert differences(bundle) == []


def test_a_void_run_repeats_its_own_case_and_no_other(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """What is left of the case is not run, the others are; then the case again, whole."""
    bundle = run_fake(tmp_path / "b", throttling(fake, 7), two_cases(read_study))
    runs = bundle.runs()
    (void,) = [r for r in runs if r.status == "void"]
    assert (void.block, void.run) == (1, 7)
    mine = [r for r in runs if r.block == void.block]
    other = [r for r in mine if r.case != void.case]
    again = [r for r in mine if r.attempt == 1]
    assert [r.attempt for r in other] == [0, 0, 0]
    assert sorted((r.case, r.arm) for r in again) == [
        (void.case, arm) for arm in ("baseline", "cache", "hint")
    ]
    assert mine[-3:] == again
    assert len(mine) == len(other) + len(again) + 1 + len(
        [r for r in mine if r.case == void.case and r.attempt == 0 and r.status == "ok"]
    )
    assert differences(bundle) == []


def test_a_case_that_is_void_again_does_not_take_another_with_it(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """Both cases void in one attempt: both are repeated, and then only the one that must be."""
    fake.script = lambda number, m: throttled(m) if 6 <= number <= 10 else m
    bundle = run_fake(tmp_path / "b", fake, two_cases(read_study))
    first = [r for r in bundle.runs() if r.block == 1]
    void = [(r.attempt, r.case) for r in first if r.status == "void"]
    assert len(set(void)) == len(void), "a case that is void goes no further in its attempt"
    last = {case: max(r.attempt for r in first if r.case == case) for case in "ab"}
    for case, attempt in last.items():
        assert [a for a, c in void if c == case] == list(range(attempt))
    assert differences(bundle) == []


def throttling(fake: FakeTarget, run_number: int) -> FakeTarget:
    """The target whose client is too slow in one run."""
    fake.script = lambda number, m: throttled(m) if number == run_number else m
    return fake


def two_cases(read_study) -> Study:
    """The study over two mixes."""
    text = STUDY.replace('[target]\nkind = "engine"\n', "", 1)
    text = text.replace('[workload]\nkind = "ycsb"\n', "")
    text += "".join(
        f'\n[[case]]\nname = "{m}"\ntarget = {{kind = "engine"}}\n'
        f'workload = {{kind = "ycsb", mix = "{m}"}}\n'
        for m in "ab"
    )
    return read_study(text, decide__budget="3min")


def test_a_client_that_stays_throttled_stops_the_study(
    tmp_path: Path, study, fake: FakeTarget
) -> None:
    """Exit code 4 after three repetitions, saying what disturbed it."""
    fake.script = lambda number, m: throttled(m) if number >= 4 else m
    with pytest.raises(VoidError, match=r"void 4 times; .*the client was the limit") as caught:
        run_fake(tmp_path / "b", fake, study)
    assert caught.value.exit_code == 4
    bundle = Bundle.open(tmp_path / "b")
    assert len([r for r in bundle.runs() if r.status == "void"]) == 4
    assert set(rows(bundle).values()) == {"undecided"}


def test_a_machine_that_never_gets_quiet_is_measured_as_it_is(
    tmp_path: Path, study, fake: FakeTarget
) -> None:
    """The first block is void three times; the last repetition and all that follows count, with a
    warning that says how busy the machine was."""

    def busy(number: int, measured: Measured) -> Measured:
        return replace(measured, health=measured.health.model_copy(update={"foreign_cpu": 0.5}))

    fake.script = busy
    bundle = run_fake(tmp_path / "b", fake, study)
    runs = bundle.runs()
    assert {r.block for r in runs if r.status == "void"} == {0}
    assert {r.attempt for r in runs if r.status == "void"} == {0, 1, 2}
    assert all(r.attempt == 0 for r in runs if r.block)
    (warning,) = [w for w in bundle.verdicts().warnings if "never got quiet" in w]
    assert "0.50 CPUs" in warning
    assert rows(bundle)["cache"] == "helps"
    assert differences(bundle) == []


def test_a_study_that_was_void_too_often_goes_on_when_it_is_resumed(
    tmp_path: Path, study, fake: FakeTarget
) -> None:
    """As it says itself: on a quiet machine the block is tried again, four times at most."""
    fake.script = lambda number, m: throttled(m) if number >= 4 else m
    with pytest.raises(VoidError, match="void 4 times"):
        run_fake(tmp_path / "b", fake, study)
    bundle, seams = Bundle.open(tmp_path / "b"), {"targets": {"engine": fake}}
    seams["clocks"] = fake.clock.clocks()
    with pytest.raises(VoidError, match="void 8 times"):
        run(bundle, **seams)
    fake.script = lambda number, m: m
    run(bundle, **seams)
    assert len([r for r in bundle.runs() if r.status == "void"]) == 8
    assert not bundle.verdicts().stopped
    assert differences(bundle) == []


def test_a_failed_run_is_tried_once_more_and_then_missing(
    tmp_path: Path, study, fake: FakeTarget
) -> None:
    """At the end of its block; the contrast loses that block, and the failure is counted."""
    fake.broken = lambda number, launch: number in (1, 3, 7)
    bundle = run_fake(tmp_path / "b", fake, study)
    first = [r for r in bundle.runs() if r.block == 0]
    assert [r.status for r in first] == ["ok", "failed", "ok", "failed"]
    assert first[3].retry
    assert first[3].arm == first[1].arm
    second = [r for r in bundle.runs() if r.block == 1]
    assert [r.status for r in second] == ["ok", "ok", "ok"] or second[-1].retry
    assert sum(bundle.verdicts().failures.values()) == 3
    assert differences(bundle) == []


def test_a_block_in_which_everything_failed_ends_the_study(
    tmp_path: Path, study, fake: FakeTarget
) -> None:
    """Nothing is measured for half an hour on a server that does not start."""
    fake.broken = lambda number, launch: True
    with pytest.raises(VoidError, match="every run of block 0 failed: the fake server"):
        run_fake(tmp_path / "b", fake, study)
    assert fake.started == 6


def test_a_change_without_its_witness_is_invalid_at_once(
    tmp_path: Path, study, fake: FakeTarget, read_study
) -> None:
    """The server read back another padding than it was given."""
    fake.lies = {"lock_stride_bytes": 8}
    text = STUDY.replace("engine.spin_hint", "engine.padding").replace('on = "pause"', "on = 64")
    bundle = run_fake(tmp_path / "b", fake, read_study(text))
    row = next(r for r in bundle.verdicts().verdicts if r.arm == "hint")
    assert row.word == "invalid"
    assert "lock_stride_bytes is 8, not 64" in row.reason
    assert row.blocks <= 8
    assert bundle.verdicts().recommended != "hint"


def test_a_dose_of_zero_says_not_exercised(tmp_path: Path, fake: FakeTarget, read_study) -> None:
    """A hint for waiters, where nobody ever waits, claims no cause."""
    start, end = STUDY.index('[[factor]]\nname = "cache"'), STUDY.index("[design]")
    text = (STUDY[:start] + STUDY[end:]).replace(
        'kind = "engine"', 'kind = "engine"\ndata_cache = "optimistic"'
    )
    bundle = run_fake(tmp_path / "b", fake, read_study(text))
    row = next(r for r in bundle.verdicts().verdicts if r.arm == "hint")
    assert row.reason.startswith("not exercised: the dose of hint was 0")


def test_what_the_host_lacks_is_said_before_anything_starts(
    tmp_path: Path, study, fake: FakeTarget, read_study
) -> None:
    """Exit code 3 with the command that would mend it; or left out where the study says skip."""
    fake.lacking = lambda launch: "no pages" if launch.settings["pages"] != "4k" else ""
    text = STUDY.replace("engine.spin_hint", "engine.pages").replace('"pause"', '"hugetlb-2m"')
    with pytest.raises(MissingError, match="arm hint: no pages") as caught:
        run_fake(tmp_path / "b", fake, read_study(text))
    assert caught.value.exit_code == 3
    assert "sysctl" in caught.value.next_step
    assert fake.started == 0
    assert not (tmp_path / "b").exists()
    skipping = text.replace('name = "hint"', 'name = "hint"\nabsent = "skip"')
    bundle = run_fake(tmp_path / "b", fake, read_study(skipping))
    assert [a.name for a in bundle.plan.arms] == ["baseline", "cache"]
    assert bundle.verdicts().absent[0].why == "no pages"


def command_study(tmp_path: Path, read_study):
    spelled = COMMAND.format(d=tmp_path)
    return read_study(STUDY.replace('change = "engine.spin_hint"\non = "pause"', spelled))


def test_commands_are_applied_witnessed_and_undone_around_every_run(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """Nothing half-applied stays behind."""
    bundle = run_fake(tmp_path / "b", fake, command_study(tmp_path, read_study))
    assert not (tmp_path / "on").exists()
    assert not (tmp_path / "off").exists()
    run_on = next(r for r in bundle.runs() if r.arm == "hint")
    assert run_on.witness["hint"].held
    assert str(tmp_path / "on") in run_on.witness["hint"].evidence


def test_a_command_left_applied_by_a_crash_is_undone_on_resume(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """Before any run is made; and if it cannot be undone, that is exit code 5."""
    study = command_study(tmp_path, read_study)
    targets, clocks = {"engine": fake}, fake.clock.clocks()
    bundle = prepare(study, tmp_path / "b", FACTS, base=Path("."), seed=7, targets=targets)
    undo = ["rm", str(tmp_path / "on")]
    Journal(bundle.folder / "journal.jsonl").append("applying", factor="hint", undo=undo)
    with pytest.raises(RestoreError, match="could not be undone: hint: rm") as caught:
        run(Bundle.open(bundle.folder), targets=targets, clocks=clocks)
    assert caught.value.exit_code == 5
    assert fake.started == 0
    (tmp_path / "on").touch()
    run(Bundle.open(bundle.folder), targets=targets, clocks=clocks)
    assert not (tmp_path / "on").exists()


def test_a_command_that_the_study_does_not_name_is_never_run(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """A bundle may come from anybody; its journal is no way to run a program."""
    study = command_study(tmp_path, read_study)
    targets, clocks = {"engine": fake}, fake.clock.clocks()
    bundle = prepare(study, tmp_path / "b", FACTS, base=Path("."), seed=7, targets=targets)
    undo = ["touch", str(tmp_path / "strange")]
    Journal(bundle.folder / "journal.jsonl").append("applying", factor="hint", undo=undo)
    with pytest.raises(RestoreError, match="the study does not name: touch"):
        run(Bundle.open(bundle.folder), targets=targets, clocks=clocks)
    assert fake.started == 0
    assert not (tmp_path / "strange").exists()


def test_full_runs_every_planned_block_of_every_arm(
    tmp_path: Path, study, fake: FakeTarget
) -> None:
    """No arm leaves early; one look at the end."""
    bundle = run_fake(tmp_path / "b", fake, study, full=True)
    verdicts = bundle.verdicts()
    assert verdicts.blocks == verdicts.planned.blocks
    assert verdicts.runs == 3 * verdicts.blocks
    assert rows(bundle)["cache"] == "helps"


def test_a_stand_in_is_labelled_in_the_verdicts(tmp_path: Path, study, fake: FakeTarget) -> None:
    """Wherever the answer goes, the label goes."""
    fake.stand_in = "a small imitation"
    bundle = run_fake(tmp_path / "b", fake, study)
    assert bundle.verdicts().stand_ins == ["a small imitation"]
    assert any("stand-in" in w for w in bundle.verdicts().warnings)


def test_two_cases_get_a_verdict_each_and_one_for_the_suite(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """Blocks hold every arm of every case."""
    bundle = run_fake(tmp_path / "b", fake, two_cases(read_study))
    cases = {r.case for r in bundle.verdicts().verdicts if r.arm == "cache"}
    assert cases == {"a", "b", "suite"}
    assert len(bundle.plan.schedule[0]) == 2 * len(arms(read_study()))
    assert differences(bundle) == []


def test_a_replay_refuses_a_run_that_the_schedule_does_not_have(finished: Bundle) -> None:
    """A run of another arm in that place."""
    replay = Replay(finished.plan)
    first, second = finished.runs()[:2]
    with pytest.raises(AlteredError, match="not what the schedule has there"):
        replay.add(second)
    replay.add(first)


def test_an_incomplete_run_is_not_recorded(tmp_path: Path, study, fake: FakeTarget) -> None:
    """A server that was told to end early gives no observation."""
    fake.script = lambda number, m: replace(m, complete=False) if number == 5 else m
    with pytest.raises(KeyboardInterrupt):
        run_fake(tmp_path / "b", fake, study)
    assert len(replayed(Bundle.open(tmp_path / "b")).records) == 5
