"""The page in real Chromium: a study that grows before its eyes, keys, names of strangers."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from devtools import Tab, tab

from assay.study import Study, read
from fakes import STUDY, FakeTarget, run_fake
from ui_kit import EVIL, Visitor, growing, served

TAB, ENTER = ("Tab", 9), ("Enter", 13)
NO_ERROR = "!document.documentElement.dataset.error"
SHAPES = "figure[data-chart=runs] [aria-description^='run,'] :is(circle, path)"
DOTS = f'document.querySelectorAll("{SHAPES}").length'


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """A page of a browser; without one the tests fail and say how to get it."""
    program = shutil.which("chromium")
    assert program, "there is no chromium: run scripts/install-test-tools"
    with tab(program, tmp_path_factory.mktemp("profile"), "--window-size=1100,900") as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that the page shows."""
    made = tmp_path / "shown"
    made.mkdir()
    return made


@pytest.fixture
def visitor(folder: Path) -> Iterator[Visitor]:
    """Somebody who has entered."""
    with served(folder) as found:
        yield found.enter()


def enter(chromium: Tab, visitor: Visitor, path: str = "/") -> None:
    """Open a page by the link that the terminal shows."""
    address = f"http://127.0.0.1:{visitor.port}"
    chromium.open(f"{address}/?token={visitor.access.token}")
    chromium.until("location.search === '' && document.readyState === 'complete'")
    if path != "/":
        chromium.open(f"{address}{path}")
        chromium.until(f"location.pathname === '{path}' && document.readyState === 'complete'")


def test_a_study_grows_before_the_eyes(
    chromium: Tab, visitor: Visitor, folder: Path, fake: FakeTarget, tmp_path: Path
) -> None:
    """Dots, blocks and words come without a reload, nothing is refused by the policy, a status line
    speaks, and at its end the page says so."""
    with growing(folder / "bundle", replace(fake, noise=0.05)) as grown:
        block = len(grown.bundle.plan.arms)
        grown.grow(block)
        (path,) = visitor.bundles()
        enter(chromium, visitor, path)
        assert chromium.until(f"{DOTS} === {block}")
        grown.grow(9 * block)
        assert chromium.until(f"{DOTS} === {10 * block}")
        assert chromium.until("document.querySelectorAll('figure[data-chart=forest] svg').length")
        assert chromium.until("document.getElementById('say').textContent.includes('complete')")
        assert chromium.value("document.getElementById('say').getAttribute('role')") == "status"
        chromium.picture(tmp_path / "running.png")
        grown.finish()
        chromium.until("document.querySelector('[data-part=actions]').textContent.includes('Fini')")
        assert chromium.value(f"{DOTS}") == len(grown.bundle.runs())
        assert chromium.until(
            "document.querySelectorAll('figure[data-chart=narrowing] svg').length"
        )
        assert chromium.value(NO_ERROR)
        assert not chromium.errors
        chromium.picture(tmp_path / "finished.png")
    assert (tmp_path / "finished.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_works_by_keys_and_has_landmarks(
    chromium: Tab, visitor: Visitor, folder: Path, fake: FakeTarget, study: Study
) -> None:
    """The first key leads to the skip link, Enter past the head; each focus can be seen; roles are
    those that a screen reader goes by."""
    run_fake(folder / "bundle", fake, study)
    enter(chromium, visitor)
    chromium.press(*TAB)
    assert chromium.value("document.activeElement.className") == "skip"
    assert chromium.value("document.activeElement.getBoundingClientRect().left >= 0")
    chromium.press(*ENTER)
    assert chromium.until("location.hash === '#main'")
    chromium.press(*TAB)
    assert chromium.value("document.activeElement.pathname").startswith("/bundles/")
    style = "getComputedStyle(document.activeElement)"
    assert chromium.value(f"{style}.outlineStyle") == "solid"
    chromium.press(*ENTER)
    assert chromium.until("location.pathname.startsWith('/bundles/') && document.title")
    tree = chromium.call("Accessibility.getFullAXTree")["nodes"]
    roles = [node["role"]["value"] for node in tree if not node["ignored"]]
    assert {"banner", "navigation", "main", "region", "status", "heading", "table"} <= {*roles}
    named = [n for n in tree if not n["ignored"] and n["role"]["value"] in ("button", "link")]
    assert all(n["name"]["value"] for n in named)
    levels = chromium.value(
        "[...document.querySelectorAll('main h1,h2,h3')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_names_of_strangers_do_nothing_in_the_browser(
    chromium: Tab, visitor: Visitor, folder: Path, fake: FakeTarget
) -> None:
    """They are text, in what comes by events too."""
    text = STUDY.replace('"fake"', f'"{EVIL}"').replace('"cache"', f"'cache{EVIL}'")
    text = text.replace("Does anything", "<img src=x onerror=alert(2)> does anything")
    study = read("evil.toml", text, Path("."), targets={"engine": fake})
    run_fake(folder / "<b>bold", fake, study)
    (path,) = visitor.bundles()
    enter(chromium, visitor, path)
    assert chromium.until("document.querySelectorAll('figure[data-chart=forest] svg').length")
    assert chromium.value("document.querySelectorAll('img, main b').length") == 0
    inline = 'script:not([src]):not([type="application/json"])'
    assert chromium.value(f"document.querySelectorAll('{inline}').length") == 0
    assert "<script>alert(1)</script>" in chromium.value("document.body.textContent")
    assert chromium.value(NO_ERROR)


def test_a_report_has_no_rights(
    chromium: Tab, visitor: Visitor, folder: Path, fake: FakeTarget, study: Study
) -> None:
    """Its charts are drawn; it is of no origin, sees no cookie, and cannot ask the page for
    anything."""
    run_fake(folder / "bundle", fake, study)
    (path,) = visitor.bundles()
    enter(chromium, visitor, f"{path}/report")
    assert chromium.until("document.documentElement.dataset.drawn > 0")
    assert chromium.value("self.origin") == "null"
    assert (
        chromium.value("(() => { try { return document.cookie } catch { return 'none' } })()")
        == "none"
    )
    refused = "fetch('/').then(() => 'answered', () => 'refused')"
    assert chromium.value(refused) == "refused"


@pytest.mark.parametrize("width", [360, 1200])
def test_no_page_scrolls_sideways(
    chromium: Tab, visitor: Visitor, folder: Path, fake: FakeTarget, study: Study, width: int
) -> None:
    """On a phone and on a desk."""
    run_fake(folder / "bundle", fake, study)
    (path,) = visitor.bundles()
    chromium.call(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=900, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    for page in ("/", path, "/studies", "/studies/shipped/quickstart", "/doctor"):
        enter(chromium, visitor, page)
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert chromium.value(wide) == 0, page
    chromium.call("Emulation.clearDeviceMetricsOverride")


def test_the_page_says_that_its_server_is_gone(
    chromium: Tab, folder: Path, fake: FakeTarget, study: Study
) -> None:
    """The study would go on without it."""
    run_fake(folder / "bundle", fake, study)
    with served(folder) as visitor:
        (path,) = visitor.enter().bundles()
        enter(chromium, visitor, path)
        assert chromium.until("document.querySelectorAll('figure[data-chart=forest] svg').length")
        assert chromium.value("document.getElementById('lost').hidden")
    assert chromium.until("!document.getElementById('lost').hidden")
    assert "goes on without it" in chromium.value("document.getElementById('lost').textContent")
