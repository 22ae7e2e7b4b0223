"""The Python door: a study run, read and checked in three calls."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.bench import guard
from test_kill import STUDY as REAL


def test_exported_names_are_sorted_and_exist() -> None:
    """What the package promises is there."""
    assert assay.__all__ == sorted(assay.__all__)
    assert all(hasattr(assay, name) for name in assay.__all__)


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
