"""What the kernel shows of threads, disks and control groups."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from assay.linux.cgroups import GroupLimits, limits_of
from assay.linux.disks import DiskCounts, disks
from assay.linux.threads import run_times, states
from assay.linux.tree import Tree


def put(root: Path, files: dict[str, str]) -> Tree:
    for path, text in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return Tree(root)


def test_threads_are_counted_by_name_and_state() -> None:
    """One runs, which looks; one sleeps, which waits for it."""
    over = threading.Event()
    waiting = threading.Thread(target=over.wait)
    waiting.start()
    try:
        found = states(os.getpid())
        assert {state.state for state in found} >= {"R", "S"}
        assert found.total() >= 2
    finally:
        over.set()
        waiting.join()


def test_time_on_a_cpu_only_grows() -> None:
    """Where the kernel counts it."""
    before = run_times(os.getpid())
    sum(range(200_000))
    after = run_times(os.getpid())
    assert all(after[tid].ran >= times.ran for tid, times in before.items() if tid in after)


def test_a_process_that_is_gone_has_no_threads() -> None:
    """It may go at any moment."""
    assert states(999_999_999).total() == 0
    assert run_times(999_999_999) == {}


DISKSTATS = """ 254 0 vda 100 0 0 50 200 0 0 400 1 900 1000 0 0 0 0 20 60
 7 0 loop0 0 0 0 0 0 0 0 0 0 0 0
 8 0 sda 1 0 0 1 1 0 0 1 0 1 1
"""


def test_disks_that_were_used_are_read_with_their_flushes(tmp_path: Path) -> None:
    """Kernels before 5.5 count none."""
    found = disks(put(tmp_path, {"/proc/diskstats": DISKSTATS}))
    assert found["vda"] == DiskCounts(100, 50, 200, 400, 900, 1000, 20, 60)
    assert found["sda"].flushes is None
    assert "loop0" not in found
    assert found["vda"].since(DiskCounts(90, 40, 100, 100, 400, 500, 10, 30)) == DiskCounts(
        10, 10, 100, 300, 500, 500, 10, 30
    )
    assert disks(Tree(tmp_path / "empty")) == {}


def test_limits_of_the_unified_hierarchy_count_from_above_too(tmp_path: Path) -> None:
    """The tightest of the group and those above it; throttling is the group's own."""
    tree = put(
        tmp_path,
        {
            "/proc/7/cgroup": "0::/slice/unit\n",
            "/sys/fs/cgroup/slice/cpu.max": "50000 100000\n",
            "/sys/fs/cgroup/slice/unit/cpu.max": "max 100000\n",
            "/sys/fs/cgroup/slice/unit/cpu.stat": "usage_usec 5\nthrottled_usec 1234\n",
            "/sys/fs/cgroup/slice/unit/memory.max": "1048576\n",
        },
    )
    assert limits_of(tree, 7) == GroupLimits(0.5, 1 << 20, 1234)


def test_limits_of_the_older_hierarchy_are_read(tmp_path: Path) -> None:
    """Nanoseconds of throttling, and a number that stands for no limit."""
    tree = put(
        tmp_path,
        {
            "/proc/7/cgroup": "2:cpu:/box\n4:memory:/box\n0::/\n",
            "/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "200000\n",
            "/sys/fs/cgroup/cpu/box/cpu.cfs_period_us": "100000\n",
            "/sys/fs/cgroup/cpu/box/cpu.stat": "nr_throttled 3\nthrottled_time 9000\n",
            "/sys/fs/cgroup/memory/box/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    assert limits_of(tree, 7) == GroupLimits(2.0, None, 9)
    assert limits_of(tree, 8) is None
