"""Designs and the plan: which arms, in which order."""

from __future__ import annotations

from collections import Counter

import pytest

from assay.plan import Slot, block_order
from assay.study import Absent, arms, make_plan
from fakes import STUDY


def names(study) -> list[str]:
    return [a.name for a in arms(study)]


def with_design(design: str) -> str:
    return STUDY.replace('kind = "one-at-a-time"', design)


def test_one_at_a_time_runs_each_change_alone(read_study) -> None:
    """And the baseline first."""
    assert names(read_study()) == ["baseline", "hint", "cache"]


def test_a_factorial_runs_every_combination(read_study) -> None:
    """All levels of all factors."""
    study = read_study(with_design('kind = "factorial"'))
    assert sorted(names(study)) == ["aa-control", "baseline", "cache", "hint", "hint+cache"]


def test_a_ladder_climbs_in_the_order_given(read_study) -> None:
    """Each rung keeps those below."""
    study = read_study(with_design('kind = "ladder"\norder = ["cache", "hint"]'))
    assert names(study) == ["baseline", "cache", "cache+hint"]


def test_a_sweep_runs_the_levels_of_one_number(read_study) -> None:
    """The first level is the baseline."""
    text = with_design('kind = "sweep"\nfactor = "hint"')
    text = text.replace('change = "engine.spin_hint"\non = "pause"', SWEPT)
    assert names(read_study(text)) == ["baseline", "hint=2", "hint=4"]


SWEPT = 'change = "engine.threads"\nlevels = [1, 2, 4]'


def test_combinations_that_break_a_requirement_are_left_out(read_study) -> None:
    """The cache needs the hint: it never runs without."""
    text = with_design('kind = "factorial"')
    text = text.replace('name = "cache"', 'name = "cache"\nrequires = ["hint"]')
    assert sorted(names(read_study(text))) == ["baseline", "hint", "hint+cache"]


def test_an_absent_level_leaves_with_its_arms(read_study) -> None:
    """A factor with only its off level left goes too."""
    text = STUDY.replace('on = "pause"', 'levels = ["none", "pause", "isb"]')
    study = read_study(text).without(Absent("hint", "isb", "needs aarch64"))
    assert names(study) == ["baseline", "hint", "cache"]
    gone = study.without(Absent("hint", "pause", "a test"))
    assert names(gone) == ["baseline", "cache"]
    assert [a.level for a in gone.absent] == ["isb", "pause"]


def plan_of(study, seed: int = 1):
    return make_plan(
        study,
        version="0",
        seed=seed,
        study_sha256="",
        base="",
        overrides={},
        stand_ins={"engine": None},
        full=False,
        cpus=2,
    )


def test_the_same_seed_gives_the_same_schedule(read_study) -> None:
    """And another seed another one."""
    first, again, other = (plan_of(read_study(), s) for s in (1, 1, 2))
    assert first.model_dump_json() == again.model_dump_json()
    assert first.schedule != other.schedule


def test_the_order_of_factors_in_the_file_changes_no_block(read_study) -> None:
    """Arms are sorted before they are shuffled."""
    head, first, second = STUDY.split("[[factor]]")
    second, tail = second.split("[design]")
    turned = f"{head}[[factor]]{second}\n[[factor]]{first}[design]{tail}"
    assert plan_of(read_study()).schedule == plan_of(read_study(turned)).schedule


@pytest.mark.parametrize("attempt", [0, 1])
def test_blocks_are_uniform_permutations(attempt: int) -> None:
    """Each arm stands in each slot about equally often, whatever the attempt."""
    slots = [Slot(case="c", arm=a) for a in "abc"]
    seen: Counter = Counter()
    for block in range(3000):
        order = block_order(5, block, attempt, slots)
        assert sorted(s.arm for s in order) == ["a", "b", "c"]
        seen["".join(s.arm for s in order)] += 1
    assert len(seen) == 6
    assert all(400 < count < 600 for count in seen.values())
