"""`assay compare` as somebody uses it: to a verdict, to a study file, to an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.record import Bundle
from cli_kit import assay

SHORT = ("--window", "20ms", "--budget", "30s", "--seed", "7")
TELL = ("--value", r"(\d+) op/s", "--unit", "op/s", "--better", "higher")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is not waited for."""
    monkeypatch.setattr("assay.cli.compare.SETTLE_S", 0.0)
    monkeypatch.setattr("assay.bench.life.SETTLE_S", 0.0)


def test_two_commands_get_a_verdict_a_bundle_and_a_report(tmp_path: Path) -> None:
    """The number that they print has no noise, so eight blocks are enough."""
    done = assay("compare", "echo 100 op/s", "echo 150 op/s", *TELL, *SHORT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "helps" in done.stdout
    assert "Take echo 150 op/s: it raises printed_higher.op/s by 50.0 %" in done.stdout
    (folder,) = (tmp_path / "bundles").iterdir()
    assert (folder / "report.html").stat().st_size > 10_000
    assert assay("verify", folder).returncode == 0
    (row,) = [r for r in Bundle.open(folder).verdicts().verdicts if r.metric.startswith("printed")]
    assert row.witness.held
    assert row.low == pytest.approx(0.5, abs=1e-6)


def test_a_saved_study_is_one_that_can_be_run(tmp_path: Path) -> None:
    """By `assay run`, to the same answer."""
    words = ("compare", "echo 100 op/s", "echo 90 op/s", *TELL, *SHORT)
    done = assay(*words, "--name", "old", "--save-study", tmp_path / "s.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "bundles").exists()
    ran = assay("run", tmp_path / "s.toml", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    rows = [r for r in json.loads(ran.stdout)["verdicts"] if r["metric"].startswith("printed")]
    assert [r["word"] for r in rows] == ["hurts"]


def test_a_scan_has_a_verdict_for_each_case_and_one_for_all(tmp_path: Path) -> None:
    """The values stand in the commands."""
    commands = ("echo {n}00 op/s", "echo {n}20 op/s")
    done = assay("compare", *commands, "--scan", "n=1,2", *TELL, *SHORT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "n=1: number that the command prints" in done.stdout
    assert "all cases together" in done.stdout


def test_one_command_alone_shows_its_runs_and_what_could_be_seen(tmp_path: Path) -> None:
    """No bundle: there is no verdict."""
    done = assay("compare", "sleep 0.01", "--window", "20ms", "--budget", "1s", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "median" in done.stdout
    assert "could be seen: 1 % in" in done.stdout
    assert "An empty process took" in done.stdout
    assert not (tmp_path / "bundles").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("true", "sh -c 'echo oh >&2; exit 4'"), "code 4: oh"),
        (("true", "no-such-program"), "no-such-program is no program on the PATH"),
        (("echo 1", "echo x", "--value", r"\d", "--better", "lower"), "nothing that matches"),
        (("echo 1", "echo 2", "--value", r"\d"), "--value needs --better"),
        (("true", "false", "--metric", "walls"), "did you mean 'wall'"),
    ],
)
def test_what_cannot_work_is_said_before_the_first_run(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    """With the command's name; nothing is left behind."""
    done = assay("compare", *words, *SHORT, cwd=tmp_path)
    assert done.returncode in (2, 3)
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []
