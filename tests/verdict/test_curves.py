"""Curves: a study along an axis, run on a fake, from its first block to what it says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.bench import run
from assay.plan import Plan
from assay.reasons import Code
from assay.record import Bundle, differences, replayed
from assay.stats.boundary import schedule
from assay.targets import Measured
from assay.verdict.rows import CurveContrastRow, CurveRow
from fakes import FACTS, STUDY, FakeTarget, run_fake

FIXED = '[[axis]]\nname = "threads"\npoints = [1, 4, 16, 64]\n'
REFINED = '[[axis]]\nname = "threads"\npoints = "auto"\nfrom = 1\nto = 256\n'
ONE = STUDY.replace('[[factor]]\nname = "hint"\nchange = "engine.spin_hint"\non = "pause"\n', "")


def text_of(axis: str = FIXED, study: str = ONE, budget: str = "300s") -> str:
    text = study.replace("[design]", f"{axis}\n[design]", 1)
    return text.replace('budget = "60s"', f'budget = "{budget}"')


def over_threads(crossing: float, slope: float = 0.1):
    """The lock-free cache is slower below so many threads, and faster beyond."""

    def effect(settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
        if settings["data_cache"] != "optimistic":
            return 1.0
        return math.exp(slope * math.log2(settings["threads"] / crossing))

    return effect


def ran(tmp_path: Path, read_study, fake: FakeTarget, text: str = "", **options: Any) -> Bundle:
    return run_fake(tmp_path / "curves", fake, read_study(text or text_of()), **options)


def curve_of(bundle: Bundle) -> CurveRow:
    (curve,) = bundle.verdicts().curves
    return curve


def only(curve: CurveRow) -> CurveContrastRow:
    (contrast,) = curve.contrasts
    return contrast


def words(contrast: CurveContrastRow) -> list[str]:
    return [effect.word for effect in contrast.effects]


def test_where_a_change_begins_to_help_is_said_with_its_interval(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """It hurts at 1 and 4 threads, helps at 16 and 64, and changes its sign at 7."""
    fake.effect = over_threads(7)
    bundle = ran(tmp_path, read_study, fake)
    curve = curve_of(bundle)
    assert [p.value for p in curve.points] == [1, 4, 16, 64]
    contrast = only(curve)
    assert words(contrast) == ["hurts", "hurts", "helps", "helps"]
    (crossing,) = contrast.crossings
    assert (crossing.low, crossing.high, crossing.rising) == (4, 16, True)
    assert crossing.value == pytest.approx(7, rel=0.15)
    assert contrast.sentence.startswith("cache helps from threads = ")
    assert "on [4, 16], and hurts below" in contrast.sentence
    assert bundle.verdicts().recommended is None
    assert bundle.verdicts().best is None
    assert not differences(bundle)


def test_a_change_that_helps_everywhere_has_no_crossing(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """That is said as such."""
    contrast = only(curve_of(ran(tmp_path, read_study, fake)))
    assert contrast.sentence == "cache helps at all 4 points; no crossing within the points"
    assert contrast.crossings == []


def test_an_undecided_point_leaves_the_crossing_open(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """No crossing is shown, which is not that there is none."""
    fake.effect, fake.noise = over_threads(1, slope=0.02), 0.08
    bundle = ran(tmp_path, read_study, fake, text_of(budget="40s"))
    contrast = only(curve_of(bundle))
    assert "undecided" in words(contrast)
    assert not contrast.crossings
    assert "no crossing is shown within the points" in contrast.sentence


def test_words_and_band_agree_at_every_point(tmp_path: Path, read_study, fake: FakeTarget) -> None:
    """The band is the verdict's own interval; of no difference it is the wider one of the two."""
    fake.effect = over_threads(16, slope=0.03)
    bundle = ran(tmp_path, read_study, fake)
    rows = {r.case: r for r in bundle.verdicts().verdicts if r.contrast.kind == "change"
            and r.metric == "throughput" and r.strength == "confirmed"}  # fmt: skip
    for effect in only(curve_of(bundle)).effects:
        row = rows[f"threads={effect.text}"]
        assert effect.word == row.word
        assert effect.low is not None
        assert effect.high is not None
        if effect.word == "no difference":
            assert effect.low <= row.low <= row.high <= effect.high
        else:
            assert (effect.low, effect.high) == (row.low, row.high)
        assert (effect.word == "helps") == (effect.low > 0)
        assert (effect.word == "hurts") == (effect.high < 0)


def slow_p_value(contrasts: np.ndarray, at: float) -> float:
    """Two-sided p of "the effect is `at`" by all ways to flip the signs: the signed-rank test as it
    is defined."""
    sizes = np.abs(contrasts - at)
    ranks = np.argsort(np.argsort(sizes)) + 1
    observed = ranks[contrasts > at].sum()
    flips = np.array(list(itertools.product((0, 1), repeat=len(ranks)))) @ ranks
    least = min(observed, ranks.sum() - observed)
    return min(1.0, 2 * float(np.mean(flips <= least)))


def test_the_band_is_what_flipping_all_signs_does_not_reject(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """At the level of its look for a fourth of alpha: the slow way, point by point."""
    fake.effect = over_threads(7)
    bundle = ran(tmp_path, read_study, fake)
    verdicts, rule = bundle.verdicts(), bundle.plan.rule
    assert verdicts.planned is not None
    looks = schedule(verdicts.planned.blocks, rule.alpha_main, bundle.plan.constants)
    levels = dict(zip(looks.looks, looks.levels(rule.alpha_main / 4), strict=True))
    for effect in only(curve_of(bundle)).effects:
        speeds: dict[tuple[int, str], float] = {
            (r.block, r.arm): r.metrics["throughput"]
            for r in bundle.runs()
            if r.case == f"threads={effect.text}" and r.block < effect.blocks
        }
        logs = np.array(
            [math.log(speeds[b, "cache"] / speeds[b, "baseline"]) for b in range(effect.blocks)]
        )
        level = levels[effect.blocks]
        low, high = (math.log1p(end) for end in (effect.low, effect.high) if end is not None)
        for end, inwards in ((low, 1), (high, -1)):
            assert slow_p_value(logs, end + inwards * 1e-9) > level
            assert slow_p_value(logs, end - inwards * 1e-9) <= level


def test_a_point_with_its_verdict_leaves_the_schedule(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """And the others go on without it."""
    fake.effect, fake.noise = over_threads(4, slope=0.1), 0.05
    bundle = ran(tmp_path, read_study, fake, text_of(budget="600s"))
    blocks = {effect.text: effect.blocks for effect in only(curve_of(bundle)).effects}
    assert blocks["64"] < max(blocks.values())
    runs = [r for r in bundle.runs() if r.case == "threads=64"]
    assert len(runs) == 2 * blocks["64"]


def test_what_arms_measured_is_shown_with_it(tmp_path: Path, read_study, fake: FakeTarget) -> None:
    """In the metric's own unit, with an interval; the control is no arm of a curve."""
    bundle = ran(tmp_path, read_study, fake)
    for point in curve_of(bundle).points:
        assert [level.arm for level in point.levels] == ["baseline", "cache"]
        for level, speed in zip(point.levels, (1e6, 1.3e6), strict=True):
            assert level.value is not None
            assert level.low is not None
            assert level.high is not None
            assert level.low < speed < level.high
            assert level.value == pytest.approx(speed, rel=0.02)
            assert level.reached is None


# refined


def test_points_are_added_until_the_crossing_is_narrow(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """Five points, then two more: half of a gap, and half of what is left."""
    fake.effect = over_threads(6, slope=0.15)
    bundle = ran(tmp_path, read_study, fake, text_of(REFINED))
    curve = curve_of(bundle)
    assert [p.text for p in curve.points if not p.added] == ["1", "4", "16", "64", "256"]
    added = [p.value for p in curve.points if p.added]
    assert added[0] == 8 or added == [6, 8]
    (crossing,) = only(curve).crossings
    assert crossing.low >= 4
    assert crossing.high <= 8
    assert not differences(bundle)


def test_an_added_point_has_blocks_and_looks_of_its_own(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """It begins after the verdicts that chose it, at the first look, and alone."""
    fake.effect = over_threads(6, slope=0.15)
    bundle = ran(tmp_path, read_study, fake, text_of(REFINED))
    first: dict[str, int] = {}
    for made in bundle.runs():
        first.setdefault(made.case, made.block)
    effects = {f"threads={e.text}": e for e in only(curve_of(bundle)).effects}
    begun = max(effects[case].blocks for case, block in first.items() if block == 0)
    assert min(block for block in first.values() if block) == begun
    for case, block in first.items():
        own = {r.block for r in bundle.runs() if r.case == case}
        assert own == set(range(block, block + effects[case].blocks))


def test_without_a_crossing_no_point_is_added(tmp_path: Path, read_study, fake: FakeTarget) -> None:
    """It would tell nothing about a crossing."""
    curve = curve_of(ran(tmp_path, read_study, fake, text_of(REFINED)))
    assert not [p for p in curve.points if p.added]
    assert "no crossing within the points" in only(curve).sentence


def test_no_more_points_are_added_than_the_study_allows(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """One."""
    fake.effect = over_threads(6, slope=0.15)
    bundle = ran(tmp_path, read_study, fake, text_of(REFINED + "extra = 1\n"))
    assert len([p for p in curve_of(bundle).points if p.added]) == 1


def test_a_killed_refinement_goes_on_as_if_it_had_not_been(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """What it adds follows from its runs: cut off anywhere, they lead to the same points."""
    fake.effect = over_threads(6, slope=0.15)
    bundle = ran(tmp_path, read_study, fake, text_of(REFINED))
    whole = (bundle.folder / "runs.jsonl").read_text().splitlines(keepends=True)
    added = next(r.run for r in bundle.runs() if r.block and r.case == "threads=8")
    for cut in (added, added + 3):
        folder = tmp_path / f"cut-{cut}"
        folder.mkdir()
        for name in ("study.toml", "plan.json", "host.json"):
            (folder / name).write_text((bundle.folder / name).read_text())
        (folder / "runs.jsonl").write_text("".join(whole[:cut]))
        again = Bundle.open(folder)
        run(again, targets={"engine": fake}, clocks=fake.clock.clocks())
        cases = [(r.block, r.case, r.arm) for r in Bundle.open(folder).runs()]
        assert cases == [(r.block, r.case, r.arm) for r in bundle.runs()]


def test_a_refined_study_is_not_extended(tmp_path: Path, read_study, fake: FakeTarget) -> None:
    """Its opening points are long over."""
    fake.effect = over_threads(6, slope=0.15)
    replay = replayed(ran(tmp_path, read_study, fake, text_of(REFINED)))
    assert "points were to be added" in replay.cannot_extend()


def test_the_plan_holds_all_points_that_may_be_added(read_study, tmp_path, fake) -> None:
    """So that a stranger sees what alpha was shared by."""
    plan: Plan = ran(tmp_path, read_study, fake, text_of(REFINED)).plan
    assert plan.axis is not None
    assert len(plan.axis.opening) == 5
    assert len(plan.cases) == len(plan.axis.points) > 10


# open loop


def open_loop(capacity: float):
    """A script that asks for as many requests as a run had, and gets no more than a capacity."""

    def script(number: int, measured: Measured) -> Measured:
        asked = measured.metrics["throughput"]
        reached = min(asked, capacity)
        metrics = {
            **measured.metrics,
            "throughput": reached,
            "latency_p50": 1e5 / max(1e-3, 1.02 - asked / capacity),
        }
        health = measured.health.model_copy(
            update={"asked_per_s": asked, "achieved_per_s": reached}
        )
        return replace(measured, metrics=metrics, health=health)

    return script


def test_rates_that_an_arm_cannot_reach_are_marked_and_not_compared(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """Throughput-latency curves: beyond 10 million a second latency is that of the queue."""
    fake.effect = lambda settings, env: float(settings["threads"])
    fake.script = open_loop(1e7)
    study = ONE.replace('["latency_p99"]', '["throughput"]').replace(
        'primary = "throughput"', 'primary = "latency_p50"'
    )
    axis = '[[axis]]\nname = "threads"\npoints = [1, 4, 8, 16]\n'
    bundle = ran(tmp_path, read_study, fake, text_of(axis, study))
    curve = curve_of(bundle)
    contrast = only(curve)
    assert words(contrast)[-1] == "invalid"
    assert "invalid" not in words(contrast)[:-1]
    assert contrast.effects[-1].estimate is None
    assert "saturated" in contrast.effects[-1].reason
    assert "is not compared at threads = 16" in contrast.sentence
    last = curve.points[-1].levels
    assert all(level.saturated and level.value is None for level in last)
    assert [level.reached for level in last] == [1e7, 1e7]
    assert not any(level.saturated for p in curve.points[:-1] for level in p.levels)
    runs = [r for r in bundle.runs() if r.case == "threads=16"]
    assert len(runs) == 2, "a point that is not compared leaves the schedule"


# the law


def test_the_law_is_fitted_to_every_arm_where_it_is_asked_for(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """As design scaling does, by the same arithmetic."""
    fake.effect = lambda s, e: s["threads"] / (1 + 0.05 * (s["threads"] - 1))
    axis = '[[axis]]\nname = "threads"\npoints = [1, 2, 4, 8, 16, 32]\nusl = true\n'
    bundle = ran(tmp_path, read_study, fake, text_of(axis), facts={**FACTS, "cpus": 64})
    found = bundle.verdicts().scaling
    assert [row.configuration for row in found] == ["baseline", "cache"]
    for row in found:
        assert row.contention is not None
        assert row.contention.value == pytest.approx(0.05, abs=0.01)
        assert row.levels == [1, 2, 4, 8, 16, 32]


# what spoils it


def test_no_crossing_is_claimed_where_nothing_is_valid(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """A witness that does not hold at a point takes it out of the curve."""
    fake.lies = {"padding": 64, "lock_stride_bytes": 64}
    cache = 'name = "cache"\nchange = "engine.data_cache"'
    padding = 'name = "padding"\nchange = "engine.padding"\noff = 64\non = 128'
    text = text_of(study=ONE.replace(cache, padding))
    contrast = only(curve_of(ran(tmp_path, read_study, fake, text)))
    assert set(words(contrast)) == {"invalid"}
    assert not contrast.crossings
    assert {e.estimate for e in contrast.effects} == {None}


def test_reasons_are_data(tmp_path: Path, read_study, fake: FakeTarget) -> None:
    """A program reads the crossing without reading a sentence."""
    fake.effect = over_threads(7)
    crosses, said = only(curve_of(ran(tmp_path, read_study, fake))).reasons
    assert crosses.code is Code.CROSSES
    assert (crosses.fields["low"], crosses.fields["high"]) == ("4", "16")
    assert said.code is Code.CURVE_WORDS
    assert said.fields["helps"] == ("16", "64")


@pytest.mark.parametrize("design", ["slices", "calibrated", "runs"])
def test_points_can_be_measured_in_every_way(
    tmp_path: Path, read_study, fake: FakeTarget, design: str
) -> None:
    """Arms that take turns live with those of their own point."""
    fake.effect = over_threads(7)
    text = text_of().replace('window = "300ms"', f'window = "500ms"\ndesign = "{design}"')
    bundle = ran(tmp_path, read_study, fake, text)
    assert bundle.plan.measuring == design
    (crossing,) = only(curve_of(bundle)).crossings
    assert (crossing.low, crossing.high) == (4, 16)


def test_full_runs_every_block_of_every_point_and_of_those_added(
    tmp_path: Path, read_study, fake: FakeTarget
) -> None:
    """No early stop: each point has the planned blocks."""
    fake.effect = over_threads(6, slope=0.15)
    bundle = ran(tmp_path, read_study, fake, text_of(REFINED), full=True)
    verdicts = bundle.verdicts()
    assert verdicts.planned is not None
    assert {e.blocks for e in only(curve_of(bundle)).effects} == {verdicts.planned.blocks}
    assert not differences(bundle)
