"""The life of one run: apply, start, load, warm up, measure, witness, stop.

Each run is a fresh process. Whatever happens, the server is stopped and
commands are undone before this returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from assay.bench.commands import CommandJournal, witness
from assay.bench.counters import Uncounted, beside
from assay.bench.environment import surrounded
from assay.bench.guard import void_reason
from assay.bench.host_values import HOST
from assay.bench.kinds import kind_records
from assay.bench.profiling import Unprofiled, profiled
from assay.changes import Application, Evidence, applied_values
from assay.core.errors import AssayError, RunError
from assay.core.metrics import COUNTED, metric
from assay.counters import CounterRequest
from assay.host import Waiting, wait_until_quiet
from assay.host.transaction import HostTree
from assay.plan import PlannedProfile, workload_seed
from assay.record import RunFound, RunProfile, RunRecord, Step, WitnessRecord
from assay.study import Arm, Study
from assay.targets import Launch, Measured, OnInterval, Server, Slices, Target
from assay.verdict.observations import FOREIGN_CPUS


@dataclass(frozen=True)
class Clocks:
    """Where time comes from: a fake makes the whole pipeline exact and instant.

    `settle` waits for a quiet machine, before a void block is run again, and tells while it waits.
    """

    monotonic: Callable[[], float]
    wall: Callable[[], str]
    settle: Callable[[Waiting], object] = lambda waiting: None


SETTLE_S = 60.0
"""How long a void block waits for a quiet machine before it is run again."""

REAL = Clocks(
    time.monotonic,
    lambda: datetime.now(UTC).isoformat(timespec="milliseconds"),
    lambda waiting: wait_until_quiet(FOREIGN_CPUS, SETTLE_S, waiting),
)


Quiet = Callable[[float], AbstractContextManager[None]]
"""Keeps others off for at most so many seconds, as long as the block runs."""


def nothing_to_quieten(seconds: float) -> AbstractContextManager[None]:
    """Nobody that could be kept off."""
    return nullcontext()


def unkept(run: int, profile: RunProfile) -> str:
    """A profile that nobody wants."""
    return ""


@dataclass(frozen=True)
class Job:
    """All that one run needs to know. `keep` writes a profile, and gives what the record has of
    it."""

    study: Study
    arm: Arm
    step: Step
    run: int
    seed: int
    target: Target
    log: Path
    journal: CommandJournal
    clocks: Clocks
    on_interval: OnInterval
    host: HostTree = HOST
    counters: CounterRequest | None = None
    profile: PlannedProfile | None = None
    keep: Callable[[int, RunProfile], str] = unkept
    slices: Slices | None = None
    as_it_is: bool = False
    """What else the machine does no longer voids the run: it never got quiet."""
    quiet: Quiet = nothing_to_quieten
    """Kept while a window is measured, with its warm-up."""


class Stopped(AssayError):
    """The run was asked to end before its window was over; it is not recorded."""


def live(job: Job) -> RunRecord:
    """One run, from start to stop, as a record: ok, void or failed."""
    case = next(c for c in job.study.cases if c.name == job.step.case)
    launch = job.study.launch(case, job.arm, seed=workload_seed(job.seed, job.step.block))
    launch = replace(launch, slices=job.slices)
    application = job.study.application(job.arm, case.target)
    wall, began = job.clocks.wall(), job.clocks.monotonic()
    try:
        with (
            surrounded(job.target, launch, application, job.study.network, job.host) as around,
            _watched_run(job, around.launch, application) as (server, count, profile),
        ):
            said = {f: witness(c) for f, c in application.commands.items()}

            def begin() -> None:
                profile.begin()
                count.begin()

            told = profile.telling(count.telling(job.on_interval))
            with job.quiet(launch.warmup_s + launch.window_s):
                measured = server.measure(told, begin)
            if not measured.complete:
                raise Stopped("the run was ended before its window was over")
            measured = count.added_to(measured)
            sampled = profile.finish()
            evidence = replace(server.evidence(), commands=said)
            evidence = replace(evidence, host=around.shown(evidence))
        found = _observed(job, measured, evidence)
        if sampled is not None:
            found = replace(found, profile=job.keep(job.run, sampled))
    except RunError as error:
        found = RunFound("failed", error.message)
    took_s = round(job.clocks.monotonic() - began, 3)
    return found.recorded(job.step, job.run, wall, took_s)


@contextmanager
def _watched_run(
    job: Job, launch: Launch, application: Application
) -> Iterator[tuple[Server, Uncounted, Unprofiled]]:
    """A server that is ready, and the samplers beside it: of counters, and of where it is."""
    with ExitStack() as left:
        counts, profiles = [], []

        def begun(server: Server) -> None:
            wanted = (job.study.primary, *job.study.also, *job.study.predicted)
            counts.append(left.enter_context(beside(job.counters, server, wanted)))
            profiles.append(left.enter_context(profiled(job.profile, server)))

        with started(job.target, launch, application, job.log, job.journal, begun) as server:
            yield server, counts[0], profiles[0]


@contextmanager
def started(
    target: Target,
    launch: Launch,
    application: Application,
    log: Path,
    journal: CommandJournal,
    begun: Callable[[Server], object] = lambda server: None,
) -> Iterator[Server]:
    """One server, ready; at the end it is stopped, and what commands changed taken back."""
    server = None
    try:
        for factor, command in application.commands.items():
            journal.apply(factor, command)
        server = target.start(launch, log)
        begun(server)
        server.read_back()
        yield server
    finally:
        with suppress(ProcessLookupError):
            if server is not None:
                server.stop()
        if log.exists() and not log.stat().st_size:
            log.unlink()
        if application.commands:
            journal.undo()


def _observed(job: Job, measured: Measured, evidence: Evidence) -> RunFound:
    """The measured part of a record: metrics, witness, dose, health, and whether it is void."""
    turns = job.slices is not None and len(set(job.slices.order)) > 1
    reason = void_reason(measured, alike=turns or job.as_it_is)
    lacking = [n for n in (job.study.primary,) if measured.metrics.get(n, 0.0) <= 0]
    if not reason and lacking:
        void = metric(lacking[0]).void
        raise RunError(
            f"the run has no {lacking[0]}: {void or 'nothing was measured'}",
            next_step="its log may say what was never answered; a longer window may help",
        )
    return RunFound(
        status="void" if reason else "ok",
        reason=reason,
        window_s=measured.window_s,
        operations=measured.operations,
        errors=measured.errors,
        metrics={**_predicted(job, measured), **measured.metrics},
        counters=dict(measured.counters),
        histogram=measured.histogram,
        latency_of=measured.latency_of,
        overhead_ns_per_operation=measured.overhead_ns_per_operation,
        intervals=measured.intervals,
        threads=measured.threads,
        cpus=measured.cpus,
        read_back=dict(evidence.read_back),
        witness=_witnesses(job, evidence),
        dose=_doses(job, measured),
        health=measured.health,
        by_kind=kind_records(measured),
        series=dict(measured.series),
    )


def _witnesses(job: Job, evidence: Evidence) -> dict[str, WitnessRecord]:
    """What each factor's witness says of the level this arm has: off is judged as on is."""
    target = next(c for c in job.study.cases if c.name == job.step.case).target
    found = {}
    for name, level_name in job.arm.levels.items():
        factor = job.study.factors[name]
        level = factor.levels[level_name]
        applied = applied_values(level, name, target)
        held = factor.change.witness.judge(level.name, applied, evidence)
        found[name] = WitnessRecord(level=level_name, held=held.held, evidence=held.evidence)
    return found


def _doses(job: Job, measured: Measured) -> dict[str, float]:
    """How often each factor's mechanism ran: its counter, and the counter's family, summed."""
    found = {}
    for name in job.arm.levels:
        dose = job.study.factors[name].change.dose
        if dose is None:
            continue
        counted = _counted(measured, dose.counter)
        if dose.may_lack and not counted:
            continue
        total = sum(counted)
        found[name] = total / measured.operations if dose.per_operation else float(total)
    return found


def _predicted(job: Job, measured: Measured) -> dict[str, float]:
    """The server's own counters that some change is to move, per operation."""
    wanted = (name.partition(".") for name in job.study.predicted)
    found = {name: _counted(measured, name) for base, _, name in wanted if base == COUNTED}
    return {
        f"{COUNTED}.{name}": sum(values) / measured.operations
        for name, values in found.items()
        if values and measured.operations
    }


def _counted(measured: Measured, name: str) -> list[float]:
    """A counter, or the members of its family."""
    return [
        value
        for counter, value in measured.counters.items()
        if counter == name or counter.startswith(f"{name}.")
    ]
