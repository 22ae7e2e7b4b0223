"""Looking at a running server for a while: all that `assay doctor` sees, gathered side by side.

Nothing is changed and no restart is asked for. What cannot be seen is left out of the numbers and
named with its reason.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from assay.bench.profiling import run_profile
from assay.core.errors import AssayError
from assay.counters import (
    Counting,
    Profiling,
    Series,
    WindowCounts,
    asked,
    figures,
    profilable,
)
from assay.diagnosis.asking import WAY, WHAT, Conversation, converse
from assay.diagnosis.code import hot_code
from assay.diagnosis.looks import sees_kernel
from assay.diagnosis.records import (
    CpuSecond,
    DiskUse,
    ExaminedServer,
    Gathered,
    HotCode,
    ServerAnswers,
    ThreadWait,
    Unseen,
)
from assay.host import host_facts
from assay.host.rules import HostFinding, View, findings, not_judged
from assay.host.transaction.items import has_value
from assay.linux import smaps
from assay.linux.cgroups import GroupLimits, limits_of
from assay.linux.disks import DiskCounts, disks
from assay.linux.threads import RunTimes, ThreadState, run_times, states
from assay.linux.tree import Tree
from assay.readiness.machine import machine_from
from assay.record import RunProfile
from assay.targets import traits_of
from assay.verdict.rows import Bounded

LOOK_S = 0.25
"""Between two looks at the states of threads."""

GROUPS = ("cpu", "softirqs", "softnet", "vm", "psi", "process")
HARDWARE = ("walk-cycles",)
KINDS = ("user", "system", "irq", "softirq", "steal")
SHOWN_STATES = 24
PROFILE = "where the CPU time goes: no profile"
PERFMON = "run as root, or give CAP_PERFMON, or set kernel.perf_event_paranoid to 1 or less"


class Sources:
    """What a server is seen through. Tests put recorded evidence in its place."""

    tree = Tree()

    def facts(self) -> dict[str, Any]:
        """Of the host."""
        return host_facts()

    def profiling(self, server: ExaminedServer, facts: Mapping[str, Any]) -> Profiling | str:
        """A profiler that has begun, or why there is none."""
        possible = profilable(facts)
        if not possible.event:
            return "; ".join(possible.absent.values())
        return Profiling(server.pid, hardware=possible.event == "cycles")

    def counting(self, server: ExaminedServer, facts: Mapping[str, Any]) -> Counting:
        """A sampler that has begun."""
        names = (*GROUPS, *HARDWARE) if facts["can"]["pmu"]["ok"] else GROUPS
        self._asked = asked(names, facts)
        return Counting(self._asked, server.pid)

    def walks(self, counts: WindowCounts) -> Bounded | None:
        """The share of cycles that page walks take; None where they are not counted."""
        found = figures(counts.events, self._asked.model).get("walk_cycles_per_cycle")
        if found is None or found.value is None:
            return None
        return Bounded(value=found.value, low=found.value, high=found.value)

    def converse(self, server: ExaminedServer) -> Conversation | Unseen:
        """The server itself, if it answers."""
        return converse(server)

    def states(self, pid: int) -> Counter[ThreadState]:
        return states(pid)

    def run_times(self, pid: int) -> dict[int, RunTimes]:
        return run_times(pid)

    def disks(self) -> dict[str, DiskCounts]:
        return disks(self.tree)

    def limits(self, pid: int) -> GroupLimits | None:
        return limits_of(self.tree, pid)

    def memory(self, pid: int) -> dict[str, int]:
        return smaps.memory(pid)

    def code(
        self, profile: RunProfile, pid: int, facts: Mapping[str, Any]
    ) -> tuple[list[HotCode], list[Unseen]]:
        """The hot functions, and the files that could not be read."""
        return hot_code(profile, pid, machine_from(facts, "this host"))

    def rules(self, server: ExaminedServer) -> tuple[list[HostFinding], list[Unseen]]:
        """What the rules of the host find for this server, and what they cannot judge."""
        view = View(self.tree, server.kind, server.pid, traits_of(server.kind))
        unjudged = [
            Unseen(f"rule {rule.id}, {rule.text}", why, "") for rule, why in not_judged(view)
        ]
        return findings(view), unjudged

    def host_values(self, found: list[HostFinding]) -> dict[str, str]:
        """What the keys of cures hold now; those that cannot be read are left out."""
        values = {}
        for key, value in (cure for finding in found for cure in finding.cure):
            with suppress(AssayError):
                values[key] = has_value(self.tree, key, value)[0]
        return values

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def now(self) -> float:
        """Seconds of a clock that only goes forward."""
        return time.monotonic()


@dataclass
class _Window:
    """What was noted at the window's beginning and meanwhile."""

    began_s: float
    run_times: dict[int, RunTimes]
    disks: dict[str, DiskCounts]
    limits: GroupLimits | None
    counters: dict[str, float]
    seen: Counter[ThreadState] = field(default_factory=Counter)


Tell = Callable[[str], None]


def ignore(text: str) -> None:
    """Nobody wants to know."""


def gather(
    server: ExaminedServer, seconds: float, sources: Sources | None = None, tell: Tell = ignore
) -> Gathered:
    """All that can be seen of a server in so many seconds.

    RunError if it ends meanwhile.
    """
    return _Examination(server, sources or Sources(), tell).run(seconds)


class _Examination:
    """One examination."""

    def __init__(self, server: ExaminedServer, sources: Sources, tell: Tell) -> None:
        self._server, self._sources, self._tell = server, sources, tell
        self._unseen: list[Unseen] = []
        self._used_s = _used_s()

    def run(self, seconds: float) -> Gathered:
        sources, server = self._sources, self._server
        facts = sources.facts()
        conversation = self._conversation()
        counting = sources.counting(server, facts)
        profiling = self._profiling(facts)
        try:
            waits = _Waits(conversation, seconds)
            window = self._begin(counting, profiling, conversation)
            self._tell(f"looking at {server.name} ({server.pid}) for {seconds:.0f} s")
            self._look(window, seconds)
            counting.mark()
            if profiling is not None:
                profiling.mark()
            took_s = sources.now() - window.began_s
            profile = self._profile(profiling)
            counts = self._counts(counting)
            answers = self._answers(conversation, window, waits, took_s)
        finally:
            counting.stop()
            if profiling is not None:
                profiling.stop()
        return self._gathered(facts, window, took_s, profile, counts, counting.series, answers)

    def _conversation(self) -> Conversation | None:
        found = self._sources.converse(self._server)
        if isinstance(found, Unseen):
            self._unseen.append(found)
            return None
        return found

    def _profiling(self, facts: Mapping[str, Any]) -> Profiling | None:
        found = self._sources.profiling(self._server, facts)
        if isinstance(found, str):
            self._unseen.append(Unseen(PROFILE, found, PERFMON))
            return None
        return found

    def _begin(
        self, counting: Counting, profiling: Profiling | None, conversation: Conversation | None
    ) -> _Window:
        sources, pid = self._sources, self._server.pid
        window = _Window(
            sources.now(),
            sources.run_times(pid),
            sources.disks(),
            sources.limits(pid),
            conversation.counters() if conversation else {},
        )
        counting.mark()
        if profiling is not None:
            profiling.mark()
        return window

    def _look(self, window: _Window, seconds: float) -> None:
        end = window.began_s + seconds
        while (now := self._sources.now()) < end:
            window.seen += self._sources.states(self._server.pid)
            self._sources.sleep(min(LOOK_S, end - now))

    def _profile(self, profiling: Profiling | None) -> RunProfile | None:
        if profiling is None:
            return None
        try:
            profile = run_profile(*profiling.finish())
        except AssayError as error:
            self._unseen.append(Unseen(PROFILE, error.message, PERFMON))
            return None
        if not sees_kernel(profile):
            why = (
                "samples are of user space only" if not profile.kernel else "its symbols are hidden"
            )
            way = PERFMON if not profile.kernel else "run as root, or set kernel.kptr_restrict to 0"
            self._unseen.append(Unseen("time in the kernel's functions", why, way))
        return profile

    def _counts(self, counting: Counting) -> WindowCounts:
        try:
            counts = counting.finish()
        except AssayError as error:
            self._unseen.append(Unseen("counters of the host", error.message, ""))
            return WindowCounts({}, {}, None, 0.0)
        for name, why in counts.absent.items():
            self._unseen.append(Unseen(f"the counters {name}", why, ""))
        return counts

    def _answers(
        self, conversation: Conversation | None, window: _Window, waits: _Waits, took_s: float
    ) -> ServerAnswers | None:
        if conversation is None:
            return None
        try:
            after = conversation.counters()
            return conversation.answers(window.counters, after, waits.result(), took_s)
        except (AssayError, KeyError) as error:
            why = getattr(error, "message", "") or repr(error)
            self._unseen.append(Unseen(WHAT, why, WAY))
            return None

    def _gathered(
        self,
        facts: dict[str, Any],
        window: _Window,
        took_s: float,
        profile: RunProfile | None,
        counts: WindowCounts,
        series: Series,
        answers: ServerAnswers | None,
    ) -> Gathered:
        sources, server = self._sources, self._server
        ran, delayed = _ran(window.run_times, sources.run_times(server.pid))
        limits = sources.limits(server.pid)
        memory = sources.memory(server.pid)
        code, unread = sources.code(profile, server.pid, facts) if profile else ([], [])
        rules, unjudged = sources.rules(server)
        self._missing(facts, answers, ran, memory)
        return Gathered(
            subject=server,
            seconds=took_s,
            facts=facts,
            profile=profile,
            counters=dict(counts.totals),
            cpus=list(_cpu_seconds(series)),
            walks=sources.walks(counts),
            threads=_thread_waits(window.seen),
            thread_looks=window.seen.total(),
            ran_s=ran,
            delayed_s=delayed,
            disks=list(_disk_uses(window.disks, sources.disks(), took_s)),
            limits=limits,
            throttled_s=_throttled(window.limits, limits),
            memory=memory,
            answers=answers,
            code=code,
            host=rules,
            host_values=sources.host_values(rules),
            unseen=[*self._unseen, *unread, *unjudged],
            cost_s=_used_s() - self._used_s,
        )

    def _missing(
        self,
        facts: Mapping[str, Any],
        answers: ServerAnswers | None,
        ran: float | None,
        memory: Mapping[str, int],
    ) -> None:
        """What is not seen, and was not said yet."""
        pmu = facts["can"]["pmu"]
        if not pmu["ok"]:
            way = "on a virtual machine ask its provider for a virtual PMU, or measure on the metal"
            self._unseen.append(Unseen("cycles, instructions and page walks", pmu["why"], way))
        if answers is not None and answers.running_ns is None:
            self._unseen.append(
                Unseen(
                    "what its statements wait for",
                    "the server does not count it as it is set",
                    "MariaDB: performance_schema = ON at its next start (it costs: the change "
                    "mariadb.performance_schema says how much); Redis counts no waits",
                )
            )
        if ran is None:
            self._unseen.append(Unseen("its threads' wait for a CPU", "schedstat is not here", ""))
        if not memory.get("touched_bytes"):
            self._unseen.append(
                Unseen(
                    "pages of its memory", "smaps is closed to us", "run as its user, or as root"
                )
            )
        self._unseen.append(
            Unseen(
                "which lock a sleeping thread waits for",
                "doctor places no probes: each would slow what passes it",
                "a study of the candidate and `assay explain`; or bpftrace's offcputime",
            )
        )


class _Waits:
    """Looks at what statements wait for, in a thread of its own."""

    def __init__(self, conversation: Conversation | None, seconds: float) -> None:
        self._found: dict[str, float] = {}
        self._error: AssayError | None = None
        self._conversation, self._seconds = conversation, seconds
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            if self._conversation is not None:
                self._found = self._conversation.look(self._seconds)
        except AssayError as error:
            self._error = error

    def result(self) -> dict[str, float]:
        """What was seen. The error that ended it."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found


def _cpu_seconds(series: Series) -> Iterator[CpuSecond]:
    """Shares of each CPU's time between each two readings."""
    places: dict[int, dict[str, int]] = {}
    for place, name in enumerate(series.counters):
        if name.startswith("host.cpu."):
            kind, _, number = name.removeprefix("host.cpu.").partition("_ms.cpu")
            places.setdefault(int(number), {})[kind] = place
    previous = None
    for at_s, values in series.readings:
        if any(values[p] is None for kinds in places.values() for p in kinds.values()):
            continue
        if previous is not None:
            for cpu, kinds in sorted(places.items()):
                grown = {k: (values[p] or 0) - (previous[p] or 0) for k, p in kinds.items()}
                whole = sum(grown.values())
                if whole > 0:
                    shares = {k: grown.get(k, 0) / whole for k in KINDS}
                    yield CpuSecond(at_s=at_s, cpu=cpu, **shares)
        previous = values


def _thread_waits(seen: Counter[ThreadState]) -> list[ThreadWait]:
    total = seen.total()
    return [
        ThreadWait(state.name, state.state, state.where, count / total)
        for state, count in seen.most_common(SHOWN_STATES)
    ]


def _ran(
    before: Mapping[int, RunTimes], after: Mapping[int, RunTimes]
) -> tuple[float | None, float | None]:
    """Seconds on CPUs and ready without one, of threads that are there at the end."""
    if not after:
        return None, None
    nothing = RunTimes(0, 0)
    ran = sum(t.ran - before.get(tid, nothing).ran for tid, t in after.items())
    waited = sum(t.waited - before.get(tid, nothing).waited for tid, t in after.items())
    return ran / 1e9, waited / 1e9


def _disk_uses(
    before: Mapping[str, DiskCounts], after: Mapping[str, DiskCounts], seconds: float
) -> Iterator[DiskUse]:
    for name, counts in after.items():
        if name not in before:
            continue
        grown = counts.since(before[name])
        if grown.reads + grown.writes == 0:
            continue
        flushes = grown.flushes
        yield DiskUse(
            name=name,
            reads_per_s=grown.reads / seconds,
            writes_per_s=grown.writes / seconds,
            read_ms=grown.read_ms / grown.reads if grown.reads else None,
            write_ms=grown.write_ms / grown.writes if grown.writes else None,
            busy=grown.busy_ms / 1000 / seconds,
            queue=grown.queue_ms / 1000 / seconds,
            flushes_per_s=None if flushes is None else flushes / seconds,
            flush_ms=(grown.flush_ms or 0) / flushes if flushes else None,
        )


def _throttled(before: GroupLimits | None, after: GroupLimits | None) -> float | None:
    ends = [limits.throttled_us if limits else None for limits in (before, after)]
    return None if ends[0] is None or ends[1] is None else (ends[1] - ends[0]) / 1e6


def _used_s() -> float:
    """CPU time of this process and of children that have ended, in seconds."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = os.times()
    return own.user + own.system + children.ru_utime + children.ru_stime
