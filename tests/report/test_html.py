"""The file itself: self-contained, small, safe, and complete without scripts."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from dom import parsed
from report_samples import EVIL, SAMPLES, Made

from assay.report.html.page import embedded, report_html, sentence, typeset
from assay.report.html.view import charts
from assay.study import read
from fakes import STUDY, FakeTarget, run_fake

ROOT = Path(__file__).parent.parent.parent
VENDOR = ROOT / "src" / "assay" / "report" / "html" / "vendor"


def data(html: str) -> dict:
    """What the page holds for its charts."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert found
    return json.loads(found[1])


@pytest.mark.parametrize("name", SAMPLES)
def test_a_report_loads_nothing(samples: Made, name: str) -> None:
    """No element refers to anything outside the file, and the page's policy forbids it."""
    html = samples.html(name)
    assert parsed(html).loads == []
    assert "default-src 'none'" in html
    assert "@import" not in html
    assert "url(" not in (ROOT / "src/assay/report/html/templates/report.css").read_text()


def test_a_report_is_small(samples: Made) -> None:
    """The page without its data stays far below the limit of 1.5 MB."""
    html = samples.html("empty")
    assert len(html.encode()) < 400_000


@pytest.mark.parametrize("name", SAMPLES)
def test_the_data_in_the_page_is_the_view(samples: Made, name: str) -> None:
    """What is embedded comes out as what was put in."""
    assert data(samples.html(name)) == json.loads(json.dumps(charts(samples.view(name))))


def test_embedded_data_cannot_end_its_element() -> None:
    """No character that could begin markup or a line of script is left."""
    text = embedded({"a": "</script><!--&\u2028\u2029"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"a": "</script><!--&\u2028\u2029"}


def test_embedded_data_has_no_number_that_is_none() -> None:
    """NaN is no JSON and is refused, not written."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded({"a": float("nan")})


def test_markup_in_a_study_is_text_in_its_report(samples: Made) -> None:
    """A study called <script> shows as such; the file holds no such element."""
    html = samples.html("evil")
    assert EVIL not in html
    assert EVIL in parsed(html).text
    assert parsed(html).elements["script"] == 3
    assert parsed(html).elements["img"] == 0


@pytest.mark.parametrize(
    "name", ["plain", "factorial", "cases", "invalid", "stopped", "flip", "race", "told-apart"]
)
def test_without_scripts_the_answer_is_there(samples: Made, name: str) -> None:
    """Answer, banners, every verdict with its interval and reason are plain text."""
    said, text = samples.view(name), parsed(samples.html(name)).text
    expected = [*said.answer, *(b.title for b in said.banners)]
    for section in (s for group in said.verdicts.groups for s in group.sections):
        expected += [section.title, section.note]
        for row in section.rows:
            expected += [row.label, row.word, row.interval, row.reason]
            expected += row.evidence
    for wanted in expected:
        assert typeset(wanted) in text or wanted in text
    assert "Charts need JavaScript" in text


def test_sections_stand_in_the_order_of_importance(samples: Made) -> None:
    """The picture first, then verdicts, how to check them last."""
    found = re.findall(r'<section id="(\w+)">', samples.html("plain"))
    assert found == [
        "effects",
        "verdicts",
        "causes",
        "best",
        "runs",
        "latency",
        "cpus",
        "metrics",
        "witnesses",
        "plan",
        "host",
        "check",
    ]


@pytest.mark.parametrize("name", ["empty", "unmeasured"])
def test_a_section_with_nothing_to_show_says_so(samples: Made, name: str) -> None:
    """No place for a chart that cannot be drawn."""
    html = samples.html(name)
    for kind in ("forest", "runs", "latency", "cpus"):
        sentence_ = getattr(samples.view(name), kind).empty
        assert (sentence_ in html) if sentence_ else (f'data-chart="{kind}"' in html)


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("[-1.2 %, +3 %]", "[\u22121.2\u00a0%, +3\u00a0%]"),
        ("[-inf, +3 %]", "[\u2212inf, +3\u00a0%]"),
        ("2024-05-06 and x-86", "2024-05-06 and x-86"),
    ],
)
def test_numbers_are_set_as_in_print(written: str, printed: str) -> None:
    """Minus signs and percent signs, but not dates or names."""
    assert typeset(written) == printed


def test_a_reason_becomes_a_sentence() -> None:
    """A capital, one full stop, nothing else."""
    assert sentence("you stopped it") == "You stopped it."
    assert sentence("Done.") == "Done."


def test_the_chart_library_is_the_one_that_was_built() -> None:
    """Its digest is the one in scripts/vendor-charts, and its licences stand beside it."""
    script = (ROOT / "scripts" / "vendor-charts").read_text()
    pinned = re.search(r"^BUNDLE_SHA256=([0-9a-f]{64})$", script, re.M)
    assert pinned
    library = (VENDOR / "plot.js").read_bytes()
    assert hashlib.sha256(library).hexdigest() == pinned[1]
    assert b"</script" not in library
    licences = (VENDOR / "LICENSES.txt").read_text()
    for name in ("@observablehq/plot 0.6.17 (ISC)", "d3-scale ", "d3-shape ", "isoformat "):
        assert name in licences


def test_latencies_that_are_means_of_batches_say_so(tmp_path: Path) -> None:
    """A lock is taken in nanoseconds: what is shown is the mean of 64 of them."""
    fake = FakeTarget(script=lambda number, m: replace(m, latency_of="batches of 64"))
    study = read("fake.toml", STUDY, Path("."), targets={"engine": fake})
    said = "One latency is the mean over batches of 64"
    assert said in report_html(run_fake(tmp_path / "batches", fake, study))
    plain = FakeTarget()
    assert said not in report_html(run_fake(tmp_path / "plain", plain, study))
