"""What is looked at beside one window of a server, where the study asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from assay import native
from assay.core.timeline import Reading
from assay.targets.base import Launch, Measured
from assay.targets.servers.framework.moments import Moments
from assay.targets.servers.framework.written import Written, written_metrics


class BesideWindow:
    """The server's own word in each interval, and what it writes to storage.

    `moment` asks the server; `pid` is its first process, None where it is elsewhere.
    """

    def __init__(self, launch: Launch, pid: int | None, moment: Callable[[], Reading]) -> None:
        self._launch, self._pid = launch, pid
        self._moments = Moments(moment) if launch.timeline else None
        self._written = Written(None)

    def begin(self) -> None:
        """The window begins."""
        self._written = Written(self._pid if self._launch.storage else None)
        if self._moments is not None:
            self._moments.take()

    def interval(self) -> None:
        """An interval has ended."""
        self._written.look()
        if self._moments is not None:
            self._moments.take()

    def stop(self) -> None:
        """End it, whatever state it is in. Safe to call twice."""
        if self._moments is not None:
            self._moments.stop()

    def added_to(self, measured: Measured, result: native.RunResult) -> Measured:
        """What was measured, with what was seen."""
        stored = written_metrics(self._written.total(), self._launch, result)
        series = self._moments.series() if self._moments is not None else {}
        return replace(measured, series=series, metrics={**measured.metrics, **stored})
