"""Studies of candidates: each is one that `assay run` reads."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.diagnosis import Diagnosis, Gathered, diagnose, write_studies
from assay.diagnosis.records import Flaw, HotCode, ServerAnswers
from assay.diagnosis.studies import workload_of
from assay.study import read
from diagnosis_kit import TINY_BUFFERS, gathered

KINDS = ("redis", "valkey", "mariadb", "postgresql", "nginx", "memcached")


@pytest.mark.parametrize("kind", KINDS)
def test_every_study_reads_back(kind: str, tmp_path: Path) -> None:
    """Of each candidate that is not ruled out, unless it says why there is none."""
    found = diagnose(gathered(kind, chains={("main",): 100}))
    live = [c for c in found.candidates if c.standing != "ruled out"]
    assert live
    for candidate in live:
        assert bool(candidate.study) != bool(candidate.no_study), candidate.name
    written = write_studies(found.candidates, tmp_path / "studies")
    assert len(written) == sum(bool(c.study) for c in found.candidates)
    for path in written:
        study = read(str(path), path.read_text(), tmp_path)
        assert study.cases[0].target == kind


def test_a_study_carries_what_the_server_has_set_and_measures_the_change_from_there() -> None:
    """The level in force is the baseline; other settings stay as they are."""
    answers = TINY_BUFFERS.answers
    assert answers is not None
    more = replace(answers, settings={"shared_buffers": "1MB", "wal_compression": "lz4"})
    first = diagnose(replace(TINY_BUFFERS, answers=more)).candidates[0]
    said = tomllib.loads(first.study)
    assert said["factor"][0]["levels"] == ["1MB", "128MiB", "512MiB"]
    assert said["target"] == {"kind": "postgresql", "connections": 8, "wal_compression": "lz4"}
    assert said["workload"]["table_size"] >= 10_000
    assert "# Bound: no gain above +" in first.study


def test_the_load_is_of_the_kind_that_the_server_does() -> None:
    """Reads, a few writes, mostly writes; and one in which the change acts."""

    def load(kind: str, **counters: float) -> str:
        return workload_of(kind, ServerAnswers(counters=counters), None)

    assert load("postgresql", xact_commit=99.0, tup_fetched=100.0) == "oltp-point-select"
    assert load("postgresql", xact_commit=9.0, tup_fetched=4000.0) == "oltp-read-only"
    assert load("postgresql", tup_fetched=4000.0, tup_updated=10.0) == "oltp-read-write"
    assert load("mariadb", Handler_read_key=100.0, Handler_update=90.0) == "oltp-update-index"
    assert load("mariadb", Handler_read_key=9.0, Handler_read_next=900.0) == "oltp-read-only"
    assert load("redis", **{"calls.set": 9.0, "calls.get": 3.0}) == "redis-set"
    assert load("redis", **{"calls.set": 1.0, "calls.get": 3.0}) == "redis-get"
    assert load("nginx") == "http-get"


def hostile(text: str) -> Gathered:
    """A program whose function was named by somebody."""
    flaw = Flaw("B05", "S2", text, "why", "how", "ydb-spinlock")
    code = [HotCode(text, "server", {}, False, (flaw,))]
    return gathered("", chains={(text,): 990, ("run",): 10}, code=code)


def test_no_name_of_a_stranger_ends_a_comment_or_leads_out_of_the_folder(tmp_path: Path) -> None:
    """A function may be called anything."""
    found: Diagnosis = diagnose(hostile('x\n[target]\nkind = "job"\n../../../etc'))
    (path,) = write_studies([c for c in found.candidates if c.kind == "build"], tmp_path)
    assert path.parent == tmp_path
    assert tomllib.loads(path.read_text())["target"]["kind"] == "micro"


def test_a_program_that_is_no_target_has_bounds_and_says_why_there_is_no_study() -> None:
    """Changes of the host fit any process."""
    found = diagnose(gathered("", chains={("main",): 100}))
    assert found.candidates
    assert all(
        "Assay has no load for" in c.no_study for c in found.candidates if c.standing != "ruled out"
    )


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A second diagnosis takes another folder."""
    found = diagnose(TINY_BUFFERS)
    write_studies(found.candidates, tmp_path)
    with pytest.raises(InputError, match="is there already"):
        write_studies(found.candidates, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written|is there already"):
        write_studies(found.candidates, tmp_path / "file")
