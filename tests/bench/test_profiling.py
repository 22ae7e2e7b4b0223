"""Profiles beside a run: what a study gets, what is kept, and what is said where there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.bench import profiling
from assay.bench.profiling import planned_profile, profiled
from assay.core.errors import AlteredError, StudyError
from assay.counters import Possible, profilable
from assay.host import host_facts
from assay.plan import PlannedProfile
from assay.record import Bundle, differences
from assay.report import verdict_lines
from assay.report.html.page import report_html
from assay.study import arms, read
from assay.targets import TARGETS
from fakes import STUDY, FakeTarget, run_fake
from profile_kit import WANTING, profile_of, profiled_bundle

CHAINS = {("main", "serve"): 7, ("main",): 3}


@pytest.fixture
def bundle(tmp_path: Path, fake: FakeTarget, read_study: Any, monkeypatch: Any) -> Bundle:
    """A study whose every run has the same profile."""
    study = read_study(WANTING)
    return profiled_bundle(tmp_path / "b", fake, study, lambda *_: profile_of(CHAINS), monkeypatch)


def test_every_run_has_its_profile_and_the_bundle_verifies(bundle: Bundle) -> None:
    assert bundle.plan.profile == PlannedProfile(hz=199, event="cpu-clock")
    runs = bundle.runs()
    assert runs
    assert all(bundle.profile(run) == profile_of(CHAINS) for run in runs)
    assert len(list((bundle.folder / "profiles").iterdir())) == len(runs)
    assert differences(bundle) == []


def test_a_profile_that_was_altered_is_told_with_its_run(bundle: Bundle) -> None:
    """The verdicts still recompute; what is shown beside them does not."""
    run = bundle.runs()[2]
    bundle.write_profile(run.run, profile_of({("main",): 10}))
    with pytest.raises(AlteredError, match=r"run 2 .* profile profiles/run-00002\.json\.gz was al"):
        bundle.profile(run)
    found = differences(bundle)
    assert len(found) == 1
    assert "run-00002.json.gz was altered" in found[0]


def test_a_profile_that_is_gone_is_told_with_its_run(bundle: Bundle) -> None:
    (bundle.folder / "profiles" / "run-00001.json.gz").unlink()
    (found,) = differences(bundle)
    assert found.startswith("run 1 ")
    assert "is missing" in found


def test_a_run_that_no_longer_names_its_profile_was_altered(bundle: Bundle) -> None:
    """The digest of a profile is part of the chain."""
    path = bundle.folder / "runs.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1]["profile"] = ""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(AlteredError, match=r"run 1 .* was altered"):
        bundle.runs()


def test_a_bundle_from_before_there_were_profiles_is_read_as_ever(finished: Bundle) -> None:
    """Its lines have no such field, and its chain is over the lines as they are."""
    from assay.core.digest import canonical, chained

    path, previous = finished.folder / "runs.jsonl", finished._start()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["profile"], line["digest"]
        line["digest"] = previous = chained(previous, line)
    path.write_bytes(b"".join(canonical(line) + b"\n" for line in lines))
    plan = json.loads((finished.folder / "plan.json").read_text())
    del plan["profile"]
    runs = finished.runs()
    assert len(runs) == len(lines)
    assert all(finished.profile(run) is None for run in runs)


def test_what_cannot_be_profiled_is_said_before_the_first_run_and_after(
    tmp_path: Path, fake: FakeTarget, read_study: Any, monkeypatch: Any
) -> None:
    """With the missing right, in the plan, in the text and on the page."""
    why = "perf_event_open: Permission denied; see kernel.perf_event_paranoid"
    monkeypatch.setattr(profiling, "profilable", lambda facts: Possible("", {"profile": why}))
    bundle = run_fake(tmp_path / "b", fake, read_study(WANTING))
    planned = bundle.plan.profile
    assert planned is not None
    assert not planned.possible
    assert planned.absent == {"profile": why}
    assert all(run.profile == "" for run in bundle.runs())
    said = [line.text for line in verdict_lines(bundle.verdicts(), bundle.plan)]
    assert f"no profile: {why}" in said
    assert "kernel.perf_event_paranoid" in report_html(bundle)


def test_a_study_that_does_not_ask_has_no_profile(finished: Bundle) -> None:
    assert finished.plan.profile is None
    assert not (finished.folder / "profiles").exists()
    assert "Where the time went" not in report_html(finished)


@pytest.mark.parametrize("value", ['"yes"', "1", '["cpu"]'])
def test_a_profile_is_asked_for_by_true_or_false(value: str, read_study: Any) -> None:
    """Said with the line, before anything starts."""
    with pytest.raises(StudyError, match="profile: should be a valid boolean"):
        read_study(WANTING.replace("profile = true", f"profile = {value}"))
    assert read_study(WANTING).profile
    assert not read_study(STUDY).profile


def test_a_server_on_another_machine_is_not_profiled_and_that_is_planned(
    read_study: Any, monkeypatch: Any
) -> None:
    """There is no process here to be sampled."""
    from dataclasses import replace

    monkeypatch.setattr(profiling, "profilable", lambda facts: Possible("cpu-clock", {}))
    study = read_study(WANTING)
    far = replace(study.cases[0], name="far", settings={"attach": "mysql://db.example.net/x"})
    planned = planned_profile(replace(study, cases=(study.cases[0], far)), {})
    assert planned is not None
    assert planned.possible
    assert planned.absent == {"profile of far": "its server is on another machine"}


def test_the_page_has_the_profile_with_its_pictures(bundle: Bundle) -> None:
    page = report_html(bundle)
    assert "Where the time went" in page
    assert '<svg class="flame"' in page
    assert page.count('<svg class="flame"') == 4


@pytest.mark.server
def test_the_engine_is_profiled_over_its_window(tmp_path: Path) -> None:
    """For real: its own functions are found, in the module that they are in."""
    facts = host_facts()
    possible = profilable(facts)
    if "profile" in possible.absent:
        # Without the right it says which one is missing.
        assert "perf_event_paranoid" in possible.absent["profile"]
        return
    study = read("x.toml", WANTING, Path("."))
    launch = study.launch(study.cases[0], arms(study)[0], seed=1)
    planned = planned_profile(study, facts)
    server = TARGETS["engine"].start(launch, tmp_path / "log")
    try:
        with profiled(planned, server) as profile:
            server.read_back()
            measured = server.measure(profile.telling(lambda *told: None), profile.begin)
            found = profile.finish()
    finally:
        server.stop()
    assert measured.complete
    assert found is not None
    assert found.samples == sum(stack.count for stack in found.stacks) > 0
    own = {f.name for f in found.functions if f.module == "assayer"}
    assert any("assay_" in name for name in own), own
