"""Which way a study is measured where it says `design = "auto"`: in turns, or run after run.

Arms take turns unless something speaks against it: the study's kind, memory, or a pilot. Where it
does, runs are calibrated unless something speaks against that too. The pilot makes blocks of two
arms that way and as plain runs, next to each other, none of which counts, and compares what each
would take to see the same effect. It looks at the spread of contrasts, never at their size.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from assay.bench.commands import CommandJournal, undo_commands
from assay.bench.life import Clocks, Job, Stopped, live
from assay.bench.progress import Watcher
from assay.bench.slices import live_calibrated, live_side_by_side
from assay.core.errors import AssayError
from assay.core.interrupt import stop_if_asked
from assay.linux.memory import available_bytes
from assay.plan import CONTROLS, MeasuredNoise, Measuring, PlannedMeasuring
from assay.plan.measuring import PILOTED_EFFECT
from assay.reasons import Code, Reason
from assay.record import RunRecord, Step
from assay.record.observations import observation
from assay.stats.constants import STANDARD
from assay.stats.lead import lead_of
from assay.stats.rule import Rule
from assay.stats.sample_size import blocks_for_smallest
from assay.study import Arm, Study, arms
from assay.study.rules import uncalibrated, unshared
from assay.targets import Target
from assay.verdict.observations import IDLE_CPUS, Block, table
from assay.workloads import WORKLOADS

SHARE = 0.1
"""Of the budget, at most, goes into the comparison."""

LEAST_BLOCKS, MOST_BLOCKS = 4, 8
"""Blocks of each way: fewer say nothing of a spread, more than these add little."""

CLEARLY = 2.0
"""How many times as long slices, or calibrated runs, must take before plain runs are chosen: the
spread of a few blocks is itself uncertain, and those depend less on what the machine does later."""

LONGEST_LEAD_S = 0.020
"""So much of a slice is looked at, and does not count, while the pilot finds out how much should
not; at most a quarter of a slice."""

LIVE_ARMS = 8
"""So many servers of a block live together, at most: they warm up at the same time."""

MEMORY_SHARE = 0.8
"""Of the memory that is free, the servers of a block may take so much."""


def choose(
    study: Study,
    targets: Mapping[str, Target],
    clocks: Clocks,
    folder: Path,
    seed: int,
    watcher: Watcher,
) -> PlannedMeasuring:
    """How the study will be measured, and why; `folder` gets logs of servers that said something.

    Raises KeyboardInterrupt as a pilot does; RestoreError if a command could not be undone.
    """
    turns, plain = against(study, targets), uncalibrated_by(study, targets)
    if turns is not None and plain is not None:
        found = PlannedMeasuring(chosen="runs", reason=plain)
    else:
        comparison = _Comparison(study, targets, clocks, folder, seed, watcher, no_turns=turns)
        found = comparison.found()
    watcher.chosen(found)
    return found


def against(study: Study, targets: Mapping[str, Target]) -> Reason | None:
    """Why the arms of a study should not take turns; None if nothing speaks against it."""
    for case in study.cases:
        target, workload = targets[case.target], WORKLOADS[case.workload]
        if not target.takes_turns:
            return Reason.of(Code.TOGETHER_UNSUPPORTED, target=case.target)
        if workload.writes(case.parameters) and target.through_page_cache:
            return Reason.of(Code.WRITES, workload=case.workload, target=case.target)
    for _, reason in unshared(study):
        return reason
    count = len(arms(study))
    return Reason.of(Code.MANY_ARMS, arms=count, most=LIVE_ARMS) if count > LIVE_ARMS else None


def uncalibrated_by(study: Study, targets: Mapping[str, Target]) -> Reason | None:
    """Why the runs of a study should not be calibrated; None if nothing speaks against it."""
    for case in study.cases:
        if not targets[case.target].takes_turns:
            return Reason.of(Code.TOGETHER_UNSUPPORTED, target=case.target)
    return next((reason for _, reason in uncalibrated(study)), None)


def may_take_turns(study: Study, targets: Mapping[str, Target]) -> bool:
    """Whether the study asks for slices, or leaves it to Assay and nothing speaks against them."""
    if study.measuring == "auto":
        return against(study, targets) is None
    return study.measuring == "slices"


class _Unfit(Exception):
    """Something spoke against one of the ways while it was tried."""

    def __init__(self, chosen: Measuring, reason: Reason) -> None:
        super().__init__(reason.text)
        self.chosen: Measuring = chosen
        self.reason = reason


@dataclass
class _Tried:
    """One way, as far as it was tried: the runs of each block, and what it took (s)."""

    blocks: list[Sequence[RunRecord]] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)


class _Comparison:
    """Plain runs and the other way, tried next to each other."""

    def __init__(
        self,
        study: Study,
        targets: Mapping[str, Target],
        clocks: Clocks,
        folder: Path,
        seed: int,
        watcher: Watcher,
        no_turns: Reason | None,
    ) -> None:
        self.no_turns = no_turns
        self.better: Measuring = "slices" if no_turns is None else "calibrated"
        self.alone: Measuring = "calibrated" if uncalibrated_by(study, targets) is None else "runs"
        """What an arm does that cannot share the machine: a calibration may only narrow."""
        lead_s = min(LONGEST_LEAD_S, study.slice_s / 4)
        self.study, self.targets, self.clocks = replace(study, lead_s=lead_s), targets, clocks
        self.folder, self.seed, self.watcher = folder, seed, watcher
        self.journal = CommandJournal(folder / "journal.jsonl", undo_commands(study))
        self.case = study.cases[0]
        self.arms = [a for a in arms(study) if a.name not in CONTROLS][:2]
        self.tried: dict[Measuring, _Tried] = {"runs": _Tried(), self.better: _Tried()}
        self.allowance_s = SHARE * study.budget_s
        self.number = 0
        self.free = self.low = available_bytes()

    @property
    def spent_s(self) -> float:
        return sum(sum(tried.took_s) for tried in self.tried.values())

    def found(self) -> PlannedMeasuring:
        """The way to measure; nothing is tried where the budget cannot pay for enough blocks."""
        if len(self.arms) < 2 or LEAST_BLOCKS * self.guessed_s() > self.allowance_s:
            return self.planned(self.better, Reason.of(Code.UNPILOTED))
        logs = self.folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        try:
            return self.compared()
        except _Unfit as unfit:
            return self.planned(unfit.chosen, unfit.reason)
        except Stopped:
            raise KeyboardInterrupt("a pilot keeps nothing: start it again") from None
        finally:
            for left in (logs, self.folder):
                with suppress(OSError):
                    left.rmdir()

    def guessed_s(self) -> float:
        """What a block of both ways may take, before any was made."""
        bare = replace(self.study, warmup_s=0.0, window_s=0.0)
        starts = sum(
            self.targets[self.case.target].seconds(bare.launch(self.case, arm, seed=0))
            for arm in self.arms
        )
        return 2 * starts + 2 * len(self.arms) * (self.study.warmup_s + self.study.window_s)

    def compared(self) -> PlannedMeasuring:
        for block in range(MOST_BLOCKS):
            ways: list[Measuring] = ["runs", self.better]
            if block:  # the first runs tell how much memory servers need
                random.Random(f"assay {self.seed} ways {block}").shuffle(ways)
            for way in ways:
                self.one(way, -(100 + block))
            self.tell(block)
            if block + 1 >= LEAST_BLOCKS and self.spent_s * (block + 2) / (block + 1) > (
                self.allowance_s
            ):
                break
        noise = {way: self.noise(way) for way in self.tried}
        runs, better = noise["runs"], noise[self.better]
        chosen: Measuring = "runs" if better.to_see_s > CLEARLY * runs.to_see_s else self.better
        it, other = (runs, better) if chosen == "runs" else (better, runs)
        reason = Reason.of(
            Code.LESS_NOISE,
            noise=it.pair_noise,
            other=other.pair_noise,
            effect=PILOTED_EFFECT,
            seconds=it.to_see_s,
            other_s=other.to_see_s,
        )
        return self.planned(chosen, reason, noise)

    def planned(
        self,
        chosen: Measuring,
        reason: Reason,
        noise: Mapping[Measuring, MeasuredNoise] | None = None,
    ) -> PlannedMeasuring:
        made = len(self.tried[self.better].blocks)
        return PlannedMeasuring(
            chosen=chosen,
            reason=reason,
            case=self.case.name if made else "",
            blocks=made,
            took_s=round(self.spent_s, 3),
            noise=dict(noise or {}),
            no_turns=self.no_turns,
            lead_s=self.lead_s(),
        )

    def lead_s(self) -> float | None:
        """How much of a slice should not count; None where no slice was seen."""
        records = [run for block in self.tried[self.better].blocks for run in block]
        slices = [interval for run in records for interval in run.intervals if interval.slice]
        whole = round(1000 * self.study.lead_s)
        early = [((i.slice.early if i.slice else []) + [0] * whole)[:whole] for i in slices]
        rates = [interval.operations / interval.length_ms for interval in slices]
        return lead_of(early, rates, self.study.slice_s) or None

    def one(self, way: Measuring, block: int) -> None:
        """A block of one way; `_Unfit` where it cannot be had."""
        stop_if_asked()
        began = self.clocks.monotonic()
        drawn = random.Random(f"assay {self.seed} {way} {block}").sample(self.arms, len(self.arms))
        jobs = [self.job(arm, slot, block) for slot, arm in enumerate(drawn)]
        if way == "slices":
            self.require_memory()
            records = live_side_by_side(jobs)
        else:
            alone = live_calibrated if way == "calibrated" else live
            records = [alone(job) for job in jobs]
        self.tried[way].took_s.append(self.clocks.monotonic() - began)
        bad = [r for r in records if r.status != "ok"]
        if bad and way == "runs":
            raise _Unfit(self.better, Reason.of(Code.RUNS_DISTURBED, why=bad[0].reason))
        if bad:
            raise _Unfit("runs", Reason.of(Code.SLICES_FAILED, why=bad[0].reason))
        if way == "slices":
            self.require_rest(records)
        self.tried[way].blocks.append(records)

    def require_rest(self, records: Sequence[RunRecord]) -> None:
        """`_Unfit` if a server went on working in most of the others' turns."""
        for record in records:
            idle = [s.idle_cpus for s in observation(record, STANDARD).slices[1:]]
            if idle and float(np.median(idle)) > IDLE_CPUS:
                cpus = float(np.median(idle))
                raise _Unfit(self.alone, Reason.of(Code.WORKED_IDLE, arm=record.arm, cpus=cpus))

    def job(self, arm: Arm, slot: int, block: int) -> Job:
        self.number += 1
        return Job(
            study=self.study,
            arm=arm,
            step=Step(block, 0, slot, self.case.name, arm.name, False, 0),
            run=self.number,
            seed=self.seed,
            target=self.targets[self.case.target],
            log=self.folder / "logs" / f"pilot-{self.number:05d}.log",
            journal=self.journal,
            clocks=self.clocks,
            on_interval=self.watched,
            as_it_is=self.better == "calibrated",
        )

    def watched(self, done: int, spent_s: float) -> None:
        """While a server is up: how little memory is free."""
        now = available_bytes()
        if now is not None and self.low is not None:
            self.low = min(self.low, now)

    def require_memory(self) -> None:
        """`_Unfit` if the servers of all arms would not fit, by what one took."""
        if self.free is None or self.low is None or len(self.tried["runs"].blocks) > 1:
            return
        needed = len(arms(self.study)) * (self.free - self.low)
        if needed > MEMORY_SHARE * self.free:
            gib = {"needed_gib": needed / 2**30, "free_gib": self.free / 2**30}
            raise _Unfit(self.alone, Reason.of(Code.MEMORY, **gib))

    def contrasts(self, way: Measuring) -> list[float]:
        """ln(second arm / first arm) of the primary metric in each block."""
        cells = [
            {(r.case, r.arm): observation(r, STANDARD) for r in records}
            for records in self.tried[way].blocks
        ]
        rows = table([Block(held, 0.0) for held in cells], self.case.name, self.study.primary)
        first, second = (arm.name for arm in self.arms)
        if not all({first, second} <= row.keys() for row in rows.values()):
            raise AssayError(f"a pilot's runs have no {self.study.primary}")
        return [row[second] - row[first] for row in rows.values()]

    def noise(self, way: Measuring) -> MeasuredNoise:
        """What the contrasts of one way came to."""
        tried = self.tried[way]
        spread = float(np.std(self.contrasts(way), ddof=1))
        block_s = float(np.mean(tried.took_s))
        rule = Rule(PILOTED_EFFECT, self.study.margin, self.study.alpha)
        blocks = blocks_for_smallest(spread, rule, max(1, len(arms(self.study)) - 1))
        whole = block_s * len(arms(self.study)) / len(self.arms) * len(self.study.opening)
        return MeasuredNoise(
            pair_noise=round(float(np.expm1(spread)), 6),
            block_s=round(block_s, 3),
            to_see_s=round(blocks * whole, 1),
        )

    def tell(self, block: int) -> None:
        """Progress, in runs: a block of both ways has four."""
        each = self.spent_s / (block + 1)
        total = max(LEAST_BLOCKS, min(MOST_BLOCKS, int(self.allowance_s / max(each, 1e-9))))
        done = min(block + 1, total)
        self.watcher.piloting(4 * done, 4 * total, each * (total - done))
