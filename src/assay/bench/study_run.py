"""Running a study: make the plan, then run after run until the ruling is complete.

Everything decided on the way is decided by `Replay` from what is on disk, so a
run of this loop that was killed and resumed ends as one that was not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from assay.bench.builds import servers_of
from assay.bench.host_values import HOST
from assay.bench.life import REAL, Clocks, Stopped
from assay.bench.machine_runs import MachineRuns, MachineSeams, RunMaker, study_of
from assay.bench.measuring import choose
from assay.bench.pilot import pilot, require_affordable
from assay.bench.preflight import fit, uncounted
from assay.bench.profiling import planned_profile
from assay.bench.progress import Silent, Watcher
from assay.core.digest import digest
from assay.core.errors import InputError, MissingError, VoidError
from assay.core.interrupt import stop_if_asked
from assay.host.transaction import HostTree
from assay.record import Bundle, RunRecord, Step, replayed, require_free, verdicts_of
from assay.record.replay import STOPPED_BY_USER
from assay.study import Study, make_plan
from assay.targets import TARGETS, Target
from assay.verdict.rows import Verdicts


def prepare(
    study: Study,
    folder: Path,
    facts: Mapping[str, Any],
    *,
    base: Path,
    seed: int | None = None,
    overrides: Mapping[str, str] | None = None,
    full: bool = False,
    targets: Mapping[str, Target] = TARGETS,
    watcher: Watcher | None = None,
    clocks: Clocks = REAL,
) -> Bundle:
    """Check the study against this host and write its plan; no run that counts is made.

    Where the study leaves warm-up or window to a pilot, that is run first, and told to
    `watcher`. MissingError if the host lacks what the study needs, BundleError if `folder`
    is not empty, VoidError if the pilot could not be made.
    """
    fitted = fit(study, facts, targets)
    absent = uncounted(fitted, facts)
    profile = planned_profile(fitted, facts)
    require_free(folder)
    seed = int.from_bytes(os.urandom(4)) if seed is None else seed
    piloted = measured_by = None
    if fitted.auto:
        piloted = pilot(fitted, targets, clocks, folder, seed, watcher or Silent())
        fitted = replace(fitted, warmup_s=piloted.warmup_s, window_s=piloted.window_s)
        require_affordable(fitted, piloted)
    if fitted.measuring == "auto":
        measured_by = choose(fitted, targets, clocks, folder, seed, watcher or Silent())
        lead_s = measured_by.lead_s or fitted.lead_s
        fitted = replace(fitted, measuring=measured_by.chosen, lead_s=lead_s)
    plan = make_plan(
        fitted,
        version=version("assay"),
        seed=seed,
        study_sha256=digest(study.text.encode()),
        base=str(base)
        if study.build is not None
        or any(f.change.name.startswith("binary.") for f in study.factors.values())
        else "",
        overrides=dict(overrides or {}),
        stand_ins={c.target: targets[c.target].stand_in for c in study.cases},
        full=full,
        cpus=facts["cpus"],
        pilot=piloted,
        measured_by=measured_by,
        servers=servers_of(fitted, targets),
        uncounted=absent,
        profile=profile,
    )
    return Bundle.create(folder, study.text, plan, dict(facts))


def run(
    bundle: Bundle,
    watcher: Watcher | None = None,
    *,
    extend: bool = False,
    targets: Mapping[str, Target] = TARGETS,
    clocks: Clocks = REAL,
    host: HostTree = HOST,
    maker: RunMaker | None = None,
) -> Verdicts:
    """Make the runs that are still to make, and write the verdicts.

    Goes on where a killed study was. Ctrl-C ends the run in progress, keeps what
    is done, writes the verdicts so far and is raised again. `extend` makes a finished study that
    left something undecided half as long again; InputError where it cannot. VoidError if a block
    was void too often; RestoreError if a command or a value of the host could not be undone.
    `maker` makes the runs elsewhere: targets, clocks and host of this machine do not count then.
    """
    bundle.lock()
    try:
        made_by = maker or _here(bundle, MachineSeams(targets, clocks, host))
        runner = _Runner(bundle, watcher or Silent(), made_by)
        if extend:
            runner.extend()
        return runner.run()
    finally:
        bundle.close()


def _here(bundle: Bundle, seams: MachineSeams) -> MachineRuns:
    """The runs of a bundle, made on this machine."""
    plan = bundle.plan
    study = study_of(plan, bundle.study, bundle.folder, seams.targets)
    return MachineRuns(
        plan, study, bundle.folder, bundle.host, bundle.log, bundle.write_profile, seams
    )


class _Runner:
    """One pass over the steps of a bundle."""

    def __init__(self, bundle: Bundle, watcher: Watcher, maker: RunMaker) -> None:
        self.bundle, self.watcher, self.maker = bundle, watcher, maker
        self.plan = bundle.plan
        self.replay = replayed(bundle)
        self.waiting: list[RunRecord] = []
        """Runs of arms that lived side by side, still to be taken in."""

    def extend(self) -> None:
        why = self.replay.cannot_extend()
        if why:
            raise InputError(
                f"{self.bundle.folder} cannot be extended: {why}",
                next_step=f"`assay show {self.bundle.folder}` says what is decided",
            )
        self.replay.extend()

    def run(self) -> Verdicts:
        try:
            return self._to_its_end()
        except MissingError as error:
            error.next_step += f"; then go on with `assay run --resume {self.bundle.folder}`"
            raise

    def _to_its_end(self) -> Verdicts:
        self.maker.undo()
        self.replay.go_on()
        self.watcher.started(self.plan, self.replay)
        why = ""
        try:
            self._steps()
            why = self.replay.stopped
        except (KeyboardInterrupt, Stopped):
            why = STOPPED_BY_USER
            # The last run may have been kept, and not been taken in.
            self.replay = replayed(self.bundle)
            self.replay.stop(why)
        verdicts = verdicts_of(self.replay)
        self.bundle.write_verdicts(verdicts)
        self.watcher.finished(self.replay, why)
        if why == STOPPED_BY_USER:
            raise KeyboardInterrupt
        if why:
            raise VoidError(
                why,
                next_step="quieten the machine, then go on with "
                f"`assay run --resume {self.bundle.folder}`",
            )
        return verdicts

    def _steps(self) -> None:
        while (step := self.replay.next()) is not None:
            stop_if_asked()
            self.watcher.running(step, 0, 0.0)
            if step.attempt and step.slot == 0:
                self.maker.settle(self.watcher.waiting)
            record = self._one(step)
            sized = self.replay.ruling.size is not None
            self.replay.add(record)
            self.watcher.ran(record, self.replay)
            size = self.replay.ruling.size
            if not sized and size is not None:
                sentence = size.reason(self.replay.ruling.block_s or None).text
                if not self.watcher.sized(sentence, size.capped):
                    raise KeyboardInterrupt

    def _one(self, step: Step) -> RunRecord:
        """The run of a step; arms that live side by side are all made, and taken in one by one."""
        if not self.waiting:
            is_shared = self.plan.measuring == "slices"
            steps = self.replay.steps_of(step.case) if is_shared else [step]
            first, as_it_is = len(self.replay.records), self.replay.as_it_is
            self.waiting = self.maker.make(steps, first, as_it_is, self.watcher.running)
        return self.bundle.append(self.waiting.pop(0))
