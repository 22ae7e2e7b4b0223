"""A machine's own record: measured CPU by CPU and together, kept, and told before a study."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import assay
from assay.bench import machine_noise as made
from assay.bench.machine_noise import MachineNoise, keep, kept, machine_noise, work_on
from assay.cli import app
from assay.core.errors import InputError
from assay.host.transaction.writable import HostTree
from assay.report.terminal.machine_noise import advice, noise_lines

STAT = "cpu  9 0 9 9 0 0 0 {0} 0 0\ncpu0 4 0 4 4 0 0 0 {0} 0 0\ncpu1 5 0 5 5 0 0 0 0 0 0\n"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostTree:
    """Two CPUs of a machine with a name; its record goes to a folder of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    files = {
        "proc/stat": STAT.format(0),
        "proc/cpuinfo": "model name : A fake CPU\n",
        "etc/machine-id": "0123\n",
        "sys/devices/system/cpu/online": "0-1\n",
    }
    for name, text in files.items():
        place = tmp_path / "host" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return HostTree(tmp_path / "host")


class Machine:
    """CPUs whose speed is 1, or `slow` for three seconds at a time; what was asked of them."""

    def __init__(self, slow: float = 1.0) -> None:
        self.slow, self.asked, self.lock = slow, [], threading.Lock()

    def __call__(self, cpu: int, seconds: float) -> list[float]:
        with self.lock:
            self.asked.append((cpu, seconds))
        drawn = np.random.default_rng(cpu)
        state = np.cumsum(drawn.random(round(seconds / 0.01)) < 0.01 / 3) % 2
        speed = np.where(state == 1, self.slow, 1.0)
        return (500 * speed * np.exp(drawn.normal(0, 0.02, len(state)))).tolist()


def test_each_cpu_is_looked_at_alone_and_all_of_them_together(host: HostTree) -> None:
    machine = Machine()
    found = machine_noise(120, host, machine)
    assert [(t.cpu, t.together) for t in found.traces] == [
        (0, False),
        (1, False),
        (0, True),
        (1, True),
    ]
    assert sorted(machine.asked) == [(0, 30.0), (0, 60.0), (1, 30.0), (1, 60.0)]
    assert all(len(t.marks) == 60 and max(t.marks) == 1.0 for t in found.traces)
    assert MachineNoise.model_validate_json(found.model_dump_json()) == found


def test_a_steady_machine_may_measure_run_after_run(host: HostTree) -> None:
    found = machine_noise(120, host, Machine())
    assert found.design == "runs"
    assert [t.speeds for t in found.traces] == [None] * 4
    assert 'even enough for design = "runs"' in advice(found)


def test_a_machine_of_two_speeds_is_told_to_take_turns_and_what_that_saves(host: HostTree) -> None:
    found = machine_noise(600, host, Machine(slow=0.5))
    assert found.design == "slices"
    speeds = found.traces[-1].speeds
    assert speeds is not None
    assert speeds.slow == pytest.approx(0.5, abs=0.02)
    last = found.times[-1]
    assert last.runs_s is not None
    assert last.slices_s is not None
    assert last.runs_s > 2 * last.slices_s
    text = "\n".join(line.text for line in noise_lines(found))
    assert "two speeds, 1 and 0.50" in text
    assert 'let arms take turns here (design = "slices"' in text


def test_noise_that_the_record_is_too_short_for_is_unknown(host: HostTree) -> None:
    """No number that was not measured."""
    found = machine_noise(10, host, Machine())
    assert found.noise[-1].runs is None
    assert "unknown" in "\n".join(line.text for line in noise_lines(found))
    with pytest.raises(InputError, match="show too little"):
        machine_noise(5, host, Machine())


def test_stolen_time_is_that_of_the_cpu(host: HostTree) -> None:
    """Ticks of a hundredth of a second."""

    def stolen(cpu: int, seconds: float) -> list[float]:
        (host.root / "proc/stat").write_text(STAT.format(round(100 * seconds * 0.1)))
        return Machine()(cpu, seconds)

    found = machine_noise(40, host, stolen)
    assert found.traces[0].steal == pytest.approx(0.1)
    assert found.traces[1].steal == 0.0


def test_the_record_is_kept_by_machine_and_a_damaged_one_is_none(host: HostTree) -> None:
    found = machine_noise(20, host, Machine())
    assert kept(host) is None
    path = keep(found)
    assert kept(host) == found
    (host.root / "etc/machine-id").write_text("another\n")
    assert kept(host) is None
    (host.root / "etc/machine-id").write_text("0123\n")
    path.write_text(path.read_text()[:-20])
    assert kept(host) is None


def test_the_command_measures_keeps_and_prints(
    host: HostTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so does Python."""
    monkeypatch.setattr(made, "work_on", Machine())
    monkeypatch.setattr(made, "HostTree", lambda: host)
    done = CliRunner().invoke(app, ["host", "noise", "--for", "20s", "--json"])
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["seconds"] == 20
    again = kept(host)
    assert again is not None
    assert assay.machine_noise(20, host, Machine()).cpus == again.cpus
    refused = CliRunner().invoke(app, ["host", "noise", "--for", "soon"])
    assert refused.exit_code == 2
    assert "--for" in refused.stderr


@pytest.mark.server
def test_a_thread_on_a_cpu_tells_what_it_did_in_each_step() -> None:
    """The native half, for a second; a machine that is busy loses some steps' worth."""
    cpu = min(os.sched_getaffinity(0))
    work = work_on(cpu, 1.0)
    assert len(work) == pytest.approx(100, abs=2)
    assert min(work) >= 0
    assert np.median(work) > 100
