"""Ray's part on this machine: the command, and what is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.errors import FleetError
from assay.fleet import nodes
from assay.fleet.clean_start import MARK, clean_environment
from assay.linux.processes import identity, is_alive
from fleet_kit import LOOPBACK, inventory, two


def test_the_head_is_started_and_the_others_join_it(tmp_path: Path) -> None:
    """Fixed ports, own addresses, the labels of the inventory, no dashboard."""
    lab = two(tmp_path)
    head = nodes.words(lab, lab.hosts["x86"], Path("/t"))
    other = nodes.words(lab, lab.hosts["arm"], Path("/t"))
    assert {"--head", "--port=6390", "--include-dashboard=false", "--temp-dir=/t"} <= set(head)
    assert "--address=198.18.0.1:6390" in other
    assert "--head" not in other
    assert "--node-ip-address=198.18.0.2" in other
    assert "--labels=arch=x86_64,assay-host=arm,type=big" in other
    ports = {word.partition("=")[2] for word in head if "port=" in word}
    assert ports == {*map(str, range(6390, 6397)), "6400", "6429"}


def test_what_is_marked_as_the_host_is_ended_and_nothing_else(tmp_path: Path) -> None:
    """Another host of the same fleet, and the same host of another, stay."""
    lab = inventory(tmp_path, LOOPBACK)
    here = lab.hosts["here"]
    marks = ("lab/here", "lab/there", "other/here")
    words = [sys.executable, "-c", "import time; time.sleep(60)"]
    running = [subprocess.Popen(words, env={**os.environ, MARK: mark}) for mark in marks]
    try:
        names = [identity(process.pid) for process in running]
        assert nodes.running(lab, here) == [running[0].pid]
        assert nodes.end(lab, here)
        running[0].wait()
        assert [is_alive(name) for name in names] == [False, True, True]
        assert not nodes.end(lab, here)
        assert nodes.running(lab, here) == []
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_a_host_that_runs_already_is_not_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that ends it is named."""
    lab = inventory(tmp_path, LOOPBACK)
    monkeypatch.setattr(nodes, "require_ray", lambda: None)
    words = [sys.executable, "-c", "import time; time.sleep(60)"]
    process = subprocess.Popen(words, env={**os.environ, MARK: "lab/here"})
    try:
        with pytest.raises(FleetError, match="runs here already") as raised:
            nodes.start(lab, lab.hosts["here"], {})
        assert "assay fleet down" in raised.value.next_step
    finally:
        process.kill()
        process.wait()


def test_a_server_inherits_nothing_of_ray() -> None:
    """Neither its variables, with the token, nor the mark of the host, nor the limit of threads."""
    given = {"RAY_AUTH_TOKEN": "x", "RAY_x": "1", MARK: "a/b", "OMP_NUM_THREADS": "1", "PATH": "/"}
    assert clean_environment(given) == {"PATH": "/"}
