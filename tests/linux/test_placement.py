"""What the kernel shows of threads and packets, read and told apart."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from assay import native
from assay.linux import placement, softnet
from assay.linux.smaps import parse
from assay.targets.client_health import health_of

SOFTNET = (
    "0001f4a0 00000002 00000003 00000000 00000000 00000000 00000000 00000000 00000000 "
    "0000ffff 00000001 00000000 00000000 00000000 00000000\n"
    "00000010 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
    "00000000 00000000 00000000 00000003 00000000 00000000\n"
)
SOFTIRQS = "          CPU0       CPU3\n NET_TX:  1  20\n NET_RX:  300  4000\n  SCHED:  9  9\n"


def test_packets_are_told_by_the_cpu_that_the_line_is_of() -> None:
    """Which is not its number: CPUs that are off have no line."""
    found = softnet._softnet(SOFTNET)
    assert found["softnet_processed.cpu0"] == 0x1F4A0
    assert found["softnet_dropped.cpu0"] == 2
    assert found["softnet_time_squeeze.cpu0"] == 3
    assert found["softnet_received_rps.cpu0"] == 0xFFFF
    assert found["softnet_processed.cpu3"] == 0x10
    assert "softnet_processed.cpu1" not in found


def test_a_kernel_with_fewer_columns_says_less() -> None:
    """What it does not tell is not made up, and the line is the CPU."""
    found = softnet._softnet("00000001 00000002 00000003\n")
    assert set(found) == {f"softnet_{n}.cpu0" for n in ("processed", "dropped", "time_squeeze")}


def test_softirqs_of_the_network_are_told_by_cpu() -> None:
    """And no others."""
    found = softnet._softirqs(SOFTIRQS)
    assert found == {
        "softirq_net_tx.cpu0": 1, "softirq_net_tx.cpu3": 20,
        "softirq_net_rx.cpu0": 300, "softirq_net_rx.cpu3": 4000,
    }  # fmt: skip


def test_this_machine_tells_them() -> None:
    """Each CPU that is online is in both files."""
    found = softnet.packets()
    for cpu in os.sched_getaffinity(0):
        assert f"softnet_processed.cpu{cpu}" in found
        assert f"softirq_net_rx.cpu{cpu}" in found


@pytest.mark.server
@pytest.mark.parametrize("bound", [True, False])
def test_every_thread_of_a_process_is_looked_at(bound: bool) -> None:
    """A thread that has bound itself is seen beside those that did not."""
    first = min(os.sched_getaffinity(0))
    program = (
        "import os, threading\n"
        "def one():\n"
        f"    {f'os.sched_setaffinity(0, {{{first}}})' if bound else 'pass'}\n"
        "    print('on', flush=True); input()\n"
        "threading.Thread(target=one).start()\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        found = placement.placement(process.pid)
        process.communicate(b"\n")
    assert sum(found.cpus.values()) == 2
    if len(os.sched_getaffinity(0)) > 1:
        assert (str(first) in found.cpus) is bound
    assert found.network == os.readlink("/proc/self/ns/net")


def health(foreign: float) -> native.Health:
    return native.Health(
        loader="client", busiest_thread=0.9, late_sends=None, asked_per_s=None,
        achieved_per_s=1.0, server_idle=0.4, foreign_cpu=foreign, steal=0.0, clock_step_ms=0.0,
    )  # fmt: skip


CPUS = [
    native.CpuShare(cpu=0, busy=1.0, user=0.5, system=0.4, softirq=0.1, steal=0.0),
    native.CpuShare(cpu=1, busy=0.2, user=0.1, system=0.05, softirq=0.05, steal=0.0),
]


def test_a_bound_server_idles_on_its_own_cpus_only() -> None:
    """The client may idle as it likes."""
    assert health_of(health(0.3), CPUS, (0,), False).server_idle == 0.0
    assert health_of(health(0.3), CPUS, (1,), False).server_idle == pytest.approx(0.8)
    assert health_of(health(0.3), CPUS, (), False) == health(0.3)


def test_handing_packets_on_is_no_disturbance_where_it_is_what_is_studied() -> None:
    """All other work of others still is."""
    assert health_of(health(0.3), CPUS, (), True).foreign_cpu == pytest.approx(0.15)
    assert health_of(health(0.1), CPUS, (), True).foreign_cpu == 0.0


def test_memory_that_processes_share_counts_as_touched_and_files_do_not() -> None:
    """Lines of smaps of three mappings."""
    smaps = (
        "7f0000000000-7f0040000000 rw-s 00000000 00:01 5    /dev/zero (deleted)\n"
        "Size: 1048576 kB\nKernelPageSize: 4 kB\nRss: 100 kB\nAnonymous: 0 kB\n"
        "55d000000000-55d000010000 r-xp 00000000 08:01 9    /usr/bin/server\n"
        "Size: 64 kB\nKernelPageSize: 4 kB\nRss: 64 kB\nAnonymous: 8 kB\nTHPeligible:    0\n"
        "7f1000000000-7f1000010000 rw-p 00000000 00:00 0 \n"
        "Size: 64 kB\nKernelPageSize: 4 kB\nRss: 40 kB\nAnonymous: 40 kB\nTHPeligible:    1\n"
    )
    pages = parse(smaps)
    assert pages.shared == 100 * 1024
    assert pages.fields["Anonymous"] == 48 * 1024
    assert pages.eligible == 40 * 1024
    assert pages.pool_touched == {}
