"""A study while it runs, as the page follows it: everything from its growing bundle."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.record import Bundle, replayed, verdicts_of
from assay.report.html.live import BLOCKS_SHOWN
from assay.report.words.sections import primary
from assay.report.words.wording import interval, label
from assay.study import Study
from assay.targets import Measured
from assay.ui.following import Follower
from assay.ui.live_events import Viewer
from assay.ui.state import StudyPhase, state_of
from fakes import STUDY, FakeTarget, run_fake, throttled
from ui_kit import Growing, Visitor, growing, seen_until, served


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    """Somebody who has entered."""
    (tmp_path / "shown").mkdir()
    with served(tmp_path / "shown") as found:
        yield found.enter()


@pytest.fixture
def study_that_grows(tmp_path: Path, visitor: Visitor, fake: FakeTarget) -> Iterator[Growing]:
    """A study in the folder of the page, at its first run."""
    with growing(tmp_path / "shown" / "bundle", fake) as found:
        yield found


def arms(growing_study: Growing) -> int:
    """Runs of a block while all arms are live."""
    return len(growing_study.bundle.plan.arms)


def test_blocks_arrive_while_it_is_watched(visitor: Visitor, study_that_grows: Growing) -> None:
    """Each run is a dot and each block moves the progress; the state is that of a study that
    runs."""
    grown, block = study_that_grows, arms(study_that_grows)
    grown.grow(2)
    (address,) = visitor.bundles()
    with visitor.watching(address) as news:
        first = seen_until(news, lambda n: n["share"] == 1.0)
        assert "Runs now" in first["parts"]["actions"]
        assert "Block 1 of" in first["parts"]["progress"]
        assert len(first["runs"]["groups"][0]["points"]) == 2
        assert first["say"] == ""
        grown.grow(block)
        second = seen_until(news, lambda n: "Block 2" in n["parts"].get("progress", ""))
        assert second["say"].startswith("1 blocks are complete.")
        assert second["runs"]["from"] == 0
        grown.grow(block)
        third = seen_until(news, lambda n: "Block 3" in n["parts"].get("progress", ""))
        assert third["runs"]["from"] == block
        statuses = {
            p["status"] for p in third["runs"]["groups"][0]["points"] if p["run"] < 2 * block
        }
        assert statuses == {"counts"}


def test_what_is_sent_bit_by_bit_is_what_is_there(
    visitor: Visitor, study_that_grows: Growing
) -> None:
    """Runs put together as the page's script does are those that a late viewer gets at once."""
    grown = study_that_grows
    follower = Follower(grown.bundle.folder)
    early, points = Viewer(lambda look: {"name": "", "stop": "", "form": "", "started": False,
                                         "complaint": ""}), []  # fmt: skip
    for _ in range(20):
        grown.grow(1)
        news = early.news(follower.look())["runs"]
        points = [p for p in points if p["run"] < news["from"]] + news["groups"][0]["points"]
    late = Viewer(early.around).news(Follower(grown.bundle.folder).look())["runs"]
    assert points == late["groups"][0]["points"]
    assert [p["run"] for p in points] == list(range(20))


def test_the_verdicts_are_those_of_the_library(visitor: Visitor, study_that_grows: Growing) -> None:
    """The page recomputes them by the replay that decides the study: to its end, and after it."""
    grown = study_that_grows
    (address,) = visitor.bundles()
    with visitor.watching(address) as news:
        grown.finish()
        done = seen_until(news, lambda n: "Finished." in n["parts"].get("actions", ""))
        assert "Finished." in done["say"]
    bundle = Bundle.open(grown.bundle.folder)
    ruled = verdicts_of(replayed(bundle))
    assert ruled == bundle.verdicts()
    page = re.sub(r"\s", " ", visitor.page(address)).replace("\N{MINUS SIGN}", "-")
    for row in ruled.verdicts:
        if row.strength == "confirmed":
            assert interval(row) in page
    assert "All blocks are made" in page


def test_intervals_are_seen_to_narrow(tmp_path: Path, fake: FakeTarget, study: Study) -> None:
    """Of each contrast the interval after some blocks: the last one is that of the verdict."""
    bundle = run_fake(tmp_path / "bundle", replace(fake, noise=0.05), study)
    view = Follower(bundle.folder).look().view
    assert view is not None
    groups = {group.heading: group.rows for group in view.narrowing.groups}
    assert groups
    ruled = {label(row): row for row in primary(bundle.verdicts())}
    narrowed = 0
    for name, rows in groups.items():
        assert 2 <= len(rows) <= BLOCKS_SHOWN
        widths = [r.high - r.low for r in rows if r.low is not None and r.high is not None]
        assert len(widths) < 2 or widths[-1] < widths[0]
        narrowed += len(widths) > 1
        assert all(re.fullmatch(r"after \d+ blocks", row.label) for row in rows)
        last = ruled[name]
        assert (rows[-1].low, rows[-1].high, rows[-1].word) == (last.low, last.high, last.word)
    assert narrowed


def test_a_void_run_is_shown_with_its_reason(tmp_path: Path, visitor: Visitor) -> None:
    """As soon as it is on disk, and said aloud."""

    def disturbed(number: int, measured: Measured) -> Measured:
        return throttled(measured) if number == 5 else measured

    with growing(tmp_path / "shown" / "bundle", FakeTarget(script=disturbed)) as grown:
        grown.grow(5)
        (address,) = visitor.bundles()
        with visitor.watching(address) as news:
            first = seen_until(news, lambda n: n["share"] == 1.0)
            assert "No run was void" in first["parts"]["voids"]
            grown.grow(1)
            found = seen_until(news, lambda n: "voids" in n["parts"])
            assert "the client was the limit" in found["parts"]["voids"]
            assert found["say"].startswith("Run 5 is void: ")
            points = found["runs"]["groups"][0]["points"]
            assert [p["run"] for p in points if p["status"] == "void"] == [5]


def test_a_study_without_a_goodbye_says_how_to_go_on(
    visitor: Visitor, tmp_path: Path, fake: FakeTarget, study: Study
) -> None:
    """Nobody holds its lock, and it wrote no verdicts; a torn last line is not read."""
    bundle = run_fake(tmp_path / "shown" / "it's here", fake, study)
    (bundle.folder / "verdicts.json").unlink()
    with (bundle.folder / "runs.jsonl").open("ab") as runs:
        runs.write(b'{"run": 99')
    (address,) = visitor.bundles()
    page = visitor.page(address)
    assert "Ended without saying goodbye; go on with:" in page
    assert (
        f"assay run --resume &#39;{tmp_path}/shown/it&#39;&#34;&#39;&#34;&#39;s here&#39;" in page
    )
    assert "Stop the study" not in page


def test_a_study_that_was_stopped_says_why(tmp_path: Path, fake: FakeTarget, study: Study) -> None:
    """In the words of its verdicts."""
    bundle = run_fake(tmp_path / "bundle", fake, study)
    stopped = bundle.verdicts().model_copy(update={"stopped": "you stopped it"})
    bundle.write_verdicts(stopped)
    state = state_of(bundle.folder)
    assert state.phase is StudyPhase.STOPPED
    assert state.sentence == "Stopped: you stopped it. Go on with:"
    assert state.go_on == f"assay run --resume {bundle.folder}"


def test_a_bundle_that_becomes_another_is_read_anew(
    tmp_path: Path, fake: FakeTarget, study: Study
) -> None:
    """In the same folder; one that lost runs too."""
    bundle = run_fake(tmp_path / "bundle", fake, study)
    follower = Follower(bundle.folder)
    before = follower.look()
    shutil.rmtree(bundle.folder)
    run_fake(tmp_path / "bundle", FakeTarget(), study, seed=9)
    after = follower.look()
    assert before.view is not None
    assert after.view is not None
    assert after.number > before.number
    runs = bundle.folder / "runs.jsonl"
    runs.write_bytes(b"".join(runs.read_bytes().splitlines(keepends=True)[:4]))
    shorter = follower.look()
    assert shorter.view is not None
    assert shorter.view.runs == 4


def test_the_watched_bundle_is_gone(visitor: Visitor, study_that_grows: Growing) -> None:
    """The view says so, and ends."""
    grown = study_that_grows
    grown.grow(1)
    (address,) = visitor.bundles()
    with visitor.watching(address) as news:
        seen_until(news, lambda n: n["share"] == 1.0)
        grown.bundle.folder.rename(grown.bundle.folder.with_name("moved"))
        failed = seen_until(news, lambda n: n["event"] == "failed")
        assert "bundle" in failed["message"]
        grown.bundle.folder.with_name("moved").rename(grown.bundle.folder)


def test_a_large_bundle_is_taken_in_by_parts(
    tmp_path: Path, fake: FakeTarget, study: Study
) -> None:
    """A look has its time; those in between say how far it got."""
    bundle = run_fake(tmp_path / "bundle", replace(fake, noise=0.2), study)
    assert len(bundle.runs()) > 50
    follower = Follower(bundle.folder)
    first = follower.look(patience_s=0.0)
    assert first.view is None
    assert 0 < first.share < 1
    shares = [first.share]
    while shares[-1] < 1.0:
        shares.append(follower.look(patience_s=0.0).share)
    assert shares == sorted(shares)
    assert follower.look().view is not None


def test_a_study_of_several_cases_is_followed(tmp_path: Path, visitor: Visitor) -> None:
    """A picture and a table for each."""
    text = STUDY.replace('[target]\nkind = "engine"\n\n[workload]\nkind = "ycsb"\n', "").replace(
        '"60s"', '"5min"'
    )
    cases = "".join(
        f'\n[[case]]\nname = "{name}"\ntarget = {{kind = "engine", threads = {threads}}}\n'
        'workload = {kind = "ycsb"}\n'
        for name, threads in (("few", 2), ("many", 8))
    )
    text = text.replace("[design]", f"{cases}\n[design]")
    with growing(tmp_path / "shown" / "bundle", FakeTarget(), text) as grown:
        grown.grow(20)
        (address,) = visitor.bundles()
        with visitor.watching(address) as news:
            found = seen_until(news, lambda n: n["share"] == 1.0)
        assert [g["case"] for g in found["runs"]["groups"]] == ["few", "many"]
        assert sum(len(g["points"]) for g in found["runs"]["groups"]) == 20
        assert "of case" in found["parts"]["progress"]
