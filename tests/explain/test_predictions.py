"""What changes were to move: declared before the run, judged after it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assay.changes import CATALOGUE
from assay.core.errors import StudyError
from assay.record import Bundle, differences
from assay.targets import Measured
from assay.verdict.rows import Row
from fakes import STUDY, FakeTarget, moving, run_fake

PREDICTING = STUDY.replace(
    'change = "engine.data_cache"', 'change = "engine.data_cache"\npredicts = {predicts}'
)


def predicted(bundle: Bundle, arm: str = "cache") -> dict[str, Row]:
    """The prediction rows of an arm, by metric."""
    rows = bundle.verdicts().verdicts
    return {r.metric: r for r in rows if r.contrast.kind == "prediction" and r.arm == arm}


def run_predicting(
    tmp_path: Path, fake: FakeTarget, read_study: Callable[..., object], predicts: str
) -> Bundle:
    return run_fake(tmp_path / "b", fake, read_study(PREDICTING.replace("{predicts}", predicts)))


def test_a_wait_that_vanishes_holds_its_prediction(finished: Bundle) -> None:
    """Though 0 has no logarithm: less than a hundredth is told as a hundredth."""
    row = predicted(finished)["contention.data_cache"]
    assert (row.predicted, row.outcome, row.word) == ("down", "held", "helps")
    assert row.estimate == pytest.approx(99)


def test_a_bare_family_is_its_largest_member(finished: Bundle) -> None:
    """The hint declares `contention`; the fake's only contended lock is that of its data cache."""
    assert predicted(finished, "hint")["contention.data_cache"].outcome == "not held"


def test_what_was_not_measured_is_said_to_be(finished: Bundle) -> None:
    """The fake counts no spins by class."""
    row = predicted(finished)["spins_per_operation.data_cache"]
    assert (row.outcome, row.estimate, row.blocks) == ("not measured", None, 0)


@pytest.mark.parametrize(
    ("predicts", "mine", "others", "outcome", "why"),
    [
        ('{ resident_bytes = "down" }', 100, 200, "held", "down"),
        ('{ resident_bytes = "up" }', 100, 200, "not held", "down"),
        ('{ resident_bytes = "same" }', 100, 200, "not held", "down"),
        ('{ resident_bytes = "up" }', 200, 100, "held", "up"),
        ('{ resident_bytes = "up" }', 100, 100, "not held", "did not move"),
        ('{ resident_bytes = "same" }', 100, 100, "held", "did not move"),
        ('{ operations_per_cpu_s = "up" }', 200, 100, "held", "up"),
        ('{ operations_per_cpu_s = "up" }', 100, 200, "not held", "down"),
    ],
)
def test_a_signature_of_the_study_is_judged_as_it_is_written(
    tmp_path, fake, read_study, predicts, mine, others, outcome, why
) -> None:
    """As measured: down is less, whether less is better or not. A wrong one is not held."""
    metric = predicts.split()[1]
    fake.script = moving({metric: mine}, {metric: others})
    (row,) = predicted(run_predicting(tmp_path, fake, read_study, predicts)).values()
    assert row.outcome == outcome
    assert why in row.reason


def test_a_counter_of_the_server_may_be_predicted(tmp_path, fake, read_study) -> None:
    """Per operation, without being asked for: repeats are none, look-ups are one each."""
    name = "counted_per_operation.lookups.data_cache"
    bundle = run_predicting(tmp_path, fake, read_study, f'{{ "{name}" = "same" }}')
    assert bundle.runs()[0].metrics[name] == pytest.approx(1)
    assert predicted(bundle)[name].outcome == "held"


def test_noise_is_no_cause(tmp_path: Path, fake: FakeTarget, read_study) -> None:
    """Of ten metrics that nothing moves, none is said to have moved as predicted."""
    names = [f"waits_per_operation.{c}" for c in ("data_cache", "index", "row")]
    noise = random.Random(3)

    def script(number: int, measured: Measured) -> Measured:
        more = {name: noise.lognormvariate(0, 1) for name in names}
        return replace(measured, metrics={**measured.metrics, **more})

    fake.script = script
    predicts = "{ " + ", ".join(f'"{name}" = "down"' for name in names) + " }"
    found = predicted(run_predicting(tmp_path, fake, read_study, predicts))
    assert {row.outcome for row in found.values()} == {"unclear"}


def test_predictions_stand_in_the_plan_and_are_recomputed(finished: Bundle) -> None:
    """So nobody can think of them afterwards."""
    factor = finished.plan.factors["cache"]
    assert factor.predicts["optimistic"]["contention.data_cache"] == "down"
    assert factor.mechanism == "wait_share.data_cache"
    assert differences(finished) == []
    path = finished.folder / "verdicts.json"
    path.write_text(path.read_text().replace('"outcome": "held"', '"outcome": "unclear"'))
    assert any("outcome says 'unclear'" in line for line in differences(finished))


def test_an_arm_of_two_changes_has_no_prediction(tmp_path, fake, read_study) -> None:
    """It would not say which was right; single cells and averaged effects have theirs."""
    text = STUDY.replace('kind = "one-at-a-time"', 'kind = "factorial"\ncontrol = false')
    bundle = run_fake(tmp_path / "b", fake, read_study(text))
    rows = [r for r in bundle.verdicts().verdicts if r.contrast.kind == "prediction"]
    assert {r.arm for r in rows} == {"hint", "cache", ""}
    assert {r.contrast.of for r in rows} == {"hint", "cache"}


def test_a_prediction_of_the_primary_metric_recommends_nothing(tmp_path, fake, read_study) -> None:
    """It is judged more leniently than a verdict: what it says is no reason to take an arm."""
    fake.effect = lambda settings, _: 1.02 if settings["data_cache"] == "optimistic" else 1.0
    fake.noise = 0.04
    bundle = run_predicting(tmp_path, fake, read_study, '{ throughput = "up" }')
    verdicts = bundle.verdicts()
    row = next(r for r in verdicts.verdicts if (r.arm, r.metric) == ("cache", "throughput"))
    assert row.word == "undecided"
    assert predicted(bundle)["throughput"].word == "helps"
    assert verdicts.best is not None
    assert (verdicts.best.sweet_spot, verdicts.recommended) == ("baseline", None)


def test_a_prediction_is_no_rung(tmp_path, fake, read_study) -> None:
    """Both rungs help, and the first one's prediction of that held: the second is recommended."""
    both = {"data_cache": "optimistic", "hint": "pause"}
    fake.effect = lambda settings, _: 1.3 ** sum(settings[k] == v for k, v in both.items())
    text = PREDICTING.replace("{predicts}", '{ throughput = "up" }')
    text = text.replace(
        'kind = "one-at-a-time"', 'kind = "ladder"\norder = ["cache", "hint"]\ncontrol = false'
    )
    bundle = run_fake(tmp_path / "b", fake, read_study(text))
    (row,) = (r for r in predicted(bundle, "cache").values() if r.metric == "throughput")
    assert row.word == "helps"
    assert bundle.verdicts().recommended == "cache+hint"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('{ contention_of_all = "down" }', "is not a metric"),
        ('{ "contention.nothing" = "down" }', "counts no 'nothing'"),
        ('{ resident_bytes = "less" }', "should be 'up', 'down' or 'same'"),
        ('{ instructions_per_cycle = "up" }', "needs counters of perf"),
    ],
)
def test_a_signature_that_cannot_be_judged_is_refused(read_study, written, message) -> None:
    """With its line, before anything runs."""
    with pytest.raises(StudyError) as caught:
        read_study(PREDICTING.replace("{predicts}", written))
    (problem,) = caught.value.problems
    assert message in problem.message
    assert problem.line == PREDICTING[: PREDICTING.index("{predicts}")].count("\n") + 1


@pytest.mark.parametrize(
    ("change", "off", "on", "found"),
    [
        ("engine.spin_hint", "none", "isb", "down"),
        ("engine.spin_hint", "isb", "none", "up"),
        ("engine.spin_hint", "pause", "isb", None),
        ("mariadb.buffer_pool_size", "80MiB", "35MiB", "up"),
        ("mariadb.buffer_pool_size", "35MiB", "80MiB", "down"),
    ],
)
def test_a_signature_turns_round_with_its_levels(change, off, on, found) -> None:
    """It is that of leaving off; between two levels that are not off nothing is known."""
    of_first = CATALOGUE[change].signature[0].metric
    assert CATALOGUE[change].predicted(off, on).get(of_first) == found
