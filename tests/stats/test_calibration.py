"""Calibrated runs: what the machine's speed did is taken out, and nothing else."""

from __future__ import annotations

import random
from itertools import combinations_with_replacement
from statistics import fmean, median

import pytest

from assay.stats.calibration import CalibratedRun, calibrated_levels

Blocks = list[dict[str, CalibratedRun]]


def made(
    seed: int, *, follows: float, gain: float = 0.0, blocks: int = 12, noise: float = 0.01
) -> Blocks:
    """Blocks of two arms on a machine of two speeds that a run follows so much."""
    chance = random.Random(seed)

    def run(level: float) -> CalibratedRun:
        speeds = [chance.choice([0.0, -0.7]) for _ in range(10)]
        did = [level + follows * speed + chance.gauss(0, noise) for speed in speeds]
        return CalibratedRun(did, [speed + chance.gauss(0, 0.005) for speed in speeds])

    return [{"a": run(0.0), "b": run(gain)} for _ in range(blocks)]


def contrasts(blocks: Blocks) -> list[float]:
    """Of each block, the second arm against the first."""
    return [row["b"] - row["a"] for row in calibrated_levels(blocks)]


def slow_twin(blocks: Blocks, slope: float) -> list[float]:
    """Contrasts with a given slope, pair by pair."""

    def level(run: CalibratedRun) -> float:
        left = [did - slope * speed for did, speed in zip(run.did, run.speed, strict=True)]
        return median((a + b) / 2 for a, b in combinations_with_replacement(left, 2))

    return [level(block["b"]) - level(block["a"]) for block in blocks]


def test_what_a_run_follows_is_taken_out_and_an_effect_stays() -> None:
    """The machine halves its speed; the arms differ by 5 %."""
    found = contrasts(made(1, follows=1.0, gain=0.05))
    assert fmean(found) == pytest.approx(0.05, abs=0.01)
    assert max(abs(value - 0.05) for value in found[3:]) < 0.05


def test_the_slope_is_what_the_insides_of_runs_show_less_one_standard_error() -> None:
    """With so many slices the error is small, and the contrasts are those of the true slope."""
    blocks = made(2, follows=0.6, blocks=40)
    assert contrasts(blocks)[-1] == pytest.approx(slow_twin(blocks, 0.6)[-1], abs=0.01)


def test_a_run_that_does_not_follow_the_calibration_is_left_as_it_is() -> None:
    """Nothing is added to its noise."""
    blocks = made(3, follows=0.0, blocks=40)
    plain = slow_twin(blocks, 0.0)
    assert fmean(v * v for v in contrasts(blocks)) <= 1.1 * fmean(v * v for v in plain)


def test_labels_have_no_say() -> None:
    """Arms that change places change the sign of every contrast, and nothing else."""
    blocks = made(4, follows=1.0, gain=0.3)
    chance = random.Random(4)
    turned = [chance.random() < 0.5 for _ in blocks]
    swapped = [
        {"a": block["b"], "b": block["a"]} if turn else block
        for block, turn in zip(blocks, turned, strict=True)
    ]
    expected = [-v if turn else v for v, turn in zip(contrasts(blocks), turned, strict=True)]
    assert contrasts(swapped) == pytest.approx(expected)


def test_a_later_block_changes_no_earlier_one() -> None:
    """A verdict that was reached stays what it was."""
    blocks = made(5, follows=0.8)
    assert contrasts(blocks)[:5] == contrasts(blocks[:5])


def test_a_block_without_runs_or_with_short_ones_is_no_error() -> None:
    """A run of one slice says nothing of what it follows."""
    one = CalibratedRun([1.0], [0.0])
    assert list(calibrated_levels([{}, {"a": one}])) == [{}, {"a": 1.0}]
