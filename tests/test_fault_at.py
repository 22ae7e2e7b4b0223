"""A fault at an fsync of a study: the study goes on, and the machine is as before.

By default at one or two of each study. `ASSAY_FAULTS=all` tries every one, which takes hours;
`ASSAY_FAULTS=80` at most 80 of each, evenly spread. `--log-cli-level=INFO` says how many met it.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from assay.host.transaction import HostTree, forget, statuses
from fault_kit import cache, left_in, small_disk, temporary, wait_for
from test_kill import STUDY, engines

__all__ = ["cache", "small_disk", "temporary"]

FAULTY = Path(__file__).parent / "fault_at.py"
FAULTS = os.environ.get("ASSAY_FAULTS", "")
FEW = {"engine": (5, 14), "host": (40,), "mariadb": (14,)}
"""While the bundle is made, and among the runs."""
SAY = logging.getLogger(__name__).info
LIMIT_S = 7200 if FAULTS else 300

VALUE = Path("/proc/sys/vm/stat_interval")
"""What the study of a host changes: how often statistics are gathered, in seconds."""

AGAIN = '[[arm]]\nname = "again"\nplacebo = true\n'
ENGINE = STUDY.replace(AGAIN, "").replace('"1%"', '"50%"').replace('"20s"', '"13s"')
OLTP = '"oltp-point-select"\ntables = 1\ntable_size = 100'
MARIADB = (
    ENGINE.replace('"engine"', '"mariadb"\nconnections = 2')
    .replace('"ycsb"\nrecords = 2000\nfields = 1', OLTP)
    .replace('"engine.data_cache"', '"mariadb.placebo"')
    .replace('"optimistic"', "101")
    .replace('"13s"', '"1min"')
)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What the studies leave for `assay host status`."""
    before = {one.name for one in statuses(HostTree())}
    yield
    for one in statuses(HostTree()):
        if one.name not in before:
            forget(HostTree(), one.name)


def of_the_host() -> str:
    off, on = (f'{{ "{VALUE}" = "{value}" }}' for value in (VALUE.read_text().strip(), 7))
    change = f'"host"\noff = {off}\non = {on}'
    return ENGINE.replace('"engine.data_cache"', change).replace('"optimistic"', '"on"')


STUDIES = {"engine": lambda: ENGINE, "host": of_the_host, "mariadb": lambda: MARIADB}


def assay(*words: str | Path, **faults: str | Path) -> subprocess.CompletedProcess[bytes]:
    """The command to its end, with a fault."""
    env = {**os.environ, **{f"FAULT{n}": str(value) for n, value in faults.items()}}
    command = [sys.executable, str(FAULTY), *map(str, words)]
    return subprocess.run(command, env=env, capture_output=True, timeout=170)


def goes_on(bundle: Path, study: Path) -> None:
    """To its end, from whatever was left of it, and its bundle verifies."""
    words = ("--resume", bundle) if (bundle / "plan.json").exists() else (study, "--out", bundle)
    done = assay("run", *words)
    assert done.returncode == 0, done.stderr.decode()
    lines = [json.loads(line) for line in (bundle / "runs.jsonl").read_text().splitlines()]
    assert [run["run"] for run in lines] == list(range(len(lines)))
    assert {run["status"] for run in lines} <= {"ok", "void"}
    verified = assay("verify", bundle)
    assert verified.returncode == 0, verified.stdout.decode()


def fsyncs(kind: str, folder: Path) -> Sequence[int]:
    """Those of a study that a fault is to meet."""
    study, count = folder / "s.toml", folder / "count"
    study.write_text(STUDIES[kind]())
    if not FAULTS:
        return FEW[kind]
    done = assay("run", study, "--out", folder / "whole", _COUNT=count)
    assert done.returncode == 0, done.stderr.decode()
    every = range(1, int(count.read_text()))
    most = len(every) if FAULTS == "all" else int(FAULTS)
    return every[:: -(-len(every) // most)]


@pytest.mark.timeout(LIMIT_S)  # whole studies, one after the other
@pytest.mark.parametrize("kind", STUDIES)
def test_a_study_that_is_killed_at_an_fsync_goes_on(kind: str, temporary: Path) -> None:
    """kill -9: nothing doubled, nothing missing, no value of the host or process left behind."""
    before, study = VALUE.read_text(), temporary / "s.toml"
    kills, tried = 0, fsyncs(kind, temporary)
    for at in tried:
        bundle = temporary / f"b{at}"
        done = assay("run", study, "--out", bundle, "--seed", "3", _AT=str(at), **{"": "kill"})
        kills += done.returncode == -9
        goes_on(bundle, study)
        assert kind != "host" or VALUE.read_text() == before
        assert wait_for(lambda: engines(temporary) == []), at
    SAY(f"{kind}: {kills} of {len(tried)} kills met the study, and it went on after each")
    assert kills, f"of {at}"


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("kind", ["engine", "host"])
def test_a_study_whose_disk_is_full_at_an_fsync_goes_on(
    kind: str, small_disk: Path, temporary: Path
) -> None:
    """It says so and what to do, the host is as before, and with room again it goes on."""
    before, study = VALUE.read_text(), temporary / "s.toml"
    filled, tried = 0, fsyncs(kind, temporary)
    for at in tried:
        bundle = small_disk / "b"
        faults = {"": "full", "_AT": at, "_DISK": small_disk}
        done = assay("run", study, "--out", bundle, "--seed", "3", **faults)
        said = done.stderr.decode()
        assert VALUE.read_text() == before
        if done.returncode != 0:
            filled += 1
            assert "No space left" in said or "disk is full" in said, said
            assert "or Assay is wrong" not in said, said
            assert "next:" in said, said
        (small_disk / "filler").unlink(missing_ok=True)
        goes_on(bundle, study)
        subprocess.run(["rm", "-r", bundle], check=True)
        assert left_in(small_disk) == []
    SAY(f"{kind}: {filled} of {len(tried)} full disks met the study, and it went on after each")
    assert filled, f"of {at}"
