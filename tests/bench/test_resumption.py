"""Going on with a bundle that somebody else began."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay import adopt_study
from assay.bench.resumption import _uses, require_same_machine, uses
from assay.changes import Application
from assay.core.errors import AlteredError, BundleError
from assay.record import Bundle
from cli_kit import assay
from fakes import COMMAND, FACTS, STUDY, FakeTarget, run_fake


def test_a_copy_is_ones_own_with_the_same_runs(finished: Bundle, tmp_path: Path) -> None:
    """Study, plan, facts and runs; no verdicts, no logs, no journal."""
    (finished.folder / "journal.jsonl").write_text('{"undo": ["rm", "-r", "/"]}\n')
    copy, _ = adopt_study(finished.folder, tmp_path / "mine")
    assert copy.runs() == finished.runs()
    assert copy.plan == finished.plan
    kept = {p.name for p in copy.folder.iterdir()}
    assert kept == {"study.toml", "host.json", "plan.json", "runs.jsonl", "logs", "profiles"}
    assert not copy.has_verdicts


def test_links_and_altered_runs_are_not_copied(finished: Bundle, tmp_path: Path) -> None:
    """Nothing is left of a copy that could not be made."""
    facts = finished.folder / "host.json"
    (tmp_path / "secret").write_text("{}")
    facts.unlink()
    facts.symlink_to(tmp_path / "secret")
    with pytest.raises(AlteredError, match="it is a link"):
        adopt_study(finished.folder, tmp_path / "mine")
    assert not (tmp_path / "mine").exists()


def test_a_folder_that_is_taken_is_left_alone(finished: Bundle, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(BundleError, match="is not empty"):
        adopt_study(finished.folder, tmp_path)


def test_what_a_study_would_run_is_said_before_it_does(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """Commands as they would be typed, with their witness and their undo."""
    study = read_study(STUDY.replace('change = "engine.data_cache"', COMMAND.format(d=tmp_path)))
    said = uses(run_fake(tmp_path / "b", fake, study), {"engine": fake})
    assert said == [
        f"runs touch {tmp_path}/off",
        "runs echo 'is off'",
        f"runs rm {tmp_path}/off",
        f"runs touch {tmp_path}/on",
        f"runs ls {tmp_path}/on",
        f"runs rm {tmp_path}/on",
    ]


def test_variables_executables_and_places_are_said_too() -> None:
    application = Application(
        settings={"attach": "redis://somewhere:1", "port": 6379},
        env={"LD_PRELOAD": "/tmp/x.so", "LC_ALL": None},
        binary="/tmp/server",
        host={"vm.swappiness": "1"},
    )
    assert list(_uses(application)) == [
        "runs /tmp/server",
        "sets the server's variable LD_PRELOAD to /tmp/x.so",
        "unsets LC_ALL",
        "writes 1 to vm.swappiness, and back",
        "gives the server attach = redis://somewhere:1",
    ]


def test_a_study_of_another_machine_is_not_gone_on_with(finished: Bundle) -> None:
    """Its runs are no runs of this one."""
    require_same_machine(finished, FACTS)
    with pytest.raises(BundleError, match=r"on another machine: processor .*, here Neoverse"):
        require_same_machine(finished, {**FACTS, "cpu_model": "Neoverse N1"})
    done = assay("run", "--resume", finished.folder)
    assert done.returncode == 2
    assert "begun on another machine" in " ".join(done.stderr.split())
    assert "begin anew" in " ".join(done.stderr.split())


def test_the_command_line_says_what_a_copy_would_run(finished: Bundle, tmp_path: Path) -> None:
    """And what to do next; the bundle itself is left as it was."""
    before = {p.name: p.stat().st_mtime_ns for p in finished.folder.iterdir()}
    done = assay("run", "--adopt", finished.folder, "--out", tmp_path / "mine")
    said = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert "is a copy of your own" in said
    assert "runs no command and no program of its own" in said
    assert "assay run --resume" in said
    assert {p.name: p.stat().st_mtime_ns for p in finished.folder.iterdir()} == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_bundle_of_another_user_is_refused_and_can_be_adopted(
    finished: Bundle, tmp_path: Path
) -> None:
    os.chown(finished.folder, 65534, 65534)
    with pytest.raises(BundleError, match="belongs to another user") as told:
        finished.lock()
    assert "--adopt" in told.value.next_step
    copy, _ = adopt_study(finished.folder, tmp_path / "mine")
    copy.lock()
    copy.close()
