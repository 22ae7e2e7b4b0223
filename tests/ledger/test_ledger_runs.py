"""A real study enters the ledger at its end, and does not fail for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core import password
from assay.ledger import Ledger, known_folders
from assay.ledger.places import LedgerPlace

pytestmark = pytest.mark.server
ROOT = Path(__file__).parent.parent.parent
STUDY = """
name = "entered"
question = "Is the lock-free cache faster?"
[target]
kind = "engine"
[workload]
kind = "ycsb"
mix = "a"
records = 2000
fields = 1
[measure]
primary = "throughput"
warmup = "20ms"
window = "100ms"
design = "runs"
[[factor]]
name = "cache"
change = "engine.data_cache"
[design]
kind = "one-at-a-time"
[decide]
smallest = "50%"
margin = "50%"
budget = "10s"
"""


def run(folder: Path, ledger: str) -> subprocess.CompletedProcess[str]:
    """`assay run` of the study, where other tests may be running next to it."""
    (folder / "s.toml").write_text(STUDY)
    command = [sys.executable, str(ROOT / "tests" / "loose.py"), "run", "s.toml", "--out", "b"]
    state = {password.LEDGER: ledger, "XDG_STATE_HOME": str(folder / "state")}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=folder,
        env={**os.environ, **state},
    )  # fmt: skip


def test_a_study_enters_the_ledger_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its answers, by kind of request too."""
    done = run(tmp_path, f"sqlite:///{tmp_path}/ledger")
    assert done.returncode == 0, done.stderr
    assert "warning: not in the ledger" not in done.stderr
    ledger = Ledger.open(LedgerPlace(file=tmp_path / "ledger"))
    ((_, entry),) = ledger.entries()
    ledger.close()
    assert (entry.study, entry.folder) == ("entered", str(tmp_path / "b"))
    assert {row.request for row in entry.rows if row.strength == "by kind"} == {"read", "update"}
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert known_folders() == [tmp_path / "b"]


def test_a_study_does_not_fail_for_its_ledger(tmp_path: Path) -> None:
    """It says why the bundle is not in it, and what enters it later."""
    (tmp_path / "ledger").write_bytes(b"no database" * 1000)
    done = run(tmp_path, f"sqlite:///{tmp_path}/ledger")
    assert done.returncode == 0, done.stderr
    assert "warning: not in the ledger" in done.stderr
    assert "assay ledger add b" in done.stderr
    assert (tmp_path / "b" / "report.html").exists()
