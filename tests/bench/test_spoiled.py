"""What takes a verdict away, or stands beside it: latency rules, steadiness, rare slow runs,
conditional effects, and the question whether a small budget is worth it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assay.bench import Silent, prepare, run
from assay.native.messages import WindowInterval
from assay.record import Bundle, differences
from assay.targets import Measured
from fakes import FACTS, STUDY, FakeTarget, run_fake

LATENCY = STUDY.replace('primary = "throughput"', 'primary = "latency_p99"').replace(
    'also = ["latency_p99"]', 'also = ["throughput"]'
)


def words(bundle: Bundle, metric: str) -> dict[str, str]:
    """The word on each arm's change."""
    found = bundle.verdicts().verdicts
    return {r.arm: r.word for r in found if r.metric == metric and r.contrast.kind == "change"}


def altered(**changes: object) -> Callable[[int, Measured], Measured]:
    """A script that changes every run in the same way."""
    return lambda number, measured: replace(measured, **changes)


def test_a_quantile_with_too_few_requests_behind_it_gets_no_verdict(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """9,999 requests are no 99th percentile; the reason says what to do, and it recomputes."""
    fake.script = altered(operations=9_999)
    bundle = run_fake(tmp_path / "b", fake, read_study(LATENCY))
    assert words(bundle, "latency_p99") == {"hint": "invalid", "cache": "invalid"}
    assert "p99 needs 10,000: lengthen the window" in bundle.verdicts().verdicts[0].reason
    assert bundle.verdicts().recommended is None
    assert differences(bundle) == []


def test_enough_requests_give_one(tmp_path: Path, fake: FakeTarget, read_study) -> None:
    """And a latency from a closed loop is said to be one."""
    bundle = run_fake(tmp_path / "b", fake, read_study(LATENCY))
    assert words(bundle, "latency_p99")["cache"] == "helps"
    assert any("closed loop" in warning for warning in bundle.verdicts().warnings)


def test_a_saturated_server_has_no_latency_to_compare(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """Its throughput stands; its latency is that of the window."""

    def slow(number: int, measured: Measured) -> Measured:
        changed = {"asked_per_s": 1000.0, "achieved_per_s": 900.0}
        return replace(measured, health=measured.health.model_copy(update=changed))

    fake.script = slow
    bundle = run_fake(tmp_path / "b", fake, read_study(LATENCY))
    assert words(bundle, "latency_p99") == {"hint": "invalid", "cache": "invalid"}
    assert "was saturated in" in bundle.verdicts().verdicts[0].reason
    assert "invalid" not in words(bundle, "throughput").values()


def test_no_difference_is_not_said_of_runs_that_still_move(
    tmp_path: Path, fake: FakeTarget, study
) -> None:
    """A second half 20 % faster than the first: still warming up."""

    def warming(number: int, measured: Measured) -> Measured:
        first = int(measured.operations / 2.2)
        halves = [
            WindowInterval(
                index=k, start_ms=150.0 * k, length_ms=150.0, operations=n, errors=0, histogram=""
            )
            for k, n in enumerate((first, measured.operations - first))
        ]
        return replace(measured, intervals=halves)

    fake.script = warming
    bundle = run_fake(tmp_path / "b", fake, study)
    hint = next(r for r in bundle.verdicts().verdicts if r.arm == "hint")
    assert hint.word == "undecided"
    assert "is not stationary: second halves ran 20 % faster" in hint.reason
    assert words(bundle, "throughput")["cache"] == "helps"


def test_rare_slow_runs_have_a_line_of_their_own(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """One run in three at half speed hides from the median and shows here, as a lead."""
    told: list[str] = []

    class Tells(Silent):
        def running(self, step, operations, spent_s) -> None:
            if not operations:
                told.append(step.arm)

    def stalls(number: int, measured: Measured) -> Measured:
        metrics = dict(measured.metrics)
        if told[-1] == "hint" and told.count("hint") % 3 == 0:
            metrics["throughput"] *= 0.5
        return replace(measured, metrics=metrics)

    fake.script, fake.noise = stalls, 0.03
    study = read_study(measure__also="[]", decide__budget='"200s"')
    targets = {"engine": fake}
    bundle = prepare(
        study, tmp_path / "b", FACTS, base=Path("."), seed=7, targets=targets, full=True
    )
    run(bundle, Tells(), targets=targets, clocks=fake.clock.clocks())
    (line,) = [
        r for r in bundle.verdicts().verdicts if r.contrast.kind == "stability" and r.arm == "hint"
    ]
    assert line.strength == "suggests"
    assert line.word == "hurts"
    assert "slower than the arm's median" in line.reason


def test_an_effect_that_is_known_only_beside_another_says_so(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """The hint requires the cache, so the cell with the hint alone is left out."""
    text = STUDY.replace('kind = "one-at-a-time"', 'kind = "factorial"').replace(
        'change = "engine.spin_hint"', 'change = "engine.spin_hint"\nrequires = ["cache"]'
    )
    bundle = run_fake(tmp_path / "b", fake, read_study(text))
    assert {a.name for a in bundle.plan.arms} == {"baseline", "cache", "hint+cache"}
    mains = {
        r.contrast.of: r.contrast.given
        for r in bundle.verdicts().verdicts
        if r.contrast.kind == "main"
    }
    assert mains["hint"] == "cache"


def test_whoever_watches_may_end_a_study_that_its_budget_cannot_carry(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """After block 8, before the rest of the budget is spent; what was measured is kept."""
    asked: list[tuple[str, bool]] = []

    class Declines(Silent):
        def sized(self, sentence: str, capped: bool) -> bool:
            asked.append((sentence, capped))
            return not capped

    fake.noise = 0.2
    targets = {"engine": fake}
    study = read_study(decide__budget='"20s"')
    bundle = prepare(study, tmp_path / "b", FACTS, base=Path("."), seed=7, targets=targets)
    with pytest.raises(KeyboardInterrupt):
        run(bundle, Declines(), targets=targets, clocks=fake.clock.clocks())
    (sentence, capped), *rest = asked
    assert capped
    assert not rest
    assert "; a 5 % effect needs about" in sentence
    assert "your budget of" in sentence
    assert len([r for r in bundle.runs() if r.status == "ok"]) == 24
    assert bundle.verdicts().stopped == "you stopped it"


def test_one_doubt_about_many_contrasts_is_one_sentence(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """The first in full, the others by name."""
    text = STUDY.replace("[design]", "[design]\ncontrol = true")
    fake.noise = 0.0
    bundle = run_fake(tmp_path / "b", fake, read_study(text, measure__also="[]"))
    coarse = [w for w in bundle.verdicts().warnings if "rounded too coarsely" in w]
    assert len(coarse) == 1
    assert "The same of" in coarse[0]
