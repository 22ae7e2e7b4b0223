"""The answer in plain words: it says what the verdicts say, and nothing more."""

from __future__ import annotations

import re
from typing import Any

import pytest
from report_samples import Made

from assay.reasons import Code, Reason
from assay.record import Bundle
from assay.report.words.answer import answer, by_how_much, moves
from assay.report.words.wording import as_measured, listed
from assay.verdict.rows import Row, Verdicts


def rows(bundle: Bundle) -> dict[str, Row]:
    """The primary rows of a bundle by what they are about."""
    verdicts = bundle.verdicts()
    return {r.contrast.of: r for r in verdicts.verdicts if r.metric == verdicts.primary}


def changed(verdicts: Verdicts, of: str, **fields: Any) -> Verdicts:
    """The same verdicts with fields of one arm's rows changed."""
    found = [r.model_copy(update=fields) if r.contrast.of == of else r for r in verdicts.verdicts]
    return verdicts.model_copy(update={"verdicts": found})


def test_the_answer_says_what_to_take_what_to_leave_and_what_does_nothing(samples: Made) -> None:
    """One sentence a word, the recommendation first."""
    take, leave, nothing = samples.view("plain").answer
    assert take.startswith("Take cache: it raises throughput by ")
    assert leave.startswith("Do not take hint: it lowers throughput by ")
    assert nothing == "No difference larger than 5 %: padding."


def test_a_metric_of_which_less_is_better_is_told_as_measured(samples: Made) -> None:
    """What helps lowers a latency; the numbers are changes of the latency itself."""
    bundle = samples.bundle("latency")
    assert samples.view("latency").answer[0].startswith("Take cache: it lowers latency_p99 by 2")
    row = rows(bundle)["cache"]
    assert row.low is not None
    assert as_measured(row).high == pytest.approx(1 / (1 + row.low) - 1)
    assert moves(rows(bundle)["hint"]).startswith("raises latency_p99 by ")


def test_a_ladder_is_taken_up_to_its_last_rung_that_helped(samples: Made) -> None:
    """Rungs are told as steps."""
    said = samples.view("ladder").answer
    assert said[0].startswith("Take every step up to cache: ")
    assert said[1] == "No difference larger than 5 %: cache+padding after cache."


def test_an_interaction_is_told_in_words(samples: Made) -> None:
    """A factorial study says whether the changes depend on each other."""
    bundle = samples.bundle("factorial")
    assert "Together, hint and cache bring what the two bring apart, within 5 %." in answer(
        bundle.plan, bundle.verdicts()
    )
    more = changed(bundle.verdicts(), "hint:cache", word="helps")
    assert "Together, hint and cache bring more than the two apart would." in answer(
        bundle.plan, more
    )


def test_cases_that_disagree_are_named(samples: Made) -> None:
    """What helps over all cases and hurts in one of them is not told as good for all."""
    said = " ".join(samples.view("cases").answer)
    assert "The cases differ about hint: hurts in few threads and helps in many threads." in said
    assert "differ about cache" not in said


def test_nothing_decided_is_no_answer(samples: Made) -> None:
    """A study without a decided contrast recommends nothing and says what is unsure."""
    said = samples.view("stopped").answer
    assert said == [
        "There is no answer yet: nothing is decided.",
        "Unsure, and not bounded yet: hint, cache and padding.",
    ]


def test_an_unsure_effect_comes_with_its_interval(samples: Made) -> None:
    """Undecided with bounds tells them; without bounds it says so."""
    said = " ".join(samples.view("undecided").answer)
    unsure = said.split("Unsure: ", 1)[1]
    assert re.search(r"padding \(anywhere in \[-[\d.]+ %, \+[\d.]+ %\]\)", unsure)


def test_without_a_witness_there_is_no_verdict_in_the_answer(samples: Made) -> None:
    """An invalid contrast is told as such, whatever its numbers."""
    said = " ".join(samples.view("invalid").answer)
    assert "No valid verdict, because what was compared was not seen in force" in said
    assert said.endswith("in every run: padding.")


def test_when_nothing_helps_nothing_is_taken(samples: Made) -> None:
    """The answer says so, and says "yet" only while something is open."""
    bundle = samples.bundle("plain")
    none = changed(bundle.verdicts(), "cache", word="no difference")
    none = none.model_copy(update={"recommended": None})
    nothing = "no change here is shown to make throughput better."
    assert answer(bundle.plan, none)[0] == f"Take nothing: {nothing}"
    opened = changed(none, "padding", word="undecided")
    assert answer(bundle.plan, opened)[0] == f"Take nothing yet: {nothing}"


def test_a_placebo_that_works_takes_the_answer_away(samples: Made) -> None:
    """An effect of what cannot matter is a reason to distrust the study."""
    bundle = samples.bundle("plain")
    arms = [a.model_copy(update={"placebo": a.name == "cache"}) for a in bundle.plan.arms]
    plan = bundle.plan.model_copy(update={"arms": arms})
    assert "The placebo cache cannot matter, yet it helps" in answer(plan, bundle.verdicts())[-1]


def test_a_verdict_that_is_not_robust_is_called_so(samples: Made) -> None:
    """What the ruling says against its own word reaches the answer."""
    bundle = samples.bundle("plain")
    reasons = [Reason.of(Code.ABOVE_ZERO), Reason.of(Code.NOT_ROBUST, word="undecided")]
    warned = changed(bundle.verdicts(), "cache", reasons=reasons)
    assert "The verdict on cache is not robust: the mean-based interval says undecided." in answer(
        bundle.plan, warned
    )


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.045, 0.133, "by 4.5 % to 13.3 %"),
        (0.045, None, "by at least 4.5 %"),
        (None, None, "by an amount that nothing bounds yet"),
        (0.05, 0.05, "by 5.0 %"),
        (-0.2, -0.1, "by 10.0 % to 20.0 %"),
    ],
)
def test_the_size_of_an_effect_in_words(
    samples: Made, low: float | None, high: float | None, said: str
) -> None:
    """Both ends, the nearer first; one end is a bound."""
    row = rows(samples.bundle("plain"))["cache"]
    assert by_how_much(row.model_copy(update={"low": low, "high": high})) == said


def test_names_are_listed_as_people_do() -> None:
    """One, two, many."""
    assert [listed("a"), listed("ab"), listed("abc")] == ["a", "a and b", "a, b and c"]
