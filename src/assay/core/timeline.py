"""What a timeline keeps of each interval of a run, and what each of it says of a stall.

Names are those that the counters have elsewhere: the host's as `assayer sample` gives them, added
up over CPUs, and the server's own. Only what is in this table is kept, interval by interval; the
totals of a window have all counters.

`cause` is what a stall was, where the series is high while the server is slow and low otherwise. A
series without one is drawn and blamed for nothing: it is what the server does, or what follows.
Where two series tell a stall apart equally well, the one that stands first here is named, so that a
server's own word comes before the machine's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

GROUPS = ("cpu", "softirqs", "psi", "process")
"""Groups of counters of which a study with a timeline is given each interval."""


@dataclass(frozen=True)
class TimelineSeries:
    """One series. `unit` is of its growth a second, or of its value where it is a state."""

    name: str
    unit: str
    text: str
    cause: str = ""
    is_state: bool = False


_INNODB, _PAGES = "InnoDB", "pages/s"

_ALL = (
    # MariaDB
    TimelineSeries(
        "Innodb_buffer_pool_wait_free",
        "waits/s",
        f"{_INNODB}: waits for a free page",
        "threads waited for InnoDB to flush a page",
    ),
    TimelineSeries(
        "Innodb_log_waits", "waits/s", f"{_INNODB}: waits for the log", "the log was full"
    ),
    TimelineSeries(
        "Innodb_buffer_pool_pages_flushed",
        _PAGES,
        f"{_INNODB}: pages flushed",
        "InnoDB flushed pages",
    ),
    TimelineSeries(
        "Innodb_row_lock_waits", "waits/s", f"{_INNODB}: waits for rows", "rows were locked"
    ),
    TimelineSeries(
        "Innodb_data_fsyncs", "syncs/s", f"{_INNODB}: fsync calls", "InnoDB forced its files"
    ),
    TimelineSeries(
        "Innodb_checkpoint_age", "B", f"{_INNODB}: log since the checkpoint", is_state=True
    ),
    TimelineSeries(
        "Innodb_buffer_pool_pages_dirty", "pages", f"{_INNODB}: dirty pages", is_state=True
    ),
    TimelineSeries("Innodb_history_list_length", "", f"{_INNODB}: unpurged changes", is_state=True),
    # PostgreSQL: of 15 and 16, and of 17 on
    TimelineSeries("checkpoints_req", "/s", "checkpoints asked for", "a checkpoint was asked for"),
    TimelineSeries("num_requested", "/s", "checkpoints asked for", "a checkpoint was asked for"),
    TimelineSeries("checkpoints_timed", "/s", "checkpoints by time", "a checkpoint was due"),
    TimelineSeries("num_timed", "/s", "checkpoints by time", "a checkpoint was due"),
    TimelineSeries(
        "checkpoint_sync_time", "ms/s", "checkpoints forcing files", "a checkpoint forced files"
    ),
    TimelineSeries("sync_time", "ms/s", "checkpoints forcing files", "a checkpoint forced files"),
    TimelineSeries(
        "buffers_checkpoint", _PAGES, "pages of checkpoints", "a checkpoint wrote pages"
    ),
    TimelineSeries("buffers_written", _PAGES, "pages of checkpoints", "a checkpoint wrote pages"),
    TimelineSeries(
        "buffers_backend",
        _PAGES,
        "pages written by sessions",
        "sessions wrote pages to get a free one",
    ),
    TimelineSeries("wal_buffers_full", "/s", "full WAL buffers", "the WAL's buffers were full"),
    TimelineSeries("deadlocks", "/s", "deadlocks", "sessions waited for each other"),
    TimelineSeries("wal_bytes", "B/s", "WAL written"),
    # Redis and Valkey
    TimelineSeries("total_forks", "/s", "forks", "the server forked for a save or a rewrite"),
    TimelineSeries("rdb_bgsave_in_progress", "", "a save runs", "a save ran", is_state=True),
    TimelineSeries("aof_rewrite_in_progress", "", "a rewrite runs", "a rewrite ran", is_state=True),
    TimelineSeries(
        "aof_delayed_fsync", "/s", "delayed fsync calls", "the disk was behind with the log"
    ),
    TimelineSeries("evicted_keys", "keys/s", "keys evicted", "keys were evicted"),
    # the machine
    TimelineSeries(
        "psi.io.full_us", "us/s", "all tasks waited for the disk", "everything waited for I/O"
    ),
    TimelineSeries(
        "psi.io.some_us", "us/s", "some task waited for the disk", "tasks waited for I/O"
    ),
    TimelineSeries("psi.memory.some_us", "us/s", "some task waited for memory", "memory was short"),
    TimelineSeries(
        "process.major_faults", "/s", "pages read back", "the server's pages were read back"
    ),
    TimelineSeries("host.cpu.steal_ms", "ms/s", "stolen CPU time", "the hypervisor took the CPUs"),
    TimelineSeries("host.cpu.irq_ms", "ms/s", "interrupts' CPU time", "interrupts took the CPUs"),
    TimelineSeries(
        "host.cpu.softirq_ms",
        "ms/s",
        "soft interrupts' CPU time",
        "soft interrupts took the CPUs",
    ),
    TimelineSeries("host.softirq.block", "/s", "soft interrupts of disks", "disks interrupted"),
    TimelineSeries(
        "psi.cpu.some_us", "us/s", "some task waited for a CPU", "tasks waited for a CPU"
    ),
    TimelineSeries("host.softirq.net_rx", "/s", "soft interrupts of packets"),
    TimelineSeries("host.context_switches", "/s", "context switches"),
    TimelineSeries("host.cpu.system_ms", "ms/s", "kernel CPU time"),
    TimelineSeries("host.cpu.user_ms", "ms/s", "user CPU time"),
    TimelineSeries("process.cpu_us", "us/s", "the server's CPU time"),
)

SERIES: dict[str, TimelineSeries] = {series.name: series for series in _ALL}

Reading = Mapping[str, float]
"""Counters and states at one moment, by name."""

CPU_KINDS = {
    "host.cpu.user_ms": "user",
    "host.cpu.system_ms": "kernel",
    "host.cpu.irq_ms": "interrupts",
    "host.cpu.softirq_ms": "soft interrupts",
    "host.cpu.steal_ms": "stolen",
}
"""Kinds of CPU time that are drawn together."""


def of_machine(counter: str) -> str:
    """The series that a counter of one CPU is a part of: its name without the CPU."""
    base, dot, member = counter.rpartition(".")
    return base if dot and member.removeprefix("cpu").isdecimal() else counter


def series_of(readings: Sequence[Reading | None]) -> dict[str, list[float | None]]:
    """Growth from reading to reading, of a state its later value; None where nobody knows.

    TimelineSeries that never are anything but zero are left out.
    """
    names = {name for reading in readings if reading for name in reading if name in SERIES}
    found = {}
    for name in sorted(names):
        values = [None if reading is None else reading.get(name) for reading in readings]
        grown = values[1:] if SERIES[name].is_state else _growth(values)
        if any(grown):
            found[name] = grown
    return found


def _growth(values: Sequence[float | None]) -> list[float | None]:
    """Between neighbours; over a gap it is spread evenly, as nobody knows when it was."""
    found: list[float | None] = [None] * (len(values) - 1)
    last: int | None = None
    for place, value in enumerate(values):
        if value is None:
            continue
        if last is not None:
            grown = max(0.0, value - (values[last] or 0.0)) / (place - last)
            found[last:place] = [grown] * (place - last)
        last = place
    return found
