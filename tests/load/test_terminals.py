"""TPC-C's terminals on a stand-in: many sessions with keying and think times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.load import Load, TpccReport, parse_url, run_load, serve

ASSAY = Path(sys.executable).parent / "assay"


@pytest.mark.parametrize("protocol", ["postgresql", "mysql"])
def test_two_hundred_terminals_with_short_waits_carry_out_all_five_transactions(protocol: str):
    """Waits of a fiftieth: 200 terminals ask some 480 times a second, and wait otherwise."""
    options = {"warehouses": 20, "waits": True, "wait_scale": 0.02}
    with serve("tpcc", protocol=protocol) as urls:
        asked = Load(parse_url(urls[0]), "tpcc", options, connections=200, time_s=2, warmup_s=0.5)
        summary = run_load(asked)
    assert summary.complete
    assert summary.errors == 0
    assert all(kind["operations"] for kind in summary.by_kind.values()), summary.by_kind
    assert 0 < summary.operations < 2 * 2 * 480
    assert summary.lateness_ns["max"] > 0
    report = TpccReport.of(summary, options)
    assert report.efficiency is None
    assert any("waits scaled by 0.02" in line for line in report.lines())


def test_a_stand_in_needs_a_protocol_and_says_what_it_is():
    """On the command line, too."""
    with pytest.raises(InputError, match="postgresql or mysql"), serve("tpcc"):
        pass
    stalling = serve("tpcc", protocol="mysql", stall_ms=5)
    with pytest.raises(InputError, match="does not stall"), stalling:
        pass
    command = [ASSAY, "serve", "tpcc", "--protocol", "mysql"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            url = process.stdout.readline().strip()
            load = [ASSAY, "load", "tpcc", "--to", url, "--time", "300ms", "--warmup", "0s"]
            loaded = subprocess.run(load, capture_output=True, text=True)
        finally:
            process.terminate()
        told = process.stderr.read()
    assert url.startswith("mysql://")
    assert "without data" in told
    assert "stand-in without data" in loaded.stderr
    assert "not a TPC-C result" in loaded.stdout
