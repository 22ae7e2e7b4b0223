"""Running a search: the plan, then build after build and run after run until it is over.

What comes next is decided by `SearchReplay` from what is on disk, so a search that was killed and
resumed ends as one that was not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from assay.bench.commands import CommandJournal, undo_commands
from assay.bench.life import REAL, Clocks, Job, Stopped, live
from assay.bench.measuring import choose
from assay.bench.pilot import pilot
from assay.bench.preflight import fit
from assay.bench.slices import live_side_by_side
from assay.bisection.building import BuildFailed, BuiltNode
from assay.bisection.bundle import SearchBundle
from assay.bisection.findings import found_of
from assay.bisection.lines import (
    DIFFERENCES_KEPT,
    BuildLine,
    DifferenceLine,
    Entry,
    RunLine,
)
from assay.bisection.plan import PlannedNode, SearchPlan
from assay.bisection.progress import SearchWatcher, SilentSearch
from assay.bisection.replay import Compare, NextRun, SearchReplay
from assay.bisection.rows import Found
from assay.bisection.subject import Subject
from assay.bisection.verification import searched
from assay.core.digest import digest
from assay.core.errors import BundleError, InputError, VoidError
from assay.core.interrupt import stop_if_asked
from assay.counters import asked
from assay.plan import PlannedMeasuring, PlannedPilot
from assay.record import RunRecord, require_free
from assay.record.replay import STOPPED_BY_USER
from assay.stats.bisection import MakeNode
from assay.study import Study
from assay.targets import TARGETS, Target


@dataclass(frozen=True)
class Wanted:
    """What somebody asks of a search. `expected` is a fraction, `budget_s` seconds; None is what
    the study says (smallest, budget)."""

    good: str
    bad: str
    paths: Sequence[str] = ()
    expected: float | None = None
    budget_s: float | None = None
    seed: int | None = None
    overrides: Mapping[str, str] | None = None


def prepare_search(
    subject: Subject,
    wanted: Wanted,
    folder: Path,
    facts: Mapping[str, Any],
    *,
    targets: Mapping[str, Target] = TARGETS,
    watcher: SearchWatcher | None = None,
    clocks: Clocks = REAL,
) -> SearchBundle:
    """Build both ends, check that they can be measured, and write the plan.

    InputError where an end does not build, MissingError where the host lacks something, BundleError
    if `folder` is not empty.
    """
    watcher = watcher or SilentSearch()
    nodes = subject.nodes(wanted.good, wanted.bad, wanted.paths)
    require_free(folder)
    ends = {node.name: _end(subject, node, watcher) for node in (nodes[0], nodes[-1])}
    seed = int.from_bytes(os.urandom(4)) if wanted.seed is None else wanted.seed
    study, piloted, measured_by = subject.study, None, None
    if len({built.code for built in ends.values()}) == 2:
        ended = _two_ends(subject, ends, nodes)
        study = fit(ended, facts, targets)
        study, piloted, measured_by = _piloted(study, targets, clocks, folder, seed, watcher)
    plan = _plan(subject, wanted, nodes, seed, study, piloted, measured_by, targets)
    return SearchBundle.create(folder, subject.study.text, plan, dict(facts))


def _end(subject: Subject, node: PlannedNode, watcher: SearchWatcher) -> BuiltNode:
    watcher.building(node.short, None)
    try:
        return subject.builder.build(node.name)
    except BuildFailed as error:
        said = f"\n{error.log}" if error.log else ""
        raise InputError(
            f"{node.short} does not build: {error.message}{said}",
            next_step="name ends that build; nothing was run",
        ) from error


def _two_ends(
    subject: Subject, ends: Mapping[str, BuiltNode], nodes: Sequence[PlannedNode]
) -> Study:
    """The study of the two ends alone, which is what a pilot runs."""
    study = subject.with_builds(ends)
    arms = (subject.arm(nodes[0].name), subject.arm(nodes[-1].name))
    if study.factors.keys() == {next(iter(arms[0].levels))}:
        return study
    return replace(study, design="arms", arms_listed=arms, control=False, order=())


def _piloted(
    study: Study,
    targets: Mapping[str, Target],
    clocks: Clocks,
    folder: Path,
    seed: int,
    watcher: SearchWatcher,
) -> tuple[Study, PlannedPilot | None, PlannedMeasuring | None]:
    """The study with the times and the way of measuring that it leaves to a pilot."""
    piloted = measured_by = None
    if study.auto:
        piloted = pilot(study, targets, clocks, folder, seed, watcher)
        study = replace(study, warmup_s=piloted.warmup_s, window_s=piloted.window_s)
    if study.measuring == "auto":
        measured_by = choose(study, targets, clocks, folder, seed, watcher)
        lead_s = measured_by.lead_s or study.lead_s
        study = replace(study, measuring=measured_by.chosen, lead_s=lead_s)
    return study, piloted, measured_by


def _plan(
    subject: Subject,
    wanted: Wanted,
    nodes: list[PlannedNode],
    seed: int,
    study: Study,
    piloted: PlannedPilot | None,
    measured_by: PlannedMeasuring | None,
    targets: Mapping[str, Target],
) -> SearchPlan:
    expected = study.smallest if wanted.expected is None else wanted.expected
    if not 0 < expected < 1:
        raise InputError(f"--expected {expected:g} is no share between 0 and 1")
    return SearchPlan(
        version=version("assay"),
        study=study.name,
        question=study.question,
        study_sha256=digest(study.text.encode()),
        base=str(subject.base),
        overrides=dict(wanted.overrides or {}),
        seed=seed,
        over=subject.over,
        repo=str(subject.repo or ""),
        paths=list(wanted.paths),
        good=wanted.good,
        bad=wanted.bad,
        nodes=nodes,
        case=subject.case.name,
        target=subject.case.target,
        workload=subject.case.workload,
        stand_in=targets[subject.case.target].stand_in,
        primary=study.primary,
        warmup_s=study.warmup_s,
        window_s=study.window_s,
        measuring="slices" if study.measuring == "slices" else "runs",
        slice_s=study.slice_s,
        lead_s=study.lead_s,
        expected=expected,
        margin=expected,
        alpha=study.alpha,
        budget_s=study.budget_s if wanted.budget_s is None else wanted.budget_s,
        pilot=piloted,
        measured_by=measured_by,
    )


def search(
    bundle: SearchBundle,
    subject: Subject,
    watcher: SearchWatcher | None = None,
    *,
    targets: Mapping[str, Target] = TARGETS,
    clocks: Clocks = REAL,
) -> Found:
    """Build and run what is still to do, and write what was found.

    Goes on where a killed search was. Ctrl-C ends the run in progress, keeps what is done, writes
    what was found so far and is raised again. VoidError if a block was void too often.
    """
    bundle.lock()
    try:
        return _Searcher(bundle, subject, watcher or SilentSearch(), targets, clocks).run()
    finally:
        bundle.close()


class _Searcher:
    """One pass over the steps of a bundle."""

    def __init__(
        self,
        bundle: SearchBundle,
        subject: Subject,
        watcher: SearchWatcher,
        targets: Mapping[str, Target],
        clocks: Clocks,
    ) -> None:
        self.bundle, self.subject, self.watcher = bundle, subject, watcher
        self.targets, self.clocks, self.plan = targets, clocks, bundle.plan
        self.replay: SearchReplay = searched(bundle)
        self.made: dict[int, BuiltNode] = {}
        self.waiting: list[RunRecord] = []
        """Runs of nodes that lived side by side, still to be taken in."""
        base = subject.study
        self.counters = asked(base.counters, bundle.host) if base.counters else None
        known = undo_commands(base)
        self.journal = CommandJournal(bundle.folder / "journal.jsonl", known)

    def run(self) -> Found:
        self.journal.undo()
        self.replay.go_on()
        self.watcher.searching(self.plan, self.replay)
        try:
            while (step := self.replay.next()) is not None:
                stop_if_asked()
                entry = self.bundle.append(self._made(step))
                self.replay.add(entry)
                self.watcher.step_done(entry, self.replay)
        except (KeyboardInterrupt, Stopped):
            # The last line may have been kept, and not been taken in.
            self.replay = searched(self.bundle)
            self.replay.stop(STOPPED_BY_USER)
        found = found_of(self.replay)
        self.bundle.write_found(found)
        self.watcher.over(self.replay)
        if self.replay.stopped == STOPPED_BY_USER:
            again = f"`assay bisect --resume {self.bundle.folder}` goes on"
            raise KeyboardInterrupt(f"what was measured is kept; {again}")
        if self.replay.stopped:
            raise VoidError(
                self.replay.stopped,
                next_step="quieten the machine, then go on with "
                f"`assay bisect --resume {self.bundle.folder}`",
            )
        return found

    def _made(self, step: MakeNode | NextRun | Compare) -> Entry:
        if isinstance(step, NextRun):
            return self._run(step)
        if isinstance(step, MakeNode):
            return self._build(step.node)
        names = self.subject.builder.compared(self._known(step.low), self._known(step.high))
        kept = names[:DIFFERENCES_KEPT]
        return DifferenceLine(after=step.low, node=step.high, names=kept, count=len(names))

    def _study(self, study: Study) -> Study:
        """The study as it was planned."""
        plan = self.plan
        return replace(
            study,
            warmup_s=plan.warmup_s,
            window_s=plan.window_s,
            measuring=plan.measuring,
            slice_asked_s=plan.slice_s,
            lead_s=plan.lead_s,
        )

    # builds

    def _build(self, node: int) -> BuildLine:
        planned = self.plan.nodes[node]
        self.watcher.building(planned.short, self.replay)
        wall, began = self.clocks.wall(), self.clocks.monotonic()
        built, reason = BuiltNode(""), ""
        try:
            built = self.made[node] = self.subject.builder.build(planned.name)
        except BuildFailed as error:
            reason = error.message
            if error.log:
                self.bundle.log(f"build-{planned.short}").write_text(error.log)
        return BuildLine(
            node=node,
            status="failed" if reason else "ok",
            reason=reason,
            code=built.code,
            sha256=built.sha256,
            seconds=built.seconds,
            started=wall,
            took_s=round(self.clocks.monotonic() - began, 3),
        )

    def _known(self, node: int) -> BuiltNode:
        """A node that was built before; BundleError if it is not the same now."""
        if node not in self.made:
            then = next(b for b in reversed(self.replay.builds) if b.node == node)
            now = self.subject.builder.build(self.plan.nodes[node].name)
            if now.code != then.code:
                raise BundleError(
                    f"{self.plan.nodes[node].short} is not the build that the search began with",
                    next_step="search anew",
                )
            self.made[node] = now
        return self.made[node]

    # runs

    def _run(self, step: NextRun) -> RunLine:
        self.watcher.step_running(step, self.replay, 0.0)
        if step.step.attempt and step.step.slot == 0:
            self.clocks.settle(self.watcher.waiting)
        number = len(self.replay.runs)
        if self.plan.measuring == "slices":
            return RunLine(stage=step.stage, node=step.node, run=self._side_by_side(step, number))
        return RunLine(stage=step.stage, node=step.node, run=live(self._job(step, step, number)))

    def _side_by_side(self, step: NextRun, number: int) -> RunRecord:
        """The run of a step; all nodes of its block live at once, and are handed out one by one."""
        if not self.waiting:
            steps = [self._slot(step, place) for place in range(len(step.order))]
            jobs = [self._job(step, other, number + k) for k, other in enumerate(steps)]
            self.waiting = live_side_by_side(jobs)
        return self.waiting.pop(0)

    def _slot(self, step: NextRun, place: int) -> NextRun:
        node = step.order[place]
        at = replace(step.step, slot=place, arm=self.plan.nodes[node].name)
        return replace(step, step=at, node=node)

    def _job(self, block: NextRun, step: NextRun, number: int) -> Job:
        names = {self.plan.nodes[n].name: self._known(n) for n in block.order}
        place = self.plan.seed, step.step.block
        return Job(
            study=self._study(self.subject.with_builds(names, place)),
            arm=self.subject.arm(step.step.arm),
            step=step.step,
            run=number,
            seed=self.plan.seed,
            target=self.targets[self.plan.target],
            log=self.bundle.log(f"run-{number:05d}"),
            journal=self.journal,
            clocks=self.clocks,
            on_interval=lambda done, spent: self.watcher.step_running(step, self.replay, spent),
            counters=self.counters,
            as_it_is=self.replay.as_it_is,
        )
