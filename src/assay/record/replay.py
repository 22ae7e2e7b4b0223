"""Replay: from a plan and its runs to what comes next and what is decided so far.

The bench drives a study by it, `--resume` goes on from it, and `assay verify`
recomputes by it: one fold over the runs, no state of its own on disk. So a
killed study continues exactly where it was, and a bundle cannot say something
that its runs do not.

    a block                 every live arm of every case once, in the plan's order
    a run that failed       tried once more at the end of its block, then missing
    a block all failed      ends the study: nothing here works
    a run that was void     its case is run again whole, all arms in a new order after the others of
                            the block, three times at most: arms are compared within a case only
    the last repetition     is judged by its client alone: a machine that never gets quiet is
                            measured as it is from there on, and the verdicts say so
    a complete block        may decide; decided arms leave the schedule
    an extension            begins with its first run, where a finished study was undecided
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from assay.core.errors import AlteredError
from assay.plan import Plan, Slot, block_order
from assay.record.observations import observation
from assay.record.run import RunRecord
from assay.stats.sequence import extended
from assay.verdict.contrast_ruling import Ruling
from assay.verdict.observations import Block
from assay.verdict.ruling import adjudicate

STOPPED_BY_USER = "you stopped it"
"""Why a study ended that the schedule had more runs for. All other reasons follow from its runs."""
MAX_ATTEMPTS = 4
"""A block and three repetitions of it."""


@dataclass(frozen=True)
class Step:
    """The run to make next."""

    block: int
    attempt: int
    slot: int
    case: str
    arm: str
    retry: bool
    extension: int


class Replay:
    """The state of a study, folded from its runs."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.blocks: list[Block] = []
        self.records: list[RunRecord] = []
        self.stopped = ""
        self.extensions = 0
        self.ruling: Ruling = adjudicate(plan, [])
        self._attempt = 0
        self._cases: frozenset[str] | None = None
        """Cases of this attempt; None is all."""
        self._current: list[RunRecord] = []
        self._kept: list[RunRecord] = []
        """Of the current block, what earlier attempts gave."""
        self._spoiled: dict[str, RunRecord] = {}
        """By case of this attempt that is to be run again, the run that was void."""
        self._spent_s = 0.0
        self._busy = False
        """Whether a block was counted that others disturbed."""

    def add(self, record: RunRecord) -> None:
        """Take in the next run; AlteredError if it is not the one the plan has here."""
        if record.extension == self.extensions + 1 and not self.cannot_extend():
            self.extend()
        if record.attempt == self._attempt:
            self.go_on()
        step = self.next()
        if (
            step is None
            or (record.case, record.arm) != (step.case, step.arm)
            or (
                (record.block, record.attempt, record.slot, record.extension)
                != (step.block, step.attempt, step.slot, step.extension)
            )
        ):
            raise AlteredError(
                f"{record.title()} is not what the schedule has there",
                next_step="use the bundle as it was written",
            )
        self.records.append(record)
        self._current.append(record)
        self._spent_s += record.took_s
        if record.status == "void":
            self._spoiled[record.case] = record
        if self.next_slot() is None:
            self._end_attempt()

    def next(self) -> Step | None:
        """The run to make next, or None when the study is over."""
        if self.stopped or self.ruling.finished:
            return None
        found = self.next_slot()
        assert found is not None, "a block without a next run is complete"
        index, slot, retry = found
        return Step(
            len(self.blocks), self._attempt, index, slot.case, slot.arm, retry, self.extensions
        )

    def steps_of(self, case: str) -> list[Step]:
        """Of the current attempt, the runs of a case, none of which was made."""
        return [
            Step(len(self.blocks), self._attempt, i, s.case, s.arm, False, self.extensions)
            for i, s in enumerate(self.order())
            if s.case == case
        ]

    @property
    def as_it_is(self) -> bool:
        """Whether the machine did not get quiet, for this block or an earlier one."""
        return self._busy or self._attempt % MAX_ATTEMPTS == MAX_ATTEMPTS - 1

    def next_slot(self) -> tuple[int, Slot, bool] | None:
        """The next place in the current block, first those not run, then the failed ones."""
        order = self.order()
        runs = Counter(r.slot for r in self._current)
        failed = {r.slot for r in self._current if r.status == "failed"}
        wanted = [i for i, slot in enumerate(order) if slot.case not in self._spoiled]
        for index in wanted:
            if not runs[index]:
                return index, order[index], False
        for index in wanted:
            if index in failed and runs[index] == 1:
                return index, order[index], True
        return None

    def order(self) -> list[Slot]:
        """The order of the current attempt: what is live, of the cases that are to be run."""
        return [s for s in self.whole() if self._cases is None or s.case in self._cases]

    def whole(self) -> list[Slot]:
        """The current block's order, restricted to what is still live."""
        block = len(self.blocks)
        planned = self.plan.schedule[block]
        if self._attempt:
            planned = block_order(self.plan.seed, block, self._attempt, planned, self.plan.by_case)
        return [s for s in planned if (s.case, s.arm) in self.ruling.live]

    def _end_attempt(self) -> None:
        self._kept += [r for r in self._current if r.case not in self._spoiled]
        if not self._spoiled:
            self._complete()
            return
        last = [*self._spoiled.values()][-1]
        self._attempt += 1
        self._cases, self._spoiled, self._current = frozenset(self._spoiled), {}, []
        if self._attempt % MAX_ATTEMPTS == 0:
            times = f"block {last.block} was void {self._attempt} times"
            self.stop(f"{times}; the last time: {last.reason}")

    def _complete(self) -> None:
        fixed = self.plan.constants
        kept = [r for r in self._kept if r.status == "ok"]
        cells = {(r.case, r.arm): observation(r, fixed) for r in kept}
        self._busy = self._busy or any(seen.disturbed for seen in cells.values())
        self.blocks.append(Block(cells, self._spent_s, self._before(kept)))
        self._attempt, self._cases, self._spent_s = 0, None, 0.0
        self._current, self._kept = [], []
        self.ruling = adjudicate(self.plan, self.blocks, self.extensions)
        if not cells:
            self.stop(
                f"every run of block {len(self.blocks) - 1} failed: {self.records[-1].reason}"
            )

    def _before(self, kept: list[RunRecord]) -> str:
        """The arm of the run that was made just before the first of these."""
        number = kept[0].run if kept else 0
        return next((r.arm for r in reversed(self.records) if r.run < number), "")

    def stop(self, why: str) -> None:
        """End the study here: what is not decided stays undecided, for this reason."""
        self.stopped = why
        self.ruling = adjudicate(self.plan, self.blocks, self.extensions, stopped=why)

    def go_on(self) -> None:
        """Try a block again that was void too often, as somebody does who resumed the study."""
        if self.stopped and self._attempt:
            self.stopped = ""
            self.ruling = adjudicate(self.plan, self.blocks, self.extensions)

    @property
    def planned_blocks(self) -> int | None:
        """Blocks in all, screen and extensions included; None before it is known."""
        if self.plan.scaling is not None:
            return self.plan.scaling.blocks
        size = self.ruling.size
        return None if size is None else self._total(size.blocks, self.extensions)

    def _total(self, blocks: int, extensions: int) -> int:
        return self.ruling.offset + extended(blocks, extensions, self.plan.constants)

    def cannot_extend(self) -> str:
        """Why the study cannot be made longer now; empty when it can."""
        if self.stopped or not self.ruling.finished:
            return "it is not finished"
        if self.plan.full:
            return "with --full all of alpha was spent at its end"
        if self.plan.scaling is not None:
            return "the blocks of a scaling study are fixed beforehand"
        if self.plan.axis is not None and self.plan.axis.extra:
            return "points were to be added to its axis; write those that matter into a new study"
        size = self.ruling.size
        if size is None or not self.ruling.undecided:
            return "nothing is left undecided"
        total = self._total(size.blocks, self.extensions + 1)
        if total > len(self.plan.schedule):
            return f"its schedule has {len(self.plan.schedule)} blocks, not {total}"
        return ""

    def extend(self) -> None:
        """Make the study half as long again; ValueError where that cannot be."""
        why = self.cannot_extend()
        if why:
            raise ValueError(why)
        self.extensions += 1
        self.ruling = adjudicate(self.plan, self.blocks, self.extensions)
