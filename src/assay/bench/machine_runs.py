"""Making the runs of a plan on this machine: from steps to records.

The loop of a study (`study_run.py`) decides what to make, and keeps what was made; it does not care
where. On a fleet the same class stands on another host (`fleet/host_study.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from assay.bench.builds import as_planned, require_same_servers
from assay.bench.commands import CommandJournal, undo_commands
from assay.bench.host_values import HOST
from assay.bench.life import REAL, Clocks, Job, Quiet, live, nothing_to_quieten, unkept
from assay.bench.slices import live_calibrated, live_side_by_side
from assay.bench.variations import in_order
from assay.core.errors import BundleError
from assay.counters import asked
from assay.host import Waiting
from assay.host.transaction import HostTree
from assay.plan import Plan
from assay.record import RunProfile, RunRecord, Step
from assay.study import Study
from assay.study.derivation import other_arms, planned_arms, planned_study
from assay.targets import TARGETS, Target

OnStep = Callable[[Step, int, float], None]
"""Called as the window of a step's run goes on: operations and seconds so far."""


class RunMaker(Protocol):
    """Where the runs of a study are made."""

    def undo(self) -> None:
        """Take back what commands of a killed study left. RestoreError if that cannot be done."""
        ...

    def settle(self, waiting: Waiting) -> None:
        """Wait for a quiet machine, before a void block is run again."""
        ...

    def make(
        self, steps: Sequence[Step], first: int, as_it_is: bool, on_step: OnStep
    ) -> list[RunRecord]:
        """The runs of some steps, numbered from `first`: one, or all arms of a case that live side
        by side. One void run stands for all where one spoiled the others. Raises what `live`
        raises."""
        ...


@dataclass(frozen=True)
class MachineSeams:
    """What tests and hosts of a fleet put in the place of the machine's own.

    `quiet` is kept while a window is measured.
    """

    targets: Mapping[str, Target] = field(default_factory=lambda: TARGETS)
    clocks: Clocks = REAL
    host: HostTree = HOST
    quiet: Quiet = nothing_to_quieten


class MachineRuns:
    """The runs of a plan, made here. `folder` holds the journal of commands; `log` is where a run's
    server writes, and `keep` writes a run's profile, by number."""

    def __init__(
        self,
        plan: Plan,
        study: Study,
        folder: Path,
        facts: Mapping[str, Any],
        log: Callable[[int], Path],
        keep: Callable[[int, RunProfile], str] = unkept,
        seams: MachineSeams | None = None,
    ) -> None:
        self._plan, self._study, self._log, self._keep = plan, study, log, keep
        self._seams = seams or MachineSeams()
        self._arms = {a.name: a for a in planned_arms(plan, study)}
        self._journal = CommandJournal(folder / "journal.jsonl", undo_commands(study))
        self._linked = -1
        """The block for which the builds are linked."""
        self._counters = asked(study.counters, facts) if study.counters else None

    def undo(self) -> None:
        self._journal.undo()

    def settle(self, waiting: Waiting) -> None:
        self._seams.clocks.settle(waiting)

    def make(
        self, steps: Sequence[Step], first: int, as_it_is: bool, on_step: OnStep
    ) -> list[RunRecord]:
        if self._study.build is not None and steps[0].block != self._linked:
            # Between windows: nothing runs now.
            self._study = in_order(self._study, (self._plan.seed, steps[0].block))
            self._linked = steps[0].block
        jobs = [self._job(s, first + place, as_it_is, on_step) for place, s in enumerate(steps)]
        if self._plan.measuring == "slices":
            return live_side_by_side(jobs)
        alone = live_calibrated if self._plan.measuring == "calibrated" else live
        return [alone(job) for job in jobs]

    def _job(self, step: Step, number: int, as_it_is: bool, on_step: OnStep) -> Job:
        case = next(c for c in self._study.cases if c.name == step.case)
        return Job(
            study=self._study,
            arm=self._arms[step.arm],
            step=step,
            run=number,
            seed=self._plan.seed,
            target=self._seams.targets[case.target],
            log=self._log(number),
            journal=self._journal,
            clocks=self._seams.clocks,
            on_interval=lambda done, spent: on_step(step, done, spent),
            host=self._seams.host,
            counters=self._counters,
            profile=self._plan.profile,
            keep=self._keep,
            as_it_is=as_it_is,
            quiet=self._seams.quiet,
        )


def study_of(plan: Plan, text: str, folder: Path, targets: Mapping[str, Target]) -> Study:
    """The study of a plan as it was planned; BundleError if it no longer gives those arms.
    `folder` is that of the bundle, for messages."""
    study = planned_study(plan, text, str(folder / "study.toml"), targets)
    if other_arms(plan, study):
        raise BundleError(
            f"{folder}: this version of Assay makes other arms of its study",
            next_step=f"finish it with Assay {plan.version}",
        )
    require_same_servers(study, plan, targets)
    return replace(
        as_planned(study, plan),
        warmup_s=plan.warmup_s,
        window_s=plan.window_s,
        measuring=plan.measuring,
        slice_asked_s=plan.slice_s,
        lead_s=plan.lead_s,
    )
