"""What a word depends on beside its interval: total work, steps, trends, failures, carry-over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.native.messages import WindowInterval
from assay.reasons import Code
from assay.record import Bundle, differences
from assay.report.html.view import view
from assay.targets import Launch, Measured
from assay.verdict.rows import Row
from fakes import STUDY, FakeTarget, run_fake

CACHE = '[[factor]]\nname = "cache"\nchange = "engine.data_cache"\n'
LONG = {"decide__budget": '"400s"', "measure__also": "[]"}


def row_of(bundle: Bundle, arm: str) -> Row:
    return next(r for r in bundle.verdicts().verdicts if r.arm == arm and r.metric == "throughput")


def codes(row: Row) -> set[Code]:
    return {reason.code for reason in row.reasons}


def hinted(settings: Mapping[str, Any]) -> bool:
    return settings["hint"] == "pause"


class EveryTenth:
    """The hint is faster by `gain`, but every tenth of its runs keeps only `kept` of its speed."""

    def __init__(self, gain: float, kept: float, every: int = 10) -> None:
        self.gain, self.kept, self.every, self.runs = gain, kept, every, 0

    def __call__(self, settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
        if not hinted(settings):
            return 1.0
        self.runs += 1
        return (1 + self.gain) * (self.kept if self.runs % self.every == 5 else 1.0)


def test_an_arm_that_helps_in_most_runs_and_does_less_work_in_all_says_so(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """+8 % typically, nine tenths lost in every tenth run: 3 % less in all."""
    fake.effect, fake.noise = EveryTenth(gain=0.08, kept=0.1), 0.004
    bundle = run_fake(tmp_path / "b", fake, read_study(**LONG))
    row = row_of(bundle, "hint")
    assert (row.word, Code.TYPICAL_ONLY in codes(row)) == ("helps", True)
    assert row.total is not None
    assert row.total.low is not None
    assert row.total.low < -0.05 < row.low
    told = " ".join(view(bundle).answer)
    assert "in a typical run" in told
    assert "Of hint, this is the typical run; total work, all runs together, is not shown" in told
    assert differences(bundle) == []


def test_an_arm_that_helps_in_all_runs_needs_no_such_remark(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """Its total stands beside the typical run, and they agree."""
    fake.effect = lambda settings, env: 1.08 if hinted(settings) else 1.0
    row = row_of(run_fake(tmp_path / "b", fake, read_study(**LONG)), "hint")
    assert (row.word, Code.TYPICAL_ONLY in codes(row)) == ("helps", False)
    assert row.total is not None
    assert row.total.low is not None
    assert row.total.high is not None
    assert row.total.low < 0.08 < row.total.high
    assert row.total.low > 0.05


def test_no_difference_is_withheld_where_total_work_differs(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """Equal in nine runs of ten, and twenty times as fast in the tenth."""
    fake.effect, fake.noise = EveryTenth(gain=0.0, kept=20.0), 0.03
    study = read_study(decide__smallest='"2%"', **LONG)
    row = row_of(run_fake(tmp_path / "b", fake, study, full=True), "hint")
    assert row.word == "undecided"
    assert Code.TOTAL_DIFFERS in codes(row)


def test_no_difference_is_withheld_where_the_metric_has_steps_wider_than_the_margin(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """A throughput rounded to whole hundreds of thousands, where 2 % is asked for."""

    def rounded(number: int, measured: Measured) -> Measured:
        whole = 1e5 * round(measured.metrics["throughput"] / 1e5)
        return replace(measured, metrics={**measured.metrics, "throughput": whole})

    fake.script, fake.noise = rounded, 0.05
    study = read_study(decide__margin='"2%"', decide__smallest='"2%"', decide__budget='"160s"')
    row = row_of(run_fake(tmp_path / "b", fake, study), "hint")
    assert row.word == "undecided"
    assert Code.COARSE_STEPS in codes(row)


def test_a_metric_that_never_moves_has_no_steps(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    fake.noise = 0.0
    study = read_study(decide__margin='"2%"', decide__smallest='"2%"', **LONG)
    assert row_of(run_fake(tmp_path / "b", fake, study), "hint").word == "no difference"


def test_no_difference_that_was_withheld_is_said_once_the_reason_is_gone(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """The first 24 runs warm up inside their window; those that follow do not."""

    def warming(number: int, measured: Measured) -> Measured:
        share = 0.47 if number < 24 else 0.5
        first = int(measured.operations * share)
        halves = [
            WindowInterval(
                index=k, start_ms=150.0 * k, length_ms=150.0, operations=n, errors=0, histogram=""
            )
            for k, n in enumerate((first, measured.operations - first))
        ]
        return replace(measured, intervals=halves)

    fake.script, fake.noise = warming, 0.04
    bundle = run_fake(tmp_path / "b", fake, read_study(**LONG))
    row = row_of(bundle, "hint")
    assert row.word == "no difference"
    assert row.blocks > 8
    assert differences(bundle) == []


def test_runs_that_fail_in_one_arm_are_told(tmp_path: Path, fake: FakeTarget, read_study) -> None:
    """Each failed run is tried once more; every second of the hint's fails both times."""
    launches: dict[int, int] = {}

    def broken(number: int, launch: Launch) -> bool:
        if not hinted(launch.settings):
            return False
        launches[launch.seed] = launches.get(launch.seed, 0) + 1
        return launch.seed % 2 == 0

    fake.broken = broken
    bundle = run_fake(tmp_path / "b", fake, read_study(**LONG))
    told = [r for r in bundle.verdicts().warning_reasons if r.code == Code.FAILURES_DEPEND]
    assert [reason.fields["arm"] for reason in told] == ["hint"]


class HandsOn:
    """An arm equal to the baseline; whatever runs after it is slower by `kappa`."""

    def __init__(self, kappa: float) -> None:
        self.kappa, self.after_hint = kappa, False

    def __call__(self, settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
        speed = 1 - self.kappa if self.after_hint else 1.0
        self.after_hint = hinted(settings)
        return speed


@pytest.mark.parametrize("kappa", [0.0, 0.1])
def test_what_one_of_two_arms_does_to_the_run_after_it_is_no_help(
    tmp_path: Path, fake: FakeTarget, read_study, kappa: float
) -> None:
    """Of two arms every order hands it on: the hint alone looks better, by half of it."""
    fake.effect, fake.noise = HandsOn(kappa), 0.03
    one = STUDY.replace(CACHE, "")
    study = read_study(one, measure__design='"runs"', **LONG)
    bundle = run_fake(tmp_path / "b", fake, study, full=True)
    row = row_of(bundle, "hint")
    warned = Code.CARRY_BETWEEN in {r.code for r in bundle.verdicts().warning_reasons}
    assert warned == (kappa > 0)
    assert row.word != "helps"
    assert (Code.CARRIED in codes(row)) == warned
