"""Pages of bundles, studies, the ledger and diagnoses, as they are answered."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from pydantic import TypeAdapter

from assay.diagnosis import Diagnosis, diagnose
from assay.ledger import Ledger, entry_of
from assay.ledger.places import LedgerPlace
from assay.record import Bundle
from assay.study import Study, read, shipped
from assay.ui.shelf import DEPTH, Shelf
from diagnosis_kit import gathered
from fakes import STUDY, FakeTarget, run_fake
from ui_kit import EVIL, Visitor, served

EVIL_NAME = "a\nb\u202ec <img src=x onerror=alert(3)> ' \" .. \x1b[31m"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that the page shows."""
    made = tmp_path / "shown"
    made.mkdir()
    return made


@pytest.fixture
def visitor(folder: Path, tmp_path: Path) -> Iterator[Visitor]:
    """Somebody who has entered; the ledger is the test's own."""
    with served(folder, ledger=LedgerPlace(file=tmp_path / "ledger.sqlite3")) as found:
        yield found.enter()


@pytest.fixture
def shown(folder: Path, fake: FakeTarget, study: Study) -> Bundle:
    """A finished bundle in the folder."""
    return run_fake(folder / "bundle", fake, study)


def test_the_list_has_each_bundle_with_its_state_and_answers(
    visitor: Visitor, shown: Bundle, folder: Path
) -> None:
    """Finished, stopped, and one that was killed."""
    killed = folder / "deeper" / "killed"
    shutil.copytree(shown.folder, killed)
    (killed / "verdicts.json").unlink()
    page = visitor.page()
    assert page.count('href="/bundles/') == 2
    assert "cache: helps" in page
    assert 'class="phase finished"' in page
    assert 'class="phase cut-off"' in page
    assert "deeper/killed" in page


def test_a_folder_without_bundles_says_so(visitor: Visitor) -> None:
    """And how a study is started."""
    page = visitor.page()
    assert "no bundle in this folder yet" in page
    assert "assay run" in page


def test_a_bundle_has_its_verdicts_and_its_report_in_a_frame(
    visitor: Visitor, shown: Bundle
) -> None:
    """The verdicts that it recomputes to; a frame that may run scripts and nothing else."""
    (address,) = visitor.bundles()
    page = visitor.page(address)
    assert "Does anything help?" in page
    assert re.search(r'class="word helps"', page)
    frame = re.search(r"<iframe[^>]*>", page)
    assert frame is not None
    assert f'src="{address}/report"' in frame[0]
    assert 'sandbox="allow-scripts"' in frame[0]
    report = visitor.ask(f"{address}/report")
    assert report.status == 200
    assert report.headers["content-security-policy"].startswith("sandbox allow-scripts;")
    assert "What the witnesses saw" in report.text


def test_the_report_that_a_bundle_brings_is_not_shown(visitor: Visitor, shown: Bundle) -> None:
    """It is made anew from the runs."""
    (shown.folder / "report.html").write_text(EVIL)
    (address,) = visitor.bundles()
    assert EVIL not in visitor.page(f"{address}/report")


def test_an_altered_bundle_is_said_to_be_altered(visitor: Visitor, shown: Bundle) -> None:
    """With the run, and no verdict."""
    runs = shown.folder / "runs.jsonl"
    runs.write_text(runs.read_text().replace('"window_s":0.3', '"window_s":0.4', 1))
    (address,) = visitor.bundles()
    for path in (address, f"{address}/report"):
        found = visitor.ask(path)
        assert found.status == 409
        assert "run 0 (" in found.text
        assert "was altered" in found.text


@pytest.mark.parametrize("name", ["plan.json", "runs.jsonl", "study.toml", "verdicts.json"])
@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\n", b'{"study": 1}\n', b"[" * 100_000])
def test_a_damaged_bundle_breaks_no_list(
    visitor: Visitor, shown: Bundle, name: str, data: bytes
) -> None:
    """Its line and its page say what is wrong; no request fails without an answer."""
    (shown.folder / name).write_bytes(data)
    (address,) = visitor.bundles()
    for path in (address, f"{address}/report", f"/compare?first={address[9:]}&second=x"):
        assert visitor.ask(path).status in (200, 400, 409, 500)
        assert "Traceback" not in visitor.ask(path).text


def test_names_of_strangers_do_nothing(visitor: Visitor, folder: Path, fake: FakeTarget) -> None:
    """Markup is text, steering characters are codes: of folders, studies, factors, arms, reasons
    and files, also where names are no UTF-8."""
    text = STUDY.replace('"fake"', f'"{EVIL}"').replace('"cache"', f"'cache{EVIL}'")
    text = text.replace("Does anything", "Does </h1><img src=x onerror=alert(2)> \u202e anything")
    study = read("evil.toml", text, Path("."), targets={"engine": fake})
    bundle = run_fake(folder / "plain", fake, study)
    bundle.folder.rename(folder / EVIL_NAME)
    shutil.copytree(folder / EVIL_NAME, folder / os.fsdecode(b"\xff\xfe"))
    (folder / f"{EVIL_NAME}.toml").write_text(text)
    addresses = visitor.bundles()
    assert len(addresses) == 2
    first, second = (address.removeprefix("/bundles/") for address in addresses)
    (own,) = re.findall(r'href="(/studies/of/[0-9a-f]+)"', visitor.page("/studies"))
    pages = ["/", "/studies", own, *addresses, f"/compare?first={first}&second={second}"]
    for path in pages:
        page = visitor.page(path)
        assert EVIL not in page
        assert "<img" not in page
        assert "\u202e" not in page
        assert "\x1b" not in page
        assert "&lt;" in page
    with visitor.watching(addresses[0]) as news:
        sent = "".join(news()["parts"].values())
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in sent
    assert EVIL not in sent
    assert "<img" not in sent
    assert "\u202e" not in sent


@pytest.mark.parametrize(
    "name",
    ["..", "%2e%2e", "..%2f..%2fetc", "x", "0" * 16, "%00", "%0a", "a%20b", "<script>", "%ff"],
)
def test_an_address_leads_nowhere_but_to_what_is_listed(
    visitor: Visitor, shown: Bundle, name: str
) -> None:
    """Names are drawn from paths, and are none."""
    for path in (f"/bundles/{name}", f"/bundles/{name}/report", f"/bundles/{name}/events",
                 f"/studies/of/{name}", f"/studies/shipped/{name}", f"/doctor/{name}"):  # fmt: skip
        found = visitor.ask(path)
        assert found.status in (400, 404), path
        assert "<script>" not in found.text


def test_no_link_is_followed_and_no_depth_is_endless(
    visitor: Visitor, shown: Bundle, folder: Path, tmp_path: Path
) -> None:
    """Neither to another folder nor to a file of it; what is cut off is said."""
    shutil.copytree(shown.folder, tmp_path / "elsewhere" / "bundle")
    (tmp_path / "secret.toml").write_text(STUDY)
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    (folder / "link.toml").symlink_to(tmp_path / "secret.toml")
    os.mkfifo(folder / "pipe.json")
    os.mkfifo(folder / "pipe.toml")
    contents = Shelf(folder).contents()
    assert list(contents.bundles.values()) == [shown.folder.resolve()]
    assert not contents.studies
    assert not contents.is_cut
    deep = folder.joinpath(*["deep"] * (DEPTH + 2))
    shutil.copytree(shown.folder, deep)
    contents = Shelf(folder).contents()
    assert len(contents.bundles) == 1
    assert contents.is_cut


def test_two_bundles_of_a_study_are_compared(
    visitor: Visitor, shown: Bundle, folder: Path, study: Study
) -> None:
    """Which answers agree and which contradict."""
    slow = FakeTarget(effect=lambda s, e: 0.7 if s["data_cache"] == "optimistic" else 1.0)
    run_fake(folder / "other", slow, study, seed=8)
    addresses = visitor.bundles()
    page = visitor.page(addresses[0])
    (second,) = re.findall(r'<option value="([0-9a-f]+)"', page)
    first = addresses[0].removeprefix("/bundles/")
    assert f"/bundles/{second}" == addresses[1]
    compared = visitor.page(f"/compare?first={first}&second={second}")
    assert 'class="relation contradict"' in compared
    assert 'class="relation agree"' in compared
    assert "nothing else is known to differ" in compared


def test_studies_ship_and_lie_in_the_folder(visitor: Visitor, folder: Path) -> None:
    """With question, text and command; files that are none are left out."""
    (folder / "mine.toml").write_text(STUDY)
    (folder / "pyproject.toml").write_text('[project]\nname = "x"\n')
    (folder / "broken.toml").write_text("[")
    page = visitor.page("/studies")
    assert page.count("/studies/of/") == 1
    assert page.count("/studies/shipped/") == len(shipped())
    (own,) = re.findall(r'href="(/studies/of/[0-9a-f]+)"', page)
    page = visitor.page(own)
    assert "Does anything help?" in page
    assert f"assay run {folder}/mine.toml" in page
    assert "engine.spin_hint" in page
    assert "assay run quickstart" in visitor.page("/studies/shipped/quickstart")


def test_the_ledger_is_listed_searched_and_followed(visitor: Visitor, shown: Bundle) -> None:
    """The newest bundles, answers about a change, and one question over time with its picture."""
    assert "The ledger is empty" in visitor.page("/ledger")
    ledger = Ledger.open(visitor_ledger(shown))
    first = entry_of(shown.folder)
    ledger.add(first)
    more = {"folder": "/nowhere", "end": "x", "started": "2026-02-01T00:00:00"}
    for number in range(1, 13):
        rows = [r.model_copy(update={"estimate": 0.3 + (number > 6)}) for r in first.rows]
        own = {"identity": f"{number:064x}", "started": f"2026-02-{number:02d}T00:00:00"}
        ledger.add(first.model_copy(update={**more, **own, "rows": rows}))
    ledger.close()
    page = visitor.page("/ledger")
    assert "13 bundles in" in page
    assert page.count('name="second"') == 13
    assert f'<a href="{visitor.bundles()[0]}">1 {shown.folder}</a>' in page
    found = visitor.page("/ledger?words=spin+hints&word=no+difference")
    assert found.count('<th scope="row"') == 13
    assert "No answer is about that" in visitor.page("/ledger?words=nothing")
    history = visitor.page("/ledger/history?study=fake&of=cache")
    assert "1 change points" in history
    assert re.search(r"\+3\d\.\d\s% -&gt; \+130\s%", history)
    assert 'data-chart="forest"' in history
    assert "level of cache" in visitor.page("/ledger/history?study=fake&of=cache&level=on")
    assert visitor.ask("/ledger/history?study=none").status == 400
    assert "agree" in visitor.page("/compare?first=ledger-1&second=ledger-2")
    for wrong in ("ledger-99", "ledger-x", "ledger-", "ledger-²", "x"):
        assert visitor.ask(f"/compare?first={quote(wrong)}&second=x").status == 400


def visitor_ledger(shown: Bundle) -> LedgerPlace:
    """Where `visitor` has the ledger."""
    return LedgerPlace(file=shown.folder.parent.parent / "ledger.sqlite3")


def test_without_a_ledger_its_pages_say_so(folder: Path) -> None:
    """And the others go on."""
    with served(folder) as visitor:
        found = visitor.enter().ask("/ledger")
        assert found.status == 400
        assert "ASSAY_LEDGER is off" in found.text
        assert visitor.ask("/").status == 200


def test_diagnoses_of_the_folder_are_shown_in_a_frame(visitor: Visitor, folder: Path) -> None:
    """Those that `assay doctor --json` printed; other files are none."""
    found = TypeAdapter(Diagnosis).dump_python(diagnose(gathered(), 0.02), mode="json")
    text = json.dumps(found, indent=1, sort_keys=True)
    (folder / "seen.json").write_text(text)
    (folder / "evil.json").write_text(text.replace("postgres", EVIL))
    (folder / "broken.json").write_text('{"candidates": []}')
    (folder / "other.json").write_text("{}")
    page = visitor.page("/doctor")
    names = dict(re.findall(r'href="/doctor/([0-9a-f]+)">([^<]+)<', page))
    assert sorted(names.values()) == ["broken.json", "evil.json", "seen.json"]
    for name, file in names.items():
        answers = [visitor.ask(f"/doctor/{name}"), visitor.ask(f"/doctor/{name}/alone")]
        if file == "broken.json":
            assert {a.status for a in answers} == {400}
            continue
        assert all(EVIL not in a.text for a in answers)
        assert 'sandbox="allow-scripts"' in answers[0].text
        assert answers[1].headers["content-security-policy"].startswith("sandbox ")


@pytest.mark.parametrize(
    ("server", "seconds"), [("", "5"), ("x", "0"), ("x", "601"), ("x", "-1"), ("x", "9e9"),
                            ("x", "²"), ("x", "9" * 400)],
)  # fmt: skip
def test_a_look_that_cannot_be_is_not_begun(visitor: Visitor, server: str, seconds: str) -> None:
    """Nothing is started, and nothing written."""
    assert visitor.send("/doctor", server=server, seconds=seconds).status == 400
    assert "A look goes on" not in visitor.page("/doctor")
