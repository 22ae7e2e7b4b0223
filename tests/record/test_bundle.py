"""The bundle: what is written is what was measured, and any change of it shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.core.errors import AlteredError, AssayError, BundleError
from assay.record import Bundle, ChainPlace, RunRecord, differences
from assay.record.observations import observation
from assay.stats.constants import STANDARD
from fakes import FakeTarget, run_fake


def lines(bundle: Bundle) -> list[str]:
    return (bundle.folder / "runs.jsonl").read_text().splitlines()


def rewrite(bundle: Bundle, changed: list[str]) -> None:
    (bundle.folder / "runs.jsonl").write_text("\n".join(changed) + "\n")


def test_a_finished_bundle_recomputes_to_what_it_says(finished: Bundle) -> None:
    """From plan and runs alone."""
    assert differences(Bundle.open(finished.folder)) == []


@pytest.mark.parametrize("number", [0, 7, -1])
def test_an_edited_number_is_found_and_its_run_named(finished: Bundle, number: int) -> None:
    """Whichever run it is."""
    changed = lines(finished)
    run = json.loads(changed[number])
    run["metrics"]["throughput"] *= 1.01
    changed[number] = json.dumps(run)
    rewrite(finished, changed)
    with pytest.raises(AlteredError, match=rf"run {run['run']} \(.*was altered"):
        differences(finished)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_number_that_is_none_is_refused_and_its_line_named(finished: Bundle, number: str) -> None:
    """Python's JSON would read it, and every comparison with it be false."""
    changed = lines(finished)
    run = json.loads(changed[3])
    written = json.dumps(run["metrics"]["throughput"])
    changed[3] = changed[3].replace(written, number, 1)
    rewrite(finished, changed)
    with pytest.raises(AssayError, match="line 4"):
        differences(finished)


def test_a_removed_run_is_found(finished: Bundle) -> None:
    """In the middle by the chain, at the end by the verdicts."""
    whole = lines(finished)
    rewrite(finished, whole[:5] + whole[6:])
    with pytest.raises(AlteredError, match="was altered"):
        differences(finished)
    rewrite(finished, whole[:-1])
    assert any("runs" in d for d in differences(finished))


def test_an_edited_verdict_is_found(finished: Bundle) -> None:
    """The difference names the field and both values."""
    path = finished.folder / "verdicts.json"
    said = json.loads(path.read_text())
    said["verdicts"][0]["word"] = "helps"
    said["recommended"] = "hint"
    path.write_text(json.dumps(said))
    found = differences(finished)
    assert any("verdicts[0].word says 'helps'" in d for d in found)


@pytest.mark.parametrize("name", ["plan.json", "host.json", "study.toml"])
def test_an_edited_plan_host_or_study_is_found(finished: Bundle, name: str) -> None:
    """The chain starts with them."""
    path = finished.folder / name
    old = {"plan.json": '"seed": 7', "host.json": "a fake CPU", "study.toml": "anything"}[name]
    path.write_text(path.read_text().replace(old, old[:-1] + ("8" if "7" in old else "X")))
    with pytest.raises(AlteredError):
        differences(finished)


def without_codes_of_summaries(bundle: Bundle) -> dict:
    """The verdicts as a version wrote them whose summaries and warnings had sentences only."""
    said = json.loads((bundle.folder / "verdicts.json").read_text())
    said["warning_codes"] = [reason["code"] for reason in said.pop("warning_reasons")]
    for summary in (said["planned"], said["best"], *said["best"]["out"].values()):
        del summary["reasons"]
    return said


def test_what_a_later_version_adds_to_the_verdicts_is_not_missed_in_older_ones(
    finished: Bundle,
) -> None:
    """Fields that the file has are compared; a sentence is one of them."""
    said = without_codes_of_summaries(finished)
    path = finished.folder / "verdicts.json"
    path.write_text(json.dumps(said))
    assert differences(Bundle.open(finished.folder)) == []
    said["best"]["sentence"] = "cache is the best of all arms"
    path.write_text(json.dumps(said))
    (found,) = differences(Bundle.open(finished.folder))
    assert found.startswith("verdicts.json.best.sentence says 'cache is the best of all arms'")


def test_an_edited_field_of_a_warning_or_summary_is_found(finished: Bundle) -> None:
    """Codes are compared with their fields."""
    path = finished.folder / "verdicts.json"
    said = json.loads(path.read_text())
    said["planned"]["reasons"][0]["fields"]["noise"] /= 2
    path.write_text(json.dumps(said))
    (found,) = differences(Bundle.open(finished.folder))
    assert found.startswith("verdicts.json.planned.reasons[0].fields.noise says")


def test_a_torn_last_line_is_cut_off_when_the_bundle_is_opened_to_go_on(finished: Bundle) -> None:
    """What was whole stays."""
    path = finished.folder / "runs.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:100])
    finished.lock()
    finished.close()
    assert path.read_bytes() == whole


def test_two_processes_cannot_run_one_bundle(finished: Bundle) -> None:
    """The second is told, and changes nothing."""
    finished.lock()
    with pytest.raises(BundleError, match="being run by another process"):
        Bundle.open(finished.folder).lock()
    finished.close()


def test_what_is_no_bundle_is_refused(tmp_path: Path, finished: Bundle) -> None:
    """With what it lacks; and a used folder is not written over."""
    with pytest.raises(BundleError, match=r"has no study\.toml"):
        Bundle.open(tmp_path)
    with pytest.raises(BundleError, match="is not empty"):
        Bundle.create(finished.folder, "", finished.plan, {})


def test_a_closed_loop_and_a_run_that_failed_have_no_rate_to_fall_short_of(
    tmp_path: Path, fake: FakeTarget, study
) -> None:
    """Only what was asked for can be missed."""
    record = next(iter(run_fake(tmp_path / "b", fake, study).runs()))
    assert record.health is not None
    asked = record.health.model_copy(update={"asked_per_s": 2 * record.health.achieved_per_s})
    found = {
        name: observation(record.model_copy(update={"health": health}), STANDARD).saturated
        for name, health in (("closed", record.health), ("open", asked), ("failed", None))
    }
    assert found["open"] is not None
    assert (found["closed"], found["failed"]) == (None, None)


def test_a_failed_run_of_an_older_bundle_is_read_with_its_empty_health(
    tmp_path: Path, fake: FakeTarget, study
) -> None:
    record = next(iter(run_fake(tmp_path / "b", fake, study).runs()))
    body = record.model_dump(mode="json") | {"status": "failed", "health": {}}
    assert RunRecord.model_validate(body).health is None
    with pytest.raises(ValueError, match="foreign_cpu"):
        RunRecord.model_validate(body | {"health": {"steal": 0.0}})


def test_lines_are_read_part_by_part_as_they_are_at_once(finished: Bundle) -> None:
    """Each place follows the one before; at the end nothing is new until a line is whole."""
    whole, place, found = finished.runs(), ChainPlace(), []
    while True:
        more, place = finished.lines_after(place, 5)
        found += more
        if not more:
            break
        assert len(more) <= 5
    assert found == whole
    path = finished.folder / "runs.jsonl"
    assert place == ChainPlace(path.stat().st_size, len(whole), whole[-1].digest)
    with path.open("ab") as runs:
        runs.write(b'{"run": ')
    assert finished.lines_after(place) == ([], place)


def test_a_line_that_does_not_follow_a_place_is_named(finished: Bundle) -> None:
    """By its number in the file, however much was read before."""
    _, place = finished.lines_after(ChainPlace(), 5)
    changed = lines(finished)
    rewrite(finished, [*changed[:5], *changed[6:]])
    with pytest.raises(AlteredError, match=r"run 6 \(.*was altered"):
        finished.lines_after(place)
