"""The first sentence of a report: it is understood by anybody, and says what the verdicts say."""

from __future__ import annotations

from typing import Any

import pytest
from report_samples import Made

from assay.report.words.plain import is_better, plainly
from assay.verdict.rows import Verdicts


def worded(verdicts: Verdicts, word: str, **fields: Any) -> Verdicts:
    """The same verdicts with one word in all rows."""
    rows = [r.model_copy(update={"word": word}) for r in verdicts.verdicts]
    return verdicts.model_copy(update={"verdicts": rows, "recommended": None, **fields})


def test_what_helps_is_named_with_its_size(samples: Made) -> None:
    """As measured, and by the metric that was asked for."""
    assert samples.view("plain").plain.startswith("With cache it is faster, by ")
    assert samples.view("latency").plain.startswith("With cache it is quicker to answer, by ")
    assert samples.view("ladder").plain.startswith("With every step up to cache it is faster")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (
            "hurts",
            "hint, cache and padding make it slower; nothing that was tried makes it faster.",
        ),
        ("undecided", "It is not known yet whether anything that was tried makes it faster."),
        ("no difference", "Nothing that was tried makes a difference worth having."),
        ("invalid", "There is no answer: no comparison was valid."),
    ],
)
def test_a_study_in_which_nothing_helps_says_what_it_knows(
    samples: Made, word: str, said: str
) -> None:
    """One sentence a word."""
    bundle = samples.bundle("plain")
    assert plainly(bundle.plan, worded(bundle.verdicts(), word)) == said


def test_a_harness_with_differences_of_its_own_has_no_answer(samples: Made) -> None:
    """Nor has a study that has no verdict yet."""
    assert samples.view("told-apart").plain.startswith("There is no answer: two equal")
    assert samples.view("scaling").plain.endswith("not a yes or a no.")


def test_a_metric_without_a_word_of_its_own_is_named() -> None:
    """Families and kinds of latency go by their first word."""
    assert is_better("latency_p99")[0] == "quicker to answer"
    assert is_better("contention.row") == ("better by contention.row", "worse by contention.row")


def test_the_picture_stands_right_below_the_answer(samples: Made) -> None:
    """Sentence, picture, verdicts, and the rest on demand."""
    html = samples.html("plain")
    places = [html.index(t) for t in ('class="plainly"', 'id="effects"', 'id="verdicts"')]
    assert places == sorted(places)
    assert html.count('<details class="part"') == 3
