"""The Python door: a study run, read and checked in three calls."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.api import default_folder
from assay.bench import guard
from assay.native import find_assayer
from test_kill import STUDY as REAL


def test_exported_names_are_sorted_and_exist() -> None:
    """What the package promises is there."""
    assert assay.__all__ == sorted(assay.__all__)
    assert all(hasattr(assay, name) for name in assay.__all__)


@pytest.mark.server
def test_a_study_runs_for_real_and_recomputes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behaviour, not numbers: other processes may be at work while tests run."""
    monkeypatch.setattr(guard, "FOREIGN_CPUS", float("inf"))
    monkeypatch.setattr(guard, "STOLEN_CPUS", float("inf"))
    (tmp_path / "study.toml").write_text(REAL)
    overrides = {"decide.margin": '"90%"', "decide.smallest": '"90%"'}
    bundle, verdicts = assay.run_study(
        str(tmp_path / "study.toml"), tmp_path / "bundle", overrides=overrides, seed=3
    )
    assert {v.arm for v in verdicts.verdicts} == {"cache", "again"}
    assert assay.open_bundle(bundle.folder).verdicts() == verdicts
    assert assay.differences(bundle) == []


def test_every_run_carries_its_witness_and_dose(tmp_path: Path, finished) -> None:
    """In every arm, for every factor."""
    for run in finished.runs():
        assert set(run.witness) == {"hint", "cache"}
        assert all(w.held for w in run.witness.values())
        assert set(run.dose) == {"hint", "cache"}


GENERIC = """
name = "own-changes"
question = "Do the four generic changes reach a real server?"

[target]
kind = "micro"

[workload]
kind = "lock"

[measure]
primary = "throughput"
warmup = "10ms"
window = "40ms"

[[factor]]
name = "configuration"
change = "setting"
levels = { a = { hint = "none", padding = 0 }, b = { hint = "nop", padding = 64 } }

[[factor]]
name = "variable"
change = "env"
variable = "ASSAY_PLACEBO"
on = "1"

[[factor]]
name = "build"
change = "binary"
on = "other/assayer"

[[factor]]
name = "switch"
change = "command"
[factor.levels.off]
apply = ["true"]
undo = ["true"]
witness = ["cat", "{flag}"]
expect = ""
[factor.levels.on]
apply = ["cp", "{source}", "{flag}"]
undo = ["truncate", "-s", "0", "{flag}"]
witness = ["cat", "{flag}"]
expect = "on"

[design]
kind = "one-at-a-time"

[decide]
smallest = "90%"
margin = "90%"
budget = "60s"
"""


@pytest.mark.server
def test_a_users_own_changes_reach_a_real_server_and_are_witnessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings, a variable, another build and a command, each proved on and proved off."""
    monkeypatch.setattr(guard, "FOREIGN_CPUS", float("inf"))
    monkeypatch.setattr(guard, "STOLEN_CPUS", float("inf"))
    flag, source, other = tmp_path / "flag", tmp_path / "source", tmp_path / "other" / "assayer"
    flag.write_text("")
    source.write_text("on")
    other.parent.mkdir()
    other.write_bytes(find_assayer().read_bytes() + b"\0")
    other.chmod(0o755)
    text = GENERIC.replace("{flag}", str(flag)).replace("{source}", str(source))
    (tmp_path / "study.toml").write_text(text)
    bundle, verdicts = assay.run_study(str(tmp_path / "study.toml"), tmp_path / "bundle", seed=1)
    arms = {"configuration", "variable", "build", "switch", "aa-control"}
    assert {v.arm for v in verdicts.verdicts} == arms
    assert all(v.witness.held for v in verdicts.verdicts), verdicts.verdicts
    by_arm = {run.arm: run.witness for run in bundle.runs()}
    assert by_arm["build"]["build"].evidence != by_arm["baseline"]["build"].evidence
    assert by_arm["switch"]["switch"].evidence == "witness command printed 'on'"
    assert flag.read_text() == ""
    assert assay.differences(bundle) == []


def test_the_name_of_a_study_leads_to_no_other_folder() -> None:
    """`../../tmp/x` put the bundle into /tmp."""
    for name in ("../../../tmp/evil", "/etc/x", "..", ".hidden", "a" * 5000, ""):
        assert default_folder(name).parent == Path("bundles")
        assert len(default_folder(name).name) < 120
    assert default_folder("quickstart").name.startswith("quickstart-2")
