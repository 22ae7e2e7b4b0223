"""Verdicts that are not those of the runs are shown by no command."""

from __future__ import annotations

import json

import pytest

from assay.core.errors import AlteredError
from assay.record import (
    Bundle,
    checked_verdicts,
    counted_runs,
    differences,
    replayed,
    verdicts_of,
)
from assay.report.html.page import report_html
from cli_kit import assay

COMMANDS = [
    ("show",),
    ("show", "--json"),
    ("show", "--sysmon"),
    ("explain",),
    ("explain", "--json"),
]


@pytest.fixture
def forged(finished: Bundle) -> Bundle:
    """A bundle in which a change that does nothing helps."""
    path = finished.folder / "verdicts.json"
    said = json.loads(path.read_text())
    row = next(row for row in said["verdicts"] if row["word"] != "helps")
    row["word"] = "helps"
    path.write_text(json.dumps(said))
    return Bundle.open(finished.folder)


@pytest.mark.parametrize("words", [*COMMANDS, ("report",)], ids=" ".join)
def test_no_command_shows_a_forged_verdict(forged: Bundle, words: tuple[str, ...]) -> None:
    """It says what differs, and what to do; nothing is printed as a result, or written."""
    done = assay(words[0], forged.folder, *words[1:])
    assert done.returncode == 1
    assert done.stdout == ""
    told = " ".join(done.stderr.split())
    assert "the verdicts are not those of the runs" in told
    assert "says 'helps'; the runs give" in told
    assert "assay verify" in told
    assert not (forged.folder / "report.html").exists()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_bundle_that_nobody_touched_is_shown(finished: Bundle, words: tuple[str, ...]) -> None:
    """By the same commands."""
    done = assay(words[0], finished.folder, *words[1:])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_without_the_forged_file_the_report_says_what_the_runs_give(forged: Bundle) -> None:
    """As the message promises."""
    (forged.folder / "verdicts.json").unlink()
    assert "not finished" in report_html(Bundle.open(forged.folder))


def test_no_run_is_counted_by_forged_verdicts(forged: Bundle) -> None:
    """Fewer blocks would make another price."""
    with pytest.raises(AlteredError, match="not those of the runs"):
        counted_runs(forged)


def test_verify_says_what_it_does_not_prove(finished: Bundle) -> None:
    """Whoever may write the folder may write it whole."""
    done = assay("verify", finished.folder)
    assert done.returncode == 0
    assert "no proof of who measured it" in done.stdout
    assert checked_verdicts(finished) == finished.verdicts()


def cut(bundle: Bundle, runs: int) -> Bundle:
    """The bundle with its last runs cut off, and verdicts that say that somebody stopped there."""
    path = bundle.folder / "runs.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-runs]))
    said = bundle.folder / "verdicts.json"
    end = json.loads(said.read_text())["end"]
    replay = replayed(bundle)
    replay.stop("you stopped it")
    made = verdicts_of(replay).model_dump()
    said.write_text(json.dumps(made | {"end": end}))
    return Bundle.open(bundle.folder)


@pytest.mark.parametrize("runs", [1, 5])
def test_runs_that_were_cut_off_are_missed(finished: Bundle, runs: int) -> None:
    """The record of the end does not follow from the run that is now the last."""
    found = differences(cut(finished, runs))
    assert [text.split(" says ")[0] for text in found] == ["verdicts.json.end"]


def test_a_reason_to_stop_that_no_study_has_is_refused(finished: Bundle) -> None:
    """Whoever reads it would take it for Assay's word."""
    path = finished.folder / "verdicts.json"
    said = json.loads(path.read_text())
    path.write_text(json.dumps(said | {"stopped": "enough was seen"}))
    assert any("enough was seen" in text for text in differences(Bundle.open(finished.folder)))


def test_a_bundle_without_the_record_of_its_end_says_so(finished: Bundle) -> None:
    """It verifies, as it did when it was made."""
    assert "older" not in assay("verify", finished.folder).stdout
    path = finished.folder / "verdicts.json"
    said = json.loads(path.read_text())
    del said["end"]
    path.write_text(json.dumps(said))
    done = assay("verify", finished.folder)
    assert done.returncode == 0
    assert "older than the record of a study's end" in " ".join(done.stdout.split())


def test_verdicts_end_where_a_further_run_begins(finished: Bundle) -> None:
    """A study that was resumed and killed has none, rather than those of fewer runs."""
    last = finished.runs()[-1]
    finished.lock()
    finished.append(last)
    finished.close()
    assert not finished.has_verdicts
