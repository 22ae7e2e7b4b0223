"""Two speeds: named in the answer, in `show`, in `explain` and in the report, and drawn apart."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from browser import Browser
from dom import parsed
from report_samples import Made

from assay.explain import explain
from assay.report.terminal.explained import explanation_lines
from assay.report.terminal.verdicts import verdict_lines
from assay.report.words.explained import cause
from assay.report.words.speeds import TOGETHER, NamedSpeeds, meaning, parted, share, speeds_of

BOTH = NamedSpeeds("hint", "baseline", 0.4, 12, 30, (11, 30), 0, ("spins", 400.0, 10.0))


def test_every_run_of_an_arm_is_slow_or_fast_and_the_medians_are_of_each(samples: Made) -> None:
    """In the unit of the axis; no median lies between the two groups."""
    found = samples.view("speeds").speeds
    assert found is not None
    (group,) = found.groups
    assert {arm.arm for arm in group.arms} >= {"baseline", "hint"}
    runs = [p for p in samples.view("speeds").runs.groups[0].points if p.status == "counts"]
    for arm in group.arms:
        assert len(arm.dots) == sum(p.arm == arm.arm for p in runs)
        for mark in arm.marks:
            own = [d.value for d in arm.dots if d.speed == mark.speed]
            assert mark.value == statistics.median(own)
        slow, fast = ([d.value for d in arm.dots if d.speed == s] for s in ("slow", "fast"))
        assert max(slow) < min(fast)
        assert arm.heading == f"{arm.arm}: {len(slow)} slow, {len(fast)} fast"


def test_an_arm_with_one_speed_stands_beside_that_with_two(samples: Made) -> None:
    """The baseline is what the arm is compared with, and has a strip of its own."""
    found = samples.view("own-speeds").speeds
    assert found is not None
    (group,) = found.groups
    headings = {arm.arm: arm.heading for arm in group.arms}
    assert headings["baseline"] == "baseline: one speed"
    (row,) = group.rows
    assert row.arm == "hint"
    assert "hint makes the two" in row.meaning


def test_an_arm_that_shares_its_blocks_speed_is_said_to_be_untouched(samples: Made) -> None:
    """The machine's two speeds last longer than a block: no warning, but shown all the same."""
    found = samples.view("together").speeds
    assert found is not None
    assert {row.meaning for row in found.groups[0].rows} == {TOGETHER}
    assert not speeds_of(samples.bundle("together").verdicts())


def test_no_section_of_two_speeds_where_every_arm_has_one(samples: Made) -> None:
    """Nothing to show is not shown."""
    assert samples.view("plain").speeds is None
    assert 'id="speeds"' not in samples.html("plain")


def test_the_answer_names_two_speeds_and_what_tells_them_apart(samples: Made) -> None:
    """One sentence, after what the verdicts say."""
    (said,) = [s for s in samples.view("own-speeds").answer if s.startswith("Two speeds")]
    assert "runs of hint are fast or slow" in said
    assert said.endswith("spins_per_operation.lock tells them apart.")


def test_show_and_explain_name_two_speeds_once(samples: Made) -> None:
    """With the counter and the meaning; the warning is not printed a second time."""
    bundle = samples.bundle("own-speeds")
    lines = [line.text for line in verdict_lines(bundle.verdicts(), bundle.plan)]
    assert any(line.startswith("Two speeds: no single number") for line in lines)
    assert sum("fall into two groups" in line for line in lines) == 0
    assert any("spins_per_operation.lock tells them apart" in line for line in lines)
    found = explain(bundle)
    (hint,) = [one for one in found if one.verdict.arm == "hint"]
    assert "two speeds of hint" in cause(hint)
    explained = [line.text for line in explanation_lines(bundle.plan, found)]
    assert any("speeds    hint: " in line and "hint makes the two" in line for line in explained)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (BOTH, "they are the machine's, not the arm's, and make the interval wide"),
        (replace(BOTH, within=(0.03, 0.02, 0.04, 16)), "inside one speed hint is +3.0 % [+2.0 %"),
        (replace(BOTH, differ=1), "so the two speeds are a part of the effect"),
        (replace(BOTH, others=None), "so hint makes the two"),
        (replace(BOTH, arm="baseline", others=None), "every change takes them away"),
    ],
)
def test_what_a_verdict_means_depends_on_whose_the_speeds_are(
    found: NamedSpeeds, said: str
) -> None:
    """The machine's, the arm's, or the baseline's alone."""
    assert said in meaning(found)


def test_how_many_are_slow_and_by_what_they_are_known_is_said() -> None:
    """And that nothing tells them apart, where nothing does."""
    assert share(BOTH) == "12 of 30 runs are slow, the two speeds 40 % apart"
    assert parted(BOTH) == "spins tells them apart: 400 in slow runs, 10 in fast ones"
    assert parted(replace(BOTH, counter=None)) == "no counter of these runs tells them apart"


def test_both_speeds_are_drawn_with_a_shape_of_their_own(samples: Made, browser: Browser) -> None:
    """A mark a run, by its speed; the words stand in the picture."""
    said = samples.view("speeds").speeds
    assert said is not None
    page = parsed(browser.dom(samples.page("speeds")))
    dots = [d for g in said.groups for a in g.arms for d in a.dots]
    for speed in ("slow", "fast", "one"):
        expected = sum(d.speed == speed for d in dots)
        assert page.marks["speeds", f"run, {speed}"] == expected
    marks = [m for g in said.groups for a in g.arms for m in a.marks]
    assert page.marks["speeds", "median"] == len(marks)
