"""Two speeds in one arm: the study says so, names the counter, and what holds inside the groups."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from assay.reasons import Code, Reason
from assay.record import Bundle, differences
from fakes import FakeTarget, run_fake
from speeds_kit import TwoSpeeds

LONG = {"decide__budget": '"120s"', "measure__also": "[]"}


def run(
    folder: Path, fake: FakeTarget, study: Any, speeds: TwoSpeeds
) -> tuple[Bundle, dict[Any, Reason]]:
    """The study's bundle, and its warnings of groups by arm."""
    fake.effect, fake.script, fake.noise = speeds.speed, speeds.counted, 0.004
    bundle = run_fake(folder, fake, study, full=True)
    reasons = bundle.verdicts().warning_reasons
    return bundle, {r.fields["arm"]: r for r in reasons if r.code is Code.TWO_GROUPS}


def test_groups_that_both_arms_have_are_said_and_judged_within(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """A change of 3 % that runs of two speeds hide shows inside the groups."""
    bundle, warned = run(tmp_path / "b", fake, read_study(**LONG), TwoSpeeds(0.03, 0.4, 0.4))
    assert set(warned) == {"hint", "cache"}
    found = warned["hint"]
    name, slow, fast = found.fields["counter"]
    assert (name, slow > 400, fast < 11) == ("spins_per_operation.lock", True, True)
    effect, low, high, blocks = found.fields["within"]
    assert 0.02 < low < effect < high < 0.04
    assert blocks < found.fields["runs"]
    assert "Inside the groups hint is +3." in found.text
    assert found.text in bundle.verdicts().warnings
    assert differences(bundle) == []


def test_groups_that_only_one_arm_has_are_its_own(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """Nothing is judged within: which group a run is of is what the change does."""
    _, warned = run(tmp_path / "b", fake, read_study(**LONG), TwoSpeeds(0.0, 0.0, 0.5))
    (found,) = warned.values()
    assert "within" not in found.fields
    assert "those of baseline are of one group, so the change makes the groups" in found.text


def test_shares_that_differ_are_a_part_of_the_effect(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """Few slow runs of the baseline, and many of the arm."""
    study = read_study(**{**LONG, "decide__budget": '"250s"'})
    _, warned = run(tmp_path / "b", fake, study, TwoSpeeds(0.0, 0.25, 0.8))
    found = warned["hint"]
    assert found.fields["differ"] == 1
    assert "The shares of slow runs differ, so the groups are a part of the effect." in found.text
    assert "within" not in found.fields


def test_speeds_of_the_machine_that_last_longer_than_a_block_are_no_warning(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """Both arms of a block have them, so pairs take them out."""
    made = itertools.count()
    fake.effect, fake.noise = (lambda s, e: 0.6 if next(made) // 30 % 2 else 1.0), 0.01
    study = read_study(decide__smallest='"0.5%"', decide__margin='"0.5%"', **LONG)
    verdicts = run_fake(tmp_path / "b", fake, study).verdicts()
    assert verdicts.blocks >= 20
    assert not [r for r in verdicts.warning_reasons if r.code is Code.TWO_GROUPS]
