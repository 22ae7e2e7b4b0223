"""Kill -9 for real: the installed command and the real engine, ended at random moments."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

LOOSE = Path(__file__).parent / "loose.py"
"""The command line on a machine where other tests may be running."""

STUDY = """
name = "kill"
question = "Is a killed study whole in the end?"

[target]
kind = "engine"

[workload]
kind = "ycsb"
records = 2000
fields = 1

[measure]
primary = "throughput"
warmup = "10ms"
window = "40ms"

[[factor]]
name = "cache"
change = "engine.data_cache"

[[arm]]
name = "cache"
levels = { cache = "optimistic" }

[[arm]]
name = "again"
placebo = true

[design]
kind = "arms"

[decide]
smallest = "1%"
margin = "1%"
budget = "20s"
"""


def start(*words: str | Path) -> subprocess.Popen[bytes]:
    """The command, in its own session so that nothing else gets its signals."""
    return subprocess.Popen(
        [sys.executable, str(LOOSE), "run", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def engines(folder: Path) -> list[psutil.Process]:
    """Engines that this test's studies started and that still run."""
    return [
        p
        for p in psutil.process_iter(["name", "environ"])
        if p.info["name"] == "assayer"
        and (p.info["environ"] or {}).get("ASSAY_TEST") == str(folder)
    ]


def test_killed_ten_times_and_resumed_the_bundle_is_whole(tmp_path: Path, monkeypatch) -> None:
    """Nothing doubled, nothing missing, the schedule unchanged, no engine left behind."""
    monkeypatch.setenv("ASSAY_TEST", str(tmp_path))
    (tmp_path / "s.toml").write_text(STUDY)
    bundle, moments = tmp_path / "bundle", random.Random(4)
    process = start(tmp_path / "s.toml", "--out", bundle, "--seed", "11")
    while not (bundle / "plan.json").exists():
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.01)
    plan = (bundle / "plan.json").read_bytes()
    kills = 0
    for _ in range(10):
        time.sleep(moments.uniform(0.05, 1.2))
        kills += process.poll() is None
        process.kill()
        process.wait()
        process.stderr.close()
        process = start("--resume", bundle)
    _, story = process.communicate(timeout=120)
    assert process.returncode == 0, story.decode()
    assert kills >= 3
    assert (bundle / "plan.json").read_bytes() == plan
    runs = [json.loads(line) for line in (bundle / "runs.jsonl").read_text().splitlines()]
    assert [r["run"] for r in runs] == list(range(len(runs)))
    places = [(r["block"], r["attempt"], r["slot"], r["retry"]) for r in runs]
    assert len(set(places)) == len(places)
    verified = subprocess.run([sys.executable, LOOSE, "verify", bundle], check=False)
    assert verified.returncode == 0
    for _ in range(300):
        if not engines(tmp_path):
            break
        time.sleep(0.1)
    assert engines(tmp_path) == []


def test_sigterm_ends_cleanly_and_keeps_what_is_done(tmp_path: Path) -> None:
    """As Ctrl-C does: verdicts so far, exit code 130, and the bundle verifies."""
    (tmp_path / "s.toml").write_text(STUDY)
    bundle = tmp_path / "bundle"
    process = start(tmp_path / "s.toml", "--out", bundle)
    runs = bundle / "runs.jsonl"
    while not runs.exists() or runs.read_bytes().count(b"\n") < 4:
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, story = process.communicate(timeout=30)
    assert process.returncode == 130, story.decode()
    assert json.loads((bundle / "verdicts.json").read_text())["stopped"] == "you stopped it"
    assert subprocess.run([sys.executable, LOOSE, "verify", bundle], check=False).returncode == 0
