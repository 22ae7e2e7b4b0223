"""Curves as they are told: a sentence first, then the pictures, then the points."""

from __future__ import annotations

import csv
import io

import pytest
from browser import Browser
from dom import Page, parsed
from report_samples import Made

from assay.export import chart_names, table_of, write_csv
from assay.record import Bundle
from assay.report import verdict_lines
from assay.report.html.view import view
from assay.report.words.answer import answer
from cli_kit import assay


def text(bundle: Bundle) -> str:
    return "\n".join(line.text for line in verdict_lines(bundle.verdicts(), bundle.plan))


@pytest.fixture(scope="session")
def drawn(samples: Made, browser: Browser) -> dict[str, Page]:
    """Pages of studies along an axis, after their scripts have run."""
    names = ("curves", "refined", "rates", "evil-curves")
    return {name: parsed(browser.dom(samples.page(name))) for name in names}


def test_the_answer_is_where_a_change_begins_to_help(samples: Made) -> None:
    """In its first sentence, with the interval; then how each arm scales."""
    bundle = samples.bundle("curves")
    said = answer(bundle.plan, bundle.verdicts())
    assert said[0].startswith("Cache helps from threads = ")
    assert "on [4, 8], and hurts below" in said[0]
    assert any(sentence.startswith("baseline: ") and "contention" in sentence for sentence in said)


def test_the_terminal_has_the_sentence_before_the_points(samples: Made) -> None:
    """A line each, with what both arms measured, the word and the band."""
    said = text(samples.bundle("refined"))
    lines = said.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("cache helps from"))
    assert lines[first + 1] == "cache against baseline, over threads"
    assert lines[first + 2].split() == [
        *("threads", "baseline", "cache", "verdict", "band", "estimate", "blocks"),
    ]
    assert "+ added where the crossing was" in said
    assert "Scaling" not in said


def test_saturated_points_are_said_in_the_terminal(samples: Made) -> None:
    """With what was reached, and why they are not compared."""
    said = text(samples.bundle("rates"))
    assert "baseline reached" in said
    assert "saturated" in said
    assert "at 12: " in said
    assert "9 Mop/s" in said


def test_the_view_has_a_picture_of_arms_and_one_of_each_comparison(samples: Made) -> None:
    """On the axis of the study."""
    section = view(samples.bundle("curves")).curves
    assert section is not None
    assert (section.axis, section.logarithmic) == ("threads", True)
    arms, effect = section.groups
    assert [curve.arm for curve in arms.arms] == ["baseline", "cache"]
    assert len(effect.effects) == 6
    assert [(c.low, c.high) for c in effect.crossings] == [(4, 8)]
    assert effect.sentence.startswith("cache helps from")
    assert [row.text for row in effect.cells] == ["1", "2", "4", "8", "16", "32"]


def test_a_study_without_an_axis_has_no_curves(samples: Made) -> None:
    """Nor a table of them."""
    bundle = samples.bundle("plain")
    assert view(bundle).curves is None
    assert table_of(bundle, "curves") == {}


@pytest.mark.parametrize("name", ["curves", "refined", "rates", "evil-curves"])
def test_the_page_draws_its_curves(drawn: dict[str, Page], name: str, samples: Made) -> None:
    """Every picture, without an error; what users write is text."""
    page = drawn[name]
    assert "data-error" not in page.root
    section = view(samples.bundle(name)).curves
    assert section is not None
    assert page.svgs["curves"] == len(section.groups)


def test_the_crossing_is_drawn_with_its_interval(drawn: dict[str, Page]) -> None:
    """A bar and a line in it; a band and an interval at each point."""
    marks = drawn["curves"].marks
    assert marks["curves", "crossing interval"] == 1
    assert marks["curves", "crossing"] == 1
    assert marks["curves", "band"] == 1
    assert marks["curves", "interval"] == 6
    assert marks["curves", "measured, cache"] == 6


def test_saturated_points_are_drawn_as_crosses(drawn: dict[str, Page]) -> None:
    """At the foot, since their latency is that of a queue; and are not on the curve."""
    marks = drawn["rates"].marks
    assert marks["curves", "saturated, cache"] == 1
    assert marks["curves", "measured, cache"] == 4
    assert marks["curves", "estimate, invalid"] == 1


def test_the_page_says_the_sentence_and_has_the_numbers(drawn: dict[str, Page]) -> None:
    """In words, and in a table that needs no script."""
    said = " ".join(drawn["refined"].text.split())
    assert "Cache helps from threads = " in said
    assert "the numbers" in said
    assert "added" in said


def test_the_table_of_curves_is_tidy(samples: Made) -> None:
    """A row a point and comparison, with the point as a number; runs and verdicts have it too."""
    bundle = samples.bundle("curves")
    table = table_of(bundle, "curves")
    assert table["value"] == [1, 2, 4, 8, 16, 32]
    assert table["crossing_low"] == [None, None, 4, 4, None, None]
    assert set(table["of"]) == {"cache"}
    assert all(level > 0 for level in (*table["level"], *table["against_level"]))
    assert set(table_of(bundle, "runs")["axis.threads"]) == {1, 2, 4, 8, 16, 32}
    verdicts = table_of(bundle, "verdicts")
    assert {v for v in verdicts["axis.threads"] if v is not None} == {1, 2, 4, 8, 16, 32}
    written = io.StringIO()
    write_csv(table, written)
    assert len(list(csv.DictReader(io.StringIO(written.getvalue())))) == 6


def test_curves_are_among_the_charts_that_are_files(samples: Made) -> None:
    """And no forest, which would be the same again, point by point."""
    names = chart_names(view(samples.bundle("curves")))
    assert "curves" in names
    assert "scaling" in names
    assert "forest" not in names


@pytest.mark.parametrize("name", ["curves", "refined", "rates"])
def test_every_command_reads_a_bundle_along_an_axis(samples: Made, name: str) -> None:
    """Shown, explained, verified and exported; nothing on stderr but the story."""
    folder = samples.bundle(name).folder
    shown = assay("show", folder)
    assert shown.returncode == 0, shown.stderr
    assert "over threads" in shown.stdout
    explained = assay("explain", folder)
    assert explained.returncode == 0, explained.stderr
    verified = assay("verify", folder)
    assert verified.returncode == 0, verified.stderr
    table = assay("export", folder, "--table", "curves")
    assert table.stdout.startswith("case,axis,value,text,added,kind,of,given,against,word")
