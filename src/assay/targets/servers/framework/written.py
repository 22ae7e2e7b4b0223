"""How much a server has written to storage over a window: for each operation, and for each byte
that its clients wrote.

The kernel counts it by process, and what a process wrote goes with it: a server that has one for
each connection is looked at in each interval, and the last that was seen of each counts. What a
process writes after its last look is not counted.

Source: `write_bytes` of /proc/PID/io (Linux, Documentation/filesystems/proc.rst): pages as they are
made dirty, and writes past the page cache as they are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay import native
from assay.linux import processes
from assay.targets.base import Launch
from assay.workloads import WORKLOADS

Look = Callable[[int], dict[int, int]]


class Written:
    """Looks at one server from now on; at none where its process is elsewhere."""

    def __init__(self, pid: int | None, look: Look = processes.written_bytes) -> None:
        self._pid, self._look = pid, look
        self._first = {} if pid is None else look(pid)
        self._last = dict(self._first)

    def look(self) -> None:
        """Once an interval."""
        if self._pid is not None:
            self._last |= self._look(self._pid)

    def total(self) -> int | None:
        """Bytes since the first look; None where nothing could be seen."""
        if not self._first:
            return None
        return sum(seen - self._first.get(pid, 0) for pid, seen in self._last.items())


def written_metrics(
    total: int | None, launch: Launch, result: native.RunResult
) -> dict[str, float]:
    """The metrics that follow from so many bytes; none without operations."""
    if not total or not result.operations:
        return {}
    found = {"written_per_operation": total / result.operations}
    payload = WORKLOADS[launch.workload].payload(launch.parameters, _by_kind(result))
    return found | ({"write_amplification": total / payload} if payload else {})


def _by_kind(result: native.RunResult) -> Mapping[str, int]:
    kinds = {name: kind.operations for name, kind in result.by_kind.items()}
    return kinds or {"all": result.operations}
