"""The pilot on a fake target that starts slow: what it chooses, writes, refuses and leaves."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from assay.bench import Silent, pilot_alone, prepare, require_no_pilot, run
from assay.bench.commands import CommandJournal, undo_commands
from assay.core.errors import BundleError, InputError, StudyError, VoidError
from assay.plan import workload_seed
from assay.record import Bundle, differences
from assay.stats.warmup import run_windows
from assay.study import AUTO_TIMES, arms
from assay.study.phases import planned_screen
from assay.targets import Launch, Measured
from assay.undo.journal import Journal
from fakes import COMMAND, FACTS, STUDY, FakeTarget, run_fake, throttled

AUTO = STUDY.replace('"100ms"', '"auto"').replace('window = "300ms"', 'window = "auto"')
AUTO = AUTO.replace('budget = "60s"', 'budget = "5min"')


def slow_start(tau_s: float):
    """30 % slow at first, settling exponentially; the lock-free cache takes twice as long."""

    def share(launch: Launch, seconds: float) -> float:
        tau = tau_s * (2 if launch.settings["data_cache"] == "optimistic" else 1)
        return 1 - 0.3 * math.exp(-seconds / tau)

    return share


@pytest.fixture
def slow(fake: FakeTarget) -> FakeTarget:
    """The fake engine with a slow start (50 and 100 ms) and a load of 0.4 s."""
    fake.warming, fake.load_s = slow_start(0.05), 0.4
    return fake


class Killed(BaseException):
    """Stands for kill -9: nothing in Assay catches it."""


class Telling(Silent):
    """Keeps what it is told of a pilot."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int, float]] = []
        self.found: list = []
        self.waits = 0

    def piloting(self, done: int, total: int, left_s: float) -> None:
        self.told.append((done, total, left_s))

    def piloted(self, found) -> None:
        self.found.append(found)

    def waiting(self, foreign_cpus: float, spent_s: float, limit_s: float) -> None:
        self.waits += 1


def look(study, fake: FakeTarget, **options):
    """A pilot of a study, alone."""
    targets, clocks = {"engine": fake}, fake.clock.clocks()
    return pilot_alone(study, FACTS, 7, targets=targets, clocks=clocks, **options)


def test_an_auto_study_is_run_with_the_times_that_its_pilot_chose(
    tmp_path: Path, slow: FakeTarget, read_study
) -> None:
    """Fixed and equal for every run; the pilot stands in the plan, and the bundle verifies."""
    launches: list[Launch] = []
    start = slow.start
    slow.start = lambda launch, log: (launches.append(launch), start(launch, log))[1]
    bundle = run_fake(tmp_path / "b", slow, read_study(AUTO))
    plan = bundle.plan
    assert plan.pilot is not None
    assert plan.pilot.chosen == ["warmup", "window"]
    assert (plan.warmup_s, plan.window_s) == (plan.pilot.warmup_s, plan.pilot.window_s)
    pilots, counted = launches[:9], launches[9:]
    assert {(p.warmup_s, p.window_s, p.interval_s) for p in pilots} == {(0.0, 2.0, 0.005)}
    assert {(c.warmup_s, c.window_s) for c in counted} == {(plan.warmup_s, plan.window_s)}
    assert len(counted) == len(bundle.runs())
    assert differences(bundle) == []
    words = {r.arm: r.word for r in bundle.verdicts().verdicts if r.metric == "throughput"}
    assert words["cache"] == "helps"


def test_the_warmup_is_half_as_much_again_as_the_slowest_run_took(
    slow: FakeTarget, read_study
) -> None:
    """The lock-free cache's, which starts slowest; every run's cut is told."""
    found = look(read_study(AUTO), slow)
    [case] = found.cases
    cuts = {a.arm: a.cuts_s for a in case.arms}
    assert [len(c) for c in cuts.values()] == [3, 3, 3]
    assert min(cuts["cache"]) > max(cuts["baseline"])
    assert 0.25 <= max(cuts["cache"]) <= 0.6
    assert found.warmup_s == pytest.approx(1.5 * max(cuts["cache"]), abs=0.01)
    assert found.warning is None
    assert 0.3 * math.exp(-found.warmup_s / 0.1) < 0.01


def test_the_window_follows_from_noise_inside_and_between_runs(
    slow: FakeTarget, read_study
) -> None:
    """Recomputable from the plan; runs alike make it longer, runs apart make it shorter."""
    slow.ripple, lengths = 0.2, []
    for noise in (0.1, 0.01, 0.003):
        slow.noise = noise
        found = look(read_study(AUTO, decide__budget="20min"), slow)
        [case] = found.cases
        assert case.overhead_s == pytest.approx(0.4, abs=0.001)
        assert case.inside_variance == pytest.approx(0.04, rel=0.3)
        assert case.intervals == run_windows(
            case.inside_variance,
            case.between_variance,
            case.overhead_s + found.warmup_s,
            found.interval_s,
        )
        assert found.window_s == pytest.approx(
            max(0.3, case.intervals * found.interval_s), abs=0.011
        )
        lengths.append(found.window_s)
    assert lengths[0] == 0.3
    assert lengths == sorted(lengths)
    assert lengths[2] > lengths[0]


def test_only_what_is_auto_is_chosen(tmp_path: Path, slow: FakeTarget, read_study) -> None:
    """A written time stays; a written window makes the pilot's runs five times as long."""
    warm = run_fake(tmp_path / "a", slow, read_study(AUTO, measure__window="500ms")).plan
    assert warm.pilot.chosen == ["warmup"]
    assert warm.window_s == warm.pilot.window_s == 0.5
    assert warm.warmup_s > 0.3
    assert warm.pilot.length_s == 2.5
    long = run_fake(tmp_path / "b", slow, read_study(AUTO, measure__warmup="800ms")).plan
    assert long.pilot.chosen == ["window"]
    assert long.warmup_s == long.pilot.warmup_s == 0.8
    plain = run_fake(tmp_path / "c", slow, read_study()).plan
    assert plain.pilot is None


def test_a_pilot_runs_in_blocks_of_random_order_with_inputs_of_their_own(
    slow: FakeTarget, read_study
) -> None:
    """The same inputs for all arms of a block; none that a run of the study gets."""
    seen: list[tuple[int, str]] = []
    start = slow.start
    slow.start = lambda launch, log: (
        seen.append((launch.seed, f"{launch.settings['data_cache']} {launch.settings['hint']}")),
        start(launch, log),
    )[1]
    look(read_study(AUTO), slow)
    blocks = [seen[i : i + 3] for i in range(0, 9, 3)]
    assert all(len({arm for _, arm in b}) == 3 and len({s for s, _ in b}) == 1 for b in blocks)
    assert len({tuple(arm for _, arm in b) for b in blocks}) > 1
    assert not {s for s, _ in seen} & {workload_seed(7, b) for b in range(400)}


def test_runs_are_made_longer_until_they_settle(slow: FakeTarget, read_study) -> None:
    """A start of 3 s is not over in runs of 2 s; those of 8 s, or 32, show its end."""
    slow.warming = slow_start(3.0)
    found = look(read_study(AUTO, decide__budget="2h"), slow)
    assert found.length_s > 8
    assert found.runs > 9
    assert found.warning is None
    assert found.warmup_s > 6


def test_a_start_longer_than_the_pilot_can_afford_is_said(
    tmp_path: Path, slow: FakeTarget, read_study
) -> None:
    """In the plan, in the verdicts' warnings; the study goes on with what was seen."""
    slow.warming = slow_start(3.0)
    bundle = run_fake(tmp_path / "b", slow, read_study(AUTO, decide__budget="3min"))
    assert bundle.plan.pilot.unsettled
    assert any("the warm-up may be too short" in w for w in bundle.verdicts().warnings)


def test_a_pilot_takes_at_most_its_share_of_the_budget(
    tmp_path: Path, slow: FakeTarget, read_study
) -> None:
    """Its runs are shorter where that is little, and the study has what is left."""
    for budget in (60, 120, 300, 1200):
        text = read_study(AUTO, decide__budget=f"{budget}s")
        options = {"base": Path("."), "targets": {"engine": slow}, "clocks": slow.clock.clocks()}
        before = slow.clock.now
        plan = prepare(text, tmp_path / str(budget), FACTS, **options).plan
        spent = slow.clock.now - before
        assert plan.pilot.took_s == pytest.approx(spent, abs=0.001)
        assert spent <= 0.15 * budget
        assert plan.pilot.length_s == pytest.approx(min(2.0, 0.15 * budget / 9 - 0.4), abs=0.002)
        assert plan.runs_budget_s == pytest.approx(budget - spent, abs=0.001)
        assert plan.budget_s == budget


def test_a_budget_too_small_for_a_pilot_is_a_mistake_of_the_file(read_study, slow) -> None:
    """Told with its line before anything starts; written times do not need one."""
    with pytest.raises(StudyError, match="budget too small for a pilot"):
        read_study(AUTO, decide__budget="50s")
    read_study(STUDY, decide__budget="50s")


def test_times_that_the_budget_cannot_pay_are_refused(
    tmp_path: Path, slow: FakeTarget, read_study
) -> None:
    """A tail of a slow server needs a window so long that nothing could be decided."""
    slow.effect = lambda settings, env: 0.05
    text = AUTO.replace('"throughput"', '"latency_p999"').replace('["latency_p99"]', "[]")
    study = read_study(text, decide__budget="60s")
    with pytest.raises(InputError, match="which a pilot found, the 24 runs before") as caught:
        run_fake(tmp_path / "b", slow, study)
    assert not (tmp_path / "b").exists()
    assert "budget" in caught.value.next_step


def test_progress_is_told_with_the_time_left(slow: FakeTarget, read_study) -> None:
    """From the first run to the last, and then what was found."""
    watcher = Telling()
    found = look(read_study(AUTO), slow, watcher=watcher)
    assert watcher.told[0] == (0, 9, pytest.approx(9 * 2.4))
    assert watcher.told[-1] == (9, 9, 0.0)
    assert [d for d, _, _ in watcher.told] == sorted(d for d, _, _ in watcher.told)
    assert watcher.found == [found]


def test_a_machine_that_never_gets_quiet_has_a_pilot_all_the_same(
    slow: FakeTarget, read_study
) -> None:
    """One run is made four times; from there on they are taken as they are."""

    def busy(number: int, measured: Measured) -> Measured:
        return replace(measured, health=measured.health.model_copy(update={"foreign_cpu": 0.5}))

    slow.script = busy
    watcher = Telling()
    found = look(read_study(AUTO), slow, watcher=watcher)
    assert (watcher.waits, found.runs, slow.started) == (3, 9, 12)


def test_a_disturbed_run_is_made_again_and_given_up_after_four(
    tmp_path: Path, slow: FakeTarget, read_study
) -> None:
    """After waiting for a quiet machine; the same limit as in the study."""
    slow.script = lambda number, m: throttled(m) if number == 4 else m
    watcher = Telling()
    found = look(read_study(AUTO), slow, watcher=watcher)
    assert (watcher.waits, found.runs, slow.started) == (1, 9, 10)
    slow.script = lambda number, m: throttled(m)
    with pytest.raises(VoidError, match=r"disturbed 4 times: .*the client was the limit"):
        run_fake(tmp_path / "b", slow, read_study(AUTO))
    assert not (tmp_path / "b").exists()


def test_a_failed_run_is_tried_once_more_and_then_ends_the_pilot(
    tmp_path: Path, slow: FakeTarget, read_study
) -> None:
    """Exit code 4, naming the arm; nothing is left behind."""
    slow.broken = lambda number, launch: number == 2
    assert look(read_study(AUTO), slow).runs == 9
    slow.broken = lambda number, launch: launch.settings["data_cache"] == "optimistic"
    with pytest.raises(VoidError, match=r"arm cache .* failed twice: the fake server") as caught:
        run_fake(tmp_path / "b", slow, read_study(AUTO))
    assert caught.value.exit_code == 4
    assert not (tmp_path / "b").exists()
    assert slow.started == slow.stopped


def test_a_server_without_short_intervals_cannot_be_piloted(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """It says so, and what to write instead."""
    with pytest.raises(VoidError, match="1 of the 1 intervals show throughput") as caught:
        run_fake(tmp_path / "b", fake, read_study(AUTO))
    assert "write warmup and window" in caught.value.next_step


def test_a_folder_in_use_is_refused_before_the_pilot(
    tmp_path: Path, slow: FakeTarget, read_study
) -> None:
    """Nobody waits a minute to hear that."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine.txt").touch()
    with pytest.raises(BundleError, match="is not empty"):
        run_fake(tmp_path / "b", slow, read_study(AUTO))
    assert slow.started == 0


class PilotKiller(Telling):
    """Kills the pilot in the middle of its n-th run."""

    def __init__(self, at: int, error: type[BaseException]) -> None:
        super().__init__()
        self.at, self.error = at, error

    def piloting(self, done: int, total: int, left_s: float) -> None:
        if done == self.at:
            raise self.error


def test_after_a_killed_pilot_a_new_start_takes_the_folder(
    tmp_path: Path, slow: FakeTarget, read_study
) -> None:
    """And ends as one that was never killed; a resume says that there is nothing to resume."""
    (tmp_path / "b" / "logs").mkdir(parents=True)
    (tmp_path / "b" / "logs" / "pilot-00000.log").write_text("what a server said")
    (tmp_path / "b" / "journal.jsonl").touch()
    with pytest.raises(BundleError, match="its pilot was cut off"):
        require_no_pilot(tmp_path / "b")
    again = run_fake(tmp_path / "b", slow, read_study(AUTO))
    slow.started = 0
    whole = run_fake(tmp_path / "whole", slow, read_study(AUTO))
    assert again.plan == whole.plan
    assert [r.metrics for r in again.runs()] == [r.metrics for r in whole.runs()]
    require_no_pilot(tmp_path / "b")
    require_no_pilot(tmp_path / "never")


@pytest.mark.parametrize("error", [KeyboardInterrupt, Killed])
def test_a_stopped_pilot_leaves_no_bundle(
    tmp_path: Path, slow: FakeTarget, read_study, error: type[BaseException]
) -> None:
    """Servers are stopped, and the watcher hears that it is over."""
    watcher = PilotKiller(4, error)
    with pytest.raises(error) as caught:
        run_fake(tmp_path / "b", slow, read_study(AUTO), watcher=watcher)
    assert watcher.found == [None]
    assert slow.started == slow.stopped
    assert not (tmp_path / "b").exists()
    if error is KeyboardInterrupt:
        assert "start it again" in str(caught.value)


def test_commands_of_a_killed_pilot_are_undone_by_the_studys_new_start(
    tmp_path: Path, slow: FakeTarget, read_study
) -> None:
    """A resume finds no study to hold them against: it names them, and runs none."""
    commands = COMMAND.format(d=tmp_path)
    study = read_study(AUTO.replace('change = "engine.spin_hint"\non = "pause"', commands))
    folder, left = tmp_path / "b", tmp_path / "on"
    (folder / "logs").mkdir(parents=True)
    left.touch()
    journal = Journal(folder / "journal.jsonl")
    journal.append("applying", factor="hint", undo=["rm", str(left)])
    with pytest.raises(BundleError, match=f"still to be undone: rm {left}"):
        require_no_pilot(folder)
    assert left.exists()
    CommandJournal(journal.path, undo_commands(study)).undo()
    assert not left.exists()


def test_a_killed_study_goes_on_with_the_times_of_its_pilot(
    tmp_path: Path, slow: FakeTarget, read_study
) -> None:
    """The study file says auto; the plan says what that came to."""

    class Killer(Silent):
        def ran(self, record, replay) -> None:
            if len(replay.records) == 7:
                raise Killed

    targets, clocks = {"engine": slow}, slow.clock.clocks()
    options = {"base": Path("."), "seed": 7, "targets": targets, "clocks": clocks}
    bundle = prepare(read_study(AUTO), tmp_path / "b", FACTS, **options)
    with pytest.raises(Killed):
        run(bundle, Killer(), targets=targets, clocks=clocks)
    launches: list[Launch] = []
    start = slow.start
    slow.start = lambda launch, log: (launches.append(launch), start(launch, log))[1]
    run(Bundle.open(bundle.folder), targets=targets, clocks=clocks)
    plan = bundle.plan
    times = {(x.warmup_s, x.window_s) for x in launches}
    assert times == {(plan.warmup_s, plan.window_s)}
    assert differences(bundle) == []


def test_a_latency_is_piloted_by_itself_and_gets_enough_requests(
    slow: FakeTarget, read_study
) -> None:
    """p99.9 needs 100,000 of them in a window; a million come in a second."""
    text = AUTO.replace('"throughput"', '"latency_p999"').replace('["latency_p99"]', "[]")
    found = look(read_study(text, decide__budget="20min"), slow)
    assert 0.1 < found.warmup_s < 1.5
    slow.effect = lambda settings, env: 0.05
    found = look(read_study(text, decide__budget="20min"), slow)
    assert 2.2 < found.window_s < 3.0


PADDING = """[[factor]]
name = "padding"
change = "engine.padding"
off = 64
on = 128

[design]"""


def test_arms_that_are_not_measured_first_or_are_the_baselines_twin_are_left_out(
    slow: FakeTarget, read_study
) -> None:
    """The control; and of a screen all but the cells that it runs."""
    text = AUTO.replace("[design]", PADDING)
    listed = look(read_study(text), slow).cases[0].arms
    assert [a.arm for a in listed] == ["baseline", "hint", "cache", "padding"]
    screen = text.replace('kind = "one-at-a-time"', 'kind = "screen"\nsize = 4')
    study = read_study(screen, decide__budget="20min")
    cells = planned_screen(study, arms(study)).cells
    piloted = {a.arm for a in look(study, slow).cases[0].arms}
    assert piloted == {"baseline", *cells}
    assert len(piloted) < len(arms(study)) - 1


def test_two_cases_share_the_longest_times(slow: FakeTarget, read_study) -> None:
    """Each told by itself."""
    text = AUTO.replace('[target]\nkind = "engine"\n', "", 1)
    text = text.replace('[workload]\nkind = "ycsb"\n', "")
    text += "".join(
        f'\n[[case]]\nname = "{m}"\ntarget = {{kind = "engine"}}\n'
        f'workload = {{kind = "ycsb", mix = "{m}"}}\n'
        for m in "ab"
    )
    found = look(read_study(text, decide__budget="30min"), slow)
    assert [c.case for c in found.cases] == ["a", "b"]
    cuts = [cut for c in found.cases for a in c.arms for cut in a.cuts_s]
    assert found.warmup_s == pytest.approx(1.5 * max(cuts), abs=0.01)
    longest = max(c.intervals for c in found.cases) * found.interval_s
    assert found.window_s == pytest.approx(max(0.3, longest), abs=0.011)


def test_a_pilot_alone_needs_no_budget_for_it(slow: FakeTarget, read_study) -> None:
    """And looks at both times whatever the study file says."""
    found = look(read_study(decide__budget="20s"), slow)
    assert set(found.chosen) == AUTO_TIMES
    assert found.length_s == 2.0
    assert replace(read_study(), auto=AUTO_TIMES).auto == frozenset(found.chosen)
