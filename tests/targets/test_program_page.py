"""docs/program.md: its study files are run as they stand there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from server_kit import own_folders

__all__ = ["own_folders"]

PAGE = Path(__file__).parents[2] / "docs" / "program.md"
STUDIES = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
ASSAY = "from assay.cli import main; main()"


def assay(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, in a folder."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", ASSAY, *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("number", "primary", "also"),
    [(0, "throughput", "latency_p99"), (1, "latency_p50", "load_seconds")],
)
def test_a_study_of_the_page_gets_from_nothing_to_a_verdict(
    number: int, primary: str, also: str, tmp_path: Path
) -> None:
    """The file, one command, a row for the change; every run that counts has its witnesses."""
    (tmp_path / "study.toml").write_text(STUDIES[number])
    budget = ("--budget", "60s")
    done = assay(tmp_path, "run", "study.toml", "--out", "bundle", *budget, "--json")
    assert done.returncode == 0, done.stderr
    rows = [v for v in json.loads(done.stdout)["verdicts"] if v["metric"] == primary]
    (row,) = [v for v in rows if v["contrast"]["kind"] == "change"]
    assert row["word"] in ("helps", "hurts", "no difference", "undecided")
    assert row["witness"]["held"]
    lines = (tmp_path / "bundle" / "runs.jsonl").read_text().splitlines()
    runs = [r for r in map(json.loads, lines) if r["status"] == "ok"]
    assert {r["arm"] for r in runs} == {"baseline", row["arm"]}
    assert all(also in r["metrics"] for r in runs)
    assert assay(tmp_path, "verify", "bundle").returncode == 0
    assert assay(tmp_path, "report", "bundle").returncode == 0
