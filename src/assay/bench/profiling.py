"""Sampling beside a run's window, where the study asks for it and this host can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from assay.counters import Profiling, profilable
from assay.counters.profiler import HZ
from assay.native import ProfileResult
from assay.plan import PlannedProfile
from assay.record import ProfiledFunction, ProfiledStack, RunProfile
from assay.study import Study
from assay.targets import OnInterval, Server
from assay.targets.servers.framework.attachment import Attachment


def planned_profile(study: Study, facts: Mapping[str, Any]) -> PlannedProfile | None:
    """How the study's servers are sampled here, and what of it cannot be had; None where the study
    does not ask for it. A server on another machine has no process here to be sampled."""
    if not study.profile:
        return None
    here = profilable(facts)
    absent = dict(here.absent)
    for case in study.cases:
        attached = Attachment.of(case.settings)
        if attached is not None and not attached.is_here():
            absent[f"profile of {case.name}"] = "its server is on another machine"
    return PlannedProfile(hz=HZ, event=here.event, absent=absent)


def run_profile(said: ProfileResult, late_s: float) -> RunProfile:
    """What a profiler sampled, as a bundle keeps it; its window began `late_s` late."""
    return RunProfile(
        event=said.event,
        hz=said.hz,
        kernel=said.kernel,
        seconds=said.seconds,
        late_s=late_s,
        samples=said.samples,
        lost=said.lost,
        cpu_s=said.cpu_s,
        functions=[ProfiledFunction(name=f.name, module=f.module) for f in said.functions],
        stacks=[ProfiledStack(frames=s.frames, count=s.count) for s in said.stacks],
    )


class Unprofiled:
    """Beside a run of which no samples are taken."""

    def telling(self, on_interval: OnInterval) -> OnInterval:
        """The same, with a mark at the end of each interval."""
        return on_interval

    def begin(self) -> None:
        """The window begins."""

    def finish(self) -> RunProfile | None:
        """What was sampled. The server is still to be there."""
        return None


class WindowMarker(Unprofiled):
    """Marks a window for a profiler as the load tells of it."""

    def __init__(self, profiling: Profiling) -> None:
        self._profiling = profiling

    def telling(self, on_interval: OnInterval) -> OnInterval:
        def told(done: int, spent_s: float) -> None:
            self._profiling.mark()
            on_interval(done, spent_s)

        return told

    def begin(self) -> None:
        self._profiling.mark()

    def finish(self) -> RunProfile | None:
        said, late_s = self._profiling.finish()
        return run_profile(said, late_s)


@contextmanager
def profiled(planned: PlannedProfile | None, server: Server) -> Iterator[Unprofiled]:
    """A profiler beside a server that was started; it ends with the block, whatever happens."""
    if planned is None or not planned.possible or server.pid is None:
        yield Unprofiled()
        return
    profiling = Profiling(server.pid, hardware=planned.event == "cycles")
    try:
        yield WindowMarker(profiling)
    finally:
        profiling.stop()
