"""Which statistics decided a bundle: the plan says, and verification goes by it."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from assay.core.errors import AlteredError, ExitCode, StatisticsError
from assay.plan import PlannedStatistics
from assay.record import Bundle, differences
from assay.stats.constants import STANDARD, VERSION, VERSIONS, Constants
from fakes import FakeTarget, run_fake

OLD = Path(__file__).parent.parent / "data" / "before-statistics-version.tar.gz"
"""A study of the engine, run by the last commit whose plans recorded no statistics."""


@pytest.fixture
def old(tmp_path: Path) -> Bundle:
    with tarfile.open(OLD) as archive:
        archive.extractall(tmp_path, filter="data")
    return Bundle.open(tmp_path / "before")


def decided_by(bundle: Bundle, statistics: PlannedStatistics, folder: Path) -> Bundle:
    """The same runs under a plan that records other statistics."""
    plan = bundle.plan.model_copy(update={"statistics": statistics})
    made = Bundle.create(folder, bundle.study, plan, bundle.host)
    made.lock()
    for record in bundle.runs():
        made.append(record.model_copy(update={"digest": ""}))
    made.close()
    made.write_verdicts(bundle.verdicts())
    return Bundle.open(folder)


def test_a_plan_records_the_version_and_every_constant(finished: Bundle) -> None:
    """As JSON, so that whoever reads the bundle needs no source code."""
    said = finished.plan.statistics
    assert said is not None
    assert (said.version, said.constants) == (VERSION, STANDARD)
    assert set(said.model_dump()["constants"]) == set(Constants.model_fields)


def test_a_bundle_made_before_plans_recorded_them_verifies(old: Bundle) -> None:
    """Its statistics are version 1, and its A/A control has its former name."""
    assert "sentinel" in [arm.name for arm in old.plan.arms]
    assert old.plan.statistics is None
    assert old.plan.constants == VERSIONS[1]
    assert differences(old) == []


def test_constants_that_a_version_did_not_write_down_have_the_values_it_had() -> None:
    """The checks that came with a version do not apply to what one before it decided."""
    written = STANDARD.model_dump(mode="json")
    del written["checks"]
    for version, checks in ((1, 1), (2, 2), (3, 3)):
        read = PlannedStatistics.model_validate({"version": version, "constants": written})
        assert isinstance(read.constants, Constants)
        assert read.constants.checks == checks


def test_a_bundle_recomputes_with_the_constants_of_its_plan(
    tmp_path: Path, fake: FakeTarget, study: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with those of today."""
    rare = PlannedStatistics(constants=STANDARD.model_copy(update={"looks_max": 2}))
    monkeypatch.setattr("assay.study.planner.PlannedStatistics", lambda: rare)
    bundle = run_fake(tmp_path / "bundle", fake, study)
    monkeypatch.undo()
    assert any("of 2, " in row.reason for row in bundle.verdicts().verdicts)
    assert differences(Bundle.open(bundle.folder)) == []
    today = decided_by(bundle, PlannedStatistics(), tmp_path / "today")
    assert differences(today)


def test_another_version_is_named_and_nothing_is_called_altered(
    finished: Bundle, tmp_path: Path
) -> None:
    """Constants that this version does not know are kept; the verdicts can still be read."""
    later = PlannedStatistics(version=99, constants={"unheard_of": 0.5})
    bundle = decided_by(finished, later, tmp_path / "later")
    with pytest.raises(
        StatisticsError, match=f"decided by version 99 .* this is version {VERSION}"
    ) as raised:
        differences(bundle)
    assert raised.value.exit_code == ExitCode.MISSING
    assert bundle.verdicts() == finished.verdicts()


def test_an_altered_run_is_named_whatever_version_decided(finished: Bundle, tmp_path: Path) -> None:
    """The chain of runs needs no statistics."""
    bundle = decided_by(finished, PlannedStatistics(version=99), tmp_path / "later")
    path = bundle.folder / "runs.jsonl"
    path.write_text(path.read_text().replace('"block":0', '"block":1', 1))
    with pytest.raises(AlteredError, match="was altered"):
        differences(bundle)
