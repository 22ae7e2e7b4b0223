"""The smallest effect that a protocol could have seen."""

from __future__ import annotations

import math
import random

import pytest

from assay.claims import smallest_visible
from assay.claims.power import POWER
from claim_kit import only

PROTOCOL = """
[table.u]
columns = { isb = "%" }
rows = { four = ["2.70 - 10.75"] }
[protocol.p]
place = "page 1"
runs = 3
order = "not stated"
spread = "u.four.isb"
paired = true
[[statement]]
says = "2-5 %"
kind = "range"
stated = "2 - 5 %"
from = "u.isb"
protocol = "p"
"""


@pytest.mark.parametrize(("runs", "paired"), [(3, True), (3, False), (8, True), (20, False)])
def test_the_smallest_effect_is_found_as_often_as_is_said(runs: int, paired: bool) -> None:
    """The slow twin: 4,000 simulated protocols with that effect, judged by a t test."""
    effect = smallest_visible(runs, 1.0, paired=paired, known=False)
    assert effect is not None
    draw, found = random.Random(runs), 0
    freedom = runs - 1 if paired else 2 * runs - 2
    critical = {2: 4.302653, 4: 2.776445, 7: 2.364624, 38: 2.024394}[freedom]
    for _ in range(4000):
        a = [draw.gauss(effect, 1) for _ in range(runs)]
        b = [0.0] * runs if paired else [draw.gauss(0, 1) for _ in range(runs)]
        mean = (sum(a) - sum(b)) / runs
        squares = sum((x - sum(a) / runs) ** 2 for x in a) + sum(
            (x - sum(b) / runs) ** 2 for x in b
        )
        error = math.sqrt(squares / freedom * (1 if paired else 2) / runs)
        found += abs(mean) / error > critical
    assert found / 4000 == pytest.approx(POWER, abs=0.025)


def test_more_runs_see_smaller_effects_and_one_sees_none() -> None:
    """Unless its noise is assumed to be known."""
    seen = [smallest_visible(n, 0.02, paired=False, known=False) for n in (2, 3, 5, 10, 30)]
    assert seen == sorted(seen, reverse=True)  # type: ignore[type-var]
    assert smallest_visible(1, 0.02, paired=False, known=False) is None
    known = smallest_visible(1, 0.02, paired=False, known=True)
    assert known == pytest.approx(0.02 * math.sqrt(2) * (1.959964 + 1.281552))


def test_the_audit_says_what_three_runs_could_have_seen() -> None:
    """Noise from the printed range: (10.75 - 2.70) / 1.693."""
    row = only(PROTOCOL)
    assert "3 runs for each setting" in row.design
    assert "a noise of about 4.8 %" in row.design
    assert "cannot reach 5 % (its least p is 0.25)" in row.design
    assert row.row()["reason"].endswith(row.design)


def test_an_assumed_noise_is_called_an_assumption() -> None:
    """With its reason."""
    text = PROTOCOL.replace('spread = "u.four.isb"', 'assumed_noise = "2%"\nbecause = "a guess"')
    assert "assuming 2 % of noise from run to run (a guess)" in only(text).design
