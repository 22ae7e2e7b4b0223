"""The command line on the bundle of a search, and what `assay bisect` refuses."""

import json

import pytest
from search_kit import LEVELS, STUDY, lab, slower_from
from typer.testing import CliRunner

from assay.cli import app


def assay(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The bundle of a search that named a level."""
    bundle, _ = lab(tmp_path_factory.mktemp("search") / "b", slower_from(9)).searched()
    return bundle


def test_show_gives_the_answer_first(finished):
    done = assay("show", finished.folder)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"{LEVELS[9]} lowers throughput by ")


def test_show_and_verify_speak_json(finished):
    assert json.loads(assay("show", finished.folder, "--json").stdout)["answer"] == "named"
    assert json.loads(assay("verify", finished.folder, "--json").stdout)["verified"]


def test_verify_recomputes_a_search(finished):
    done = assay("verify", finished.folder)
    assert done.exit_code == 0
    assert "recompute to what the search found" in done.stdout


def test_report_writes_the_page(finished, tmp_path):
    assert assay("report", finished.folder, "--out", tmp_path / "r.html").exit_code == 0
    assert "<svg" in (tmp_path / "r.html").read_text()


def test_without_ends_nothing_is_searched():
    assert assay("bisect").exit_code == 2


def test_a_factor_or_level_that_is_not_there_is_refused(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    ends = ("bisect", LEVELS[0], LEVELS[-1], "--study", study)
    assert assay(*ends, "--over", "nothing").exit_code == 2
    assert assay("bisect", "7", LEVELS[-1], "--study", study, "--over", "limit").exit_code == 2


def test_a_search_is_no_study_to_resume_as_one(finished):
    assert assay("run", "--resume", finished.folder).exit_code != 0
