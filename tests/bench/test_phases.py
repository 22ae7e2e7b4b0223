"""Designs that go in phases, extensions, the control: whole studies on a fake target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.bench import Silent, prepare, run
from assay.core.errors import InputError
from assay.plan import CONTROL
from assay.record import Bundle, differences
from assay.report.words.wording import label
from assay.study import Study, arms, read
from assay.targets import Measured
from fakes import FACTS, STUDY, FakeTarget, run_fake

THREE = (
    STUDY.replace(
        "[design]",
        """[[factor]]
name = "padding"
change = "setting"
setting = "padding"
off = 64
on = 128

[design]""",
    )
    .replace('kind = "one-at-a-time"', 'kind = "KIND"')
    .replace('budget = "60s"', 'budget = "10min"')
)


def three(kind: str, extra: str = "") -> str:
    """A study of three factors."""
    return THREE.replace('"KIND"', f'"{kind}"\n{extra}')


def of(fake: FakeTarget, text: str) -> Study:
    """A study read for this target."""
    return read("fake.toml", text, Path("."), {}, {"engine": fake})


def speed(settings, env) -> float:
    """The cache gains 30 %, the hint 5 % alone and loses 5 % on top of the cache."""
    cached, hinted = settings["data_cache"] == "optimistic", settings["hint"] == "pause"
    gain = 1.30 if cached else 1.0
    return gain * ((0.95 if cached else 1.05) if hinted else 1.0)


def by_name(bundle: Bundle, kind: str) -> dict[str, object]:
    """Rows of one kind by what they are about."""
    return {
        r.contrast.of + (f" given {r.contrast.given}" if r.contrast.given else ""): r
        for r in bundle.verdicts().verdicts
        if r.contrast.kind == kind and r.metric == "throughput"
    }


class TestFactorial:
    """Averaged and simple effects beside each other."""

    @pytest.fixture(scope="class")
    @classmethod
    def bundle(cls, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
        fake = FakeTarget(effect=speed)
        return run_fake(
            tmp_path_factory.mktemp("factorial") / "b", fake, of(fake, three("factorial"))
        )

    def test_a_sign_that_flips_shows_in_the_simple_effects(self, bundle: Bundle) -> None:
        """Averaged, the hint does nothing; alone it helps, on top of the cache it hurts."""
        changes, simple = by_name(bundle, "change"), by_name(bundle, "simple")
        assert changes["hint"].word == "helps"
        assert simple["hint given cache"].word == "hurts"
        assert abs(by_name(bundle, "main")["hint"].estimate) < 0.01
        assert by_name(bundle, "interaction")["hint:cache"].word == "hurts"

    def test_every_arm_keeps_its_own_verdict_beside_the_averaged_effect(
        self, bundle: Bundle
    ) -> None:
        """Seven combinations against the baseline, one of them the control's."""
        assert len(by_name(bundle, "change")) == 8
        assert set(by_name(bundle, "main")) == {"hint", "cache", "padding"}

    def test_the_best_set_holds_the_best_and_the_sweet_spot_costs_least(
        self, bundle: Bundle
    ) -> None:
        """Padding changes nothing, so the cache alone is the one to take."""
        best = bundle.verdicts().best
        assert "cache" in best.inside
        assert set(best.inside) <= {"cache", "cache+padding"}
        assert best.sweet_spot == bundle.verdicts().recommended == "cache"
        assert best.pareto[0] == "baseline"
        assert "cache" in best.pareto
        assert best.out["hint"].by in best.inside
        assert "is better by more than" in best.out["hint"].sentence

    def test_it_recomputes(self, bundle: Bundle) -> None:
        """Best set, simple effects and all."""
        assert differences(bundle) == []


class TestControl:
    """An arm equal to the baseline, that nobody should be able to tell from it."""

    def test_four_arms_bring_one(self, read_study) -> None:
        """Three do not, unless asked; and it can be forbidden."""
        names = lambda text: [a.name for a in arms(read_study(text))]  # noqa: E731
        assert CONTROL not in names(STUDY)
        assert CONTROL in names(three("one-at-a-time"))
        assert CONTROL not in names(three("one-at-a-time", "control = false"))
        asked = STUDY.replace("[design]", "[design]\ncontrol = true")
        assert CONTROL in names(asked)
        assert arms(read_study(asked.replace("control =", "sentinel ="))) == arms(read_study(asked))

    def test_a_bundle_made_under_its_former_name_goes_on_and_verifies(
        self, tmp_path: Path, fake: FakeTarget, read_study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As the self-check that it is."""
        study, options = read_study(three("one-at-a-time")), {"targets": {"engine": fake}}
        clocks = fake.clock.clocks()
        with monkeypatch.context() as before:
            before.setattr("assay.study.designs.CONTROL", "sentinel")
            bundle = prepare(
                study, tmp_path / "b", FACTS, base=Path("."), seed=7, clocks=clocks, **options
            )
        assert "sentinel" in [arm.name for arm in bundle.plan.arms]
        verdicts = run(bundle, clocks=clocks, **options)
        assert differences(bundle) == []
        (row,) = [r for r in verdicts.verdicts if r.arm == "sentinel" and r.strength == "confirmed"]
        assert label(row) == "sentinel (self-check)"

    def test_a_control_that_differs_makes_every_verdict_invalid(
        self, tmp_path: Path, fake: FakeTarget, read_study
    ) -> None:
        """The harness makes the difference, so no word of it can be believed."""
        study = read_study(three("one-at-a-time"))
        order: list[str] = []

        class Tells(Silent):
            def running(self, step, operations, spent_s) -> None:
                if not operations:
                    order.append(step.arm)

        def biased(number: int, measured: Measured) -> Measured:
            better = 1.05 if order[-1] == CONTROL else 1.0
            metrics = dict(measured.metrics)
            return replace(
                measured, metrics={**metrics, "throughput": metrics["throughput"] * better}
            )

        fake.script = biased
        targets = {"engine": fake}
        bundle = prepare(study, tmp_path / "b", FACTS, base=Path("."), seed=7, targets=targets)
        run(bundle, Tells(), targets=targets, clocks=fake.clock.clocks())
        found = bundle.verdicts()
        primary = [r for r in found.verdicts if r.metric == "throughput"]
        assert {r.word for r in primary if r.contrast.kind == "change"} == {"invalid"}
        assert "the A/A control" in primary[0].reason
        assert found.recommended is None

    def test_it_never_keeps_a_study_going(
        self, tmp_path: Path, fake: FakeTarget, read_study
    ) -> None:
        """It ends with the last arm that is asked about, decided or not."""
        bundle = run_fake(tmp_path / "b", fake, read_study(three("one-at-a-time")))
        asked = [r for r in by_name(bundle, "change").values() if r.arm != CONTROL]
        assert bundle.verdicts().blocks == max(r.blocks for r in asked)


class TestScreen:
    """First all combinations, then the promising ones on fresh runs."""

    @pytest.fixture(scope="class")
    @classmethod
    def bundle(cls, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
        fake = FakeTarget(effect=speed)
        return run_fake(tmp_path_factory.mktemp("screen") / "b", fake, of(fake, three("screen")))

    def test_what_it_suggests_is_labelled_so(self, bundle: Bundle) -> None:
        """Never confirmed by the runs that chose it."""
        mains = by_name(bundle, "main")
        assert mains["cache"].word == "helps"
        assert mains["cache"].strength == "suggests"
        assert mains["cache"].blocks == 4
        effects = {e.name: e for e in bundle.verdicts().screen.effects}
        assert not effects["padding"].suggests

    def test_the_shortlist_is_confirmed_on_fresh_blocks(self, bundle: Bundle) -> None:
        """Verdicts count blocks after the screen's; arms not on the list do not run there."""
        verdicts = bundle.verdicts()
        shortlist = verdicts.screen.shortlist
        changes = by_name(bundle, "change")
        assert set(changes) - {CONTROL} == set(shortlist)
        assert changes["cache"].word == "helps"
        assert changes["cache"].strength == "confirmed"
        later = {r.arm for r in bundle.runs() if r.block >= 4}
        assert later == {*shortlist, "baseline", CONTROL}
        assert all(r.blocks <= verdicts.blocks - 4 for r in changes.values())

    def test_the_best_one_is_compared_with_its_neighbours(self, bundle: Bundle) -> None:
        """One factor taken out, given the others."""
        assert any(name.startswith("cache") for name in by_name(bundle, "simple")) or (
            bundle.verdicts().screen.shortlist[0] == "cache"
        )
        assert bundle.verdicts().recommended == "cache"

    def test_it_recomputes(self, bundle: Bundle) -> None:
        """From plan and runs."""
        assert differences(bundle) == []

    def test_a_fraction_runs_fewer_cells_and_says_what_it_cannot_tell_apart(
        self, tmp_path: Path, fake: FakeTarget, read_study
    ) -> None:
        """Half of eight combinations: each main effect stands for an interaction too."""
        fake.effect = lambda s, e: 1.3 if s["data_cache"] == "optimistic" else 1.0
        bundle = run_fake(tmp_path / "b", fake, read_study(three("screen", "size = 4")))
        screen = bundle.verdicts().screen
        assert (screen.cells, screen.resolution) == (4, 3)
        assert ["cache", "hint:padding"] in screen.aliases
        assert len({r.arm for r in bundle.runs() if r.block < 4}) == 4
        effects = {e.name: e for e in screen.effects}
        assert "hint:padding" in effects["cache"].aliases

    @pytest.mark.parametrize(
        ("extra", "said"),
        [
            ("size = 6", "power of two"),
            ("size = 16", "power of two"),
            ('order = ["hint"]', "order"),
        ],
    )
    def test_what_makes_no_sense_is_said(self, read_study, extra: str, said: str) -> None:
        """Before anything starts."""
        with pytest.raises(InputError) as error:
            read_study(three("screen", extra))
        assert said in str(error.value)


class TestRace:
    """Arms leave when another is shown to be better."""

    def test_runs_go_to_those_that_may_be_the_best(
        self, tmp_path: Path, fake: FakeTarget, read_study
    ) -> None:
        """The slow ones leave early, the best one is found and recommended."""
        fake.effect = speed
        bundle = run_fake(tmp_path / "b", fake, read_study(three("race")))
        verdicts = bundle.verdicts()
        runs = {a.name: sum(r.arm == a.name for r in bundle.runs()) for a in bundle.plan.arms}
        assert runs["hint+padding"] < runs["cache"]
        assert verdicts.recommended == "cache"
        assert differences(bundle) == []


SCALING = """
name = "scaling"
question = "How far does it scale?"

[target]
kind = "engine"

[workload]
kind = "ycsb"

[measure]
primary = "throughput"
warmup = "100ms"
window = "300ms"

[[factor]]
name = "threads"
change = "setting"
setting = "threads"
levels = [1, 2, 3, 4, 6, 8, 12, 16]

[[factor]]
name = "cache"
change = "engine.data_cache"

[design]
kind = "scaling"
factor = "threads"
compare = "cache"
blocks = 8

[decide]
budget = "30min"
"""


def usl(settings, env) -> float:
    """The lock-free cache has a third of the contention."""
    n = settings["threads"]
    sigma, kappa = (0.02, 0.01) if settings["data_cache"] == "optimistic" else (0.06, 0.01)
    return n / (1 + sigma * (n - 1) + kappa * n * (n - 1))


class TestScaling:
    """Throughput over threads, one curve per configuration."""

    @pytest.fixture(scope="class")
    @classmethod
    def bundle(cls, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
        fake = FakeTarget(effect=usl)
        targets, facts = {"engine": fake}, {**FACTS, "cpus": 64}
        study, folder = of(fake, SCALING), tmp_path_factory.mktemp("scaling") / "b"
        bundle = prepare(study, folder, facts, base=Path("."), seed=3, targets=targets)
        run(bundle, targets=targets, clocks=fake.clock.clocks())
        return bundle

    def test_contention_coherency_and_peak_have_intervals(self, bundle: Bundle) -> None:
        """Which hold the truth."""
        curves = {c.configuration: c for c in bundle.verdicts().scaling}
        plain, free = curves["baseline"], curves["cache"]
        assert plain.contention.low < 0.06 < plain.contention.high
        assert free.contention.low < 0.02 < free.contention.high
        assert plain.coherency.low < 0.01 < plain.coherency.high
        assert plain.peak.low < (0.94 / 0.01) ** 0.5 < plain.peak.high
        assert plain.refused == ""

    def test_two_configurations_are_compared(self, bundle: Bundle) -> None:
        """Less contention helps; the same coherency is not told apart."""
        rows = {
            r.contrast.given: r for r in bundle.verdicts().verdicts if r.contrast.kind == "scaling"
        }
        assert rows["contention"].word == "helps"
        assert rows["contention"].low < 0.04 < rows["contention"].high
        assert rows["coherency"].word == "undecided"
        assert bundle.verdicts().blocks == 8
        assert differences(bundle) == []

    def test_throughput_at_each_number_of_threads_stands_beside_it(self, bundle: Bundle) -> None:
        """As leads."""
        leads = [r for r in bundle.verdicts().verdicts if r.contrast.kind == "simple"]
        assert len(leads) == 8
        assert {r.strength for r in leads} == {"suggests"}

    def test_two_cpus_are_no_place_for_it(
        self, tmp_path: Path, fake: FakeTarget, read_study
    ) -> None:
        """The knee would be the machine's: refused, with the reason."""
        fake.effect = lambda s, e: min(s["threads"], 2)
        bundle = run_fake(tmp_path / "b", fake, read_study(SCALING))
        assert all(c.refused and c.contention is None for c in bundle.verdicts().scaling)


class TestExtension:
    """Half as many blocks again, when somebody asks for them."""

    @pytest.fixture
    def undecided(self, tmp_path: Path, fake: FakeTarget, read_study) -> Bundle:
        fake.noise = 0.10
        fake.effect = lambda s, e: 1.02 if s["hint"] == "pause" else 1.0
        study = read_study(decide__budget='"20s"', measure__also="[]")
        bundle = run_fake(tmp_path / "b", fake, study)
        assert any(r.word == "undecided" for r in bundle.verdicts().verdicts)
        return bundle

    def extend(self, bundle: Bundle, fake: FakeTarget) -> None:
        run(bundle, extend=True, targets={"engine": fake}, clocks=fake.clock.clocks())

    def test_it_takes_up_what_was_undecided_and_recomputes(
        self, undecided: Bundle, fake: FakeTarget
    ) -> None:
        """The runs say which extension they belong to; there is no other state."""
        before = undecided.verdicts()
        self.extend(undecided, fake)
        after = undecided.verdicts()
        planned = before.planned.blocks
        assert (before.extensions, after.extensions) == (0, 1)
        assert after.blocks == planned + -(-planned // 2)
        assert {r.extension for r in undecided.runs()} == {0, 1}
        assert differences(Bundle.open(undecided.folder)) == []

    def test_a_study_with_nothing_undecided_is_not_extended(
        self, finished: Bundle, fake: FakeTarget
    ) -> None:
        """There is nothing to find out."""
        with pytest.raises(InputError, match="nothing is left undecided"):
            self.extend(finished, fake)
