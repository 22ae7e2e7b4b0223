"""The page in a browser: every chart is drawn, with a dot for each run, and nothing fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Browser, framed
from dom import Page, parsed
from report_samples import SAMPLES, Made

from assay.report.html.view import CHARTS

pytestmark = pytest.mark.timeout(600)
"""The first test makes every sample and waits for its page: two minutes on a busy machine."""


@pytest.fixture(scope="session")
def dumped(samples: Made, browser: Browser) -> dict[str, Page]:
    """The samples' pages after their scripts have run."""
    return {name: parsed(browser.dom(samples.page(name))) for name in SAMPLES}


@pytest.mark.parametrize("name", SAMPLES)
def test_no_page_has_a_script_error(dumped: dict[str, Page], name: str) -> None:
    """A script that fails leaves a mark on the document; none is there, and the script ran."""
    root = dumped[name].root
    assert "data-error" not in root, root
    assert "data-drawn" in root


@pytest.mark.parametrize("name", SAMPLES)
def test_every_chart_that_has_something_to_show_is_drawn(
    samples: Made, dumped: dict[str, Page], name: str
) -> None:
    """A chart for each case, and none in a section that says that it is empty."""
    said = samples.view(name)
    for kind in CHARTS:
        section = getattr(said, kind)
        shown = section is not None and not getattr(section, "empty", "")
        expected = len(section.groups) if shown else 0
        assert dumped[name].svgs[kind] == expected, kind


@pytest.mark.parametrize("name", SAMPLES)
def test_every_run_is_a_dot_of_its_own_kind(
    samples: Made, dumped: dict[str, Page], name: str
) -> None:
    """Runs that count, were set aside, void and failed are all there."""
    groups = samples.view(name).runs.groups
    points = [p for g in groups for p in g.points]
    assert len(points) == len(samples.bundle(name).runs())
    for status in ("counts", "aside", "void", "failed"):
        expected = sum(p.status == status for p in points)
        assert dumped[name].marks["runs", f"run, {status}"] == expected


@pytest.mark.parametrize("name", SAMPLES)
def test_every_estimate_is_a_dot_and_every_interval_a_line(
    samples: Made, dumped: dict[str, Page], name: str
) -> None:
    """The forest plot shows each contrast that has an estimate, by its word."""
    said = samples.view(name).forest
    rows = [] if said.empty else [r for g in said.groups for r in g.rows]
    marks = dumped[name].marks
    known = [r for r in rows if r.estimate is not None]
    for word in ("helps", "hurts", "no difference", "undecided", "invalid"):
        expected = sum(r.word == word for r in known)
        assert marks["forest", f"estimate, {word}"] == expected
    free = sum(r.low is None and r.high is None for r in known)
    assert marks["forest", "unbounded"] == free
    assert marks["forest", "interval"] == len(known) - free


def test_every_kind_of_request_is_a_dot(samples: Made, dumped: dict[str, Page]) -> None:
    """Sorted by what the change does to it, under the comparison that it belongs to."""
    said = samples.view("kinds").kinds
    assert said is not None
    rows = [r for g in said.groups for r in g.rows]
    for word in ("helps", "hurts", "no difference", "undecided"):
        expected = sum(r.word == word for r in rows)
        assert dumped["kinds"].marks["kinds", f"estimate, {word}"] == expected
    for group in said.groups:
        found = [r.estimate for r in group.rows]
        assert found == sorted(found, reverse=True)
    assert dumped["evil-kinds"].elements["script"] == dumped["plain"].elements["script"]


@pytest.mark.parametrize("name", SAMPLES)
def test_every_arm_has_its_latency_curve_and_every_cpu_its_dot(
    samples: Made, dumped: dict[str, Page], name: str
) -> None:
    """One line an arm, one dot a CPU and arm."""
    said, marks = samples.view(name), dumped[name].marks
    curves = [a for g in said.latency.groups for a in g.arms if a.points]
    assert marks["latency", "quantiles"] == len(curves)
    cpus = [c for g in said.cpus.groups for a in g.arms for c in a.cpus]
    assert marks["cpus", "CPU"] == marks["cpus", "range"] == len(cpus)


def test_a_void_run_says_why_when_pointed_at(dumped: dict[str, Page]) -> None:
    """The reason stands in the dot's title, for void and for failed runs."""
    void = [t for kind, t in dumped["voids"].titles if kind == "runs" and "void:" in t]
    assert len(void) == 2
    assert all("the client was the limit" in t for t in void)
    failed = [t for kind, t in dumped["failures"].titles if "failed:" in t]
    assert failed
    assert all("did not start" in t for t in failed)


def test_what_users_write_never_becomes_markup(dumped: dict[str, Page]) -> None:
    """Markup in a study's name, question, factor or stand-in is shown as text."""
    page = dumped["evil"]
    assert page.elements["img"] == 0
    assert page.elements["script"] == dumped["plain"].elements["script"]
    assert page.text.count("<script>alert(1)</script>") > 5
    assert "</script><img src=x onerror=alert(2)>" in page.text


def test_a_script_that_fails_is_seen(samples: Made, browser: Browser, tmp_path: Path) -> None:
    """The mark that the tests above look for is made when a chart cannot be drawn."""
    broken = tmp_path / "broken.html"
    html = samples.page("plain").read_text("utf-8")
    broken.write_text(html.replace('"points":', '"pints":'), "utf-8")
    page = parsed(browser.dom(broken))
    assert "data-error" in page.root
    assert "This chart could not be drawn" in page.text


@pytest.mark.parametrize(
    "name", ["cases", "evil", "wide", "race", "fraction", "scaling", "evil-screen"]
)
@pytest.mark.parametrize("width", [360, 1200])
def test_a_page_does_not_scroll_sideways(
    samples: Made, browser: Browser, tmp_path: Path, width: int, name: str
) -> None:
    """Charts and tables fit the width there is, on a phone and on a desk."""
    question = "page.scrollWidth - page.clientWidth"
    outer = framed(samples.page(name), tmp_path, width, question)
    root = parsed(browser.dom(outer, "--allow-file-access-from-files")).root
    assert root["data-answer"] == "0"


DARK = "--blink-settings=preferredColorScheme=0"


@pytest.mark.parametrize(
    ("options", "background"), [([], "rgb(255, 255, 255)"), ([DARK], "rgb(20, 24, 27)")]
)
def test_the_page_follows_the_readers_mode(
    samples: Made, browser: Browser, tmp_path: Path, options: list[str], background: str
) -> None:
    """Light and dark, and a picture can be taken of both."""
    page, picture = samples.page("plain"), tmp_path / "page.png"
    question = "f.contentWindow.getComputedStyle(page.querySelector('body')).backgroundColor"
    outer = framed(page, tmp_path, 900, question)
    root = parsed(browser.dom(outer, "--allow-file-access-from-files", *options)).root
    assert root["data-answer"] == background
    browser.screenshot(page, picture, "--window-size=1000,1400", *options)
    assert picture.read_bytes().startswith(b"\x89PNG")
