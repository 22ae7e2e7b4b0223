"""Replay: from a plan and its runs to what comes next and what is decided so far.

The bench drives a study by it, `--resume` goes on from it, and `assay verify`
recomputes by it: one fold over the runs, no state of its own on disk. So a
killed study continues exactly where it was, and a bundle cannot say something
that its runs do not.

    a block                 every live arm of every case once, in the plan's order
    a run that failed       tried once more at the end of its block, then missing
    a block all failed      ends the study: nothing here works
    a run that was void     the whole block is run again in a new order, three times at most
    a complete block        may decide; decided arms leave the schedule
"""

from __future__ import annotations

from dataclasses import dataclass

from assay._errors import AlteredError
from assay.record.run import RunRecord
from assay.study import Plan, Slot, block_order
from assay.verdict.ruling import Block, Observation, Ruling, Seen, adjudicate

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


class Replay:
    """The state of a study, folded from its runs."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.blocks: list[Block] = []
        self.records: list[RunRecord] = []
        self.stopped = ""
        self.ruling: Ruling = adjudicate(plan, [])
        self._attempt = 0
        self._current: list[RunRecord] = []
        self._spent_s = 0.0

    def add(self, record: RunRecord) -> None:
        """Take in the next run; AlteredError if it is not the one the plan has here."""
        step = self.next()
        if (
            step is None
            or (record.case, record.arm) != (step.case, step.arm)
            or (
                (record.block, record.attempt, record.slot) != (step.block, step.attempt, step.slot)
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
            self._again(record)
        elif self.next_slot() is None:
            self._complete()

    def next(self) -> Step | None:
        """The run to make next, or None when the study is over."""
        if self.stopped or self.ruling.finished:
            return None
        found = self.next_slot()
        assert found is not None, "a block without a next run is complete"
        index, slot, retry = found
        return Step(len(self.blocks), self._attempt, index, slot.case, slot.arm, retry)

    def next_slot(self) -> tuple[int, Slot, bool] | None:
        """The next place in the current block, first those not run, then the failed ones."""
        order = self.order()
        if len(self._current) < len(order):
            index = len(self._current)
            return index, order[index], False
        failed = [r.slot for r in self._current[: len(order)] if r.status == "failed"]
        retried = len(self._current) - len(order)
        if retried < len(failed):
            return failed[retried], order[failed[retried]], True
        return None

    def order(self) -> list[Slot]:
        """The current block's order, restricted to what is still live."""
        block = len(self.blocks)
        whole = self.plan.schedule[block]
        if self._attempt:
            whole = block_order(self.plan.seed, block, self._attempt, whole)
        return [s for s in whole if (s.case, s.arm) in self.ruling.live]

    def _again(self, record: RunRecord) -> None:
        self._attempt += 1
        self._current = []
        if self._attempt == MAX_ATTEMPTS:
            times = f"block {record.block} was void {MAX_ATTEMPTS} times"
            self.stop(f"{times}; the last time: {record.reason}")

    def _complete(self) -> None:
        cells = {(r.case, r.arm): _observation(r) for r in self._current if r.status == "ok"}
        self.blocks.append(Block(cells, self._spent_s))
        self._attempt, self._current, self._spent_s = 0, [], 0.0
        self.ruling = adjudicate(self.plan, self.blocks)
        if not cells:
            self.stop(
                f"every run of block {len(self.blocks) - 1} failed: {self.records[-1].reason}"
            )

    def stop(self, why: str) -> None:
        """End the study here: what is not decided stays undecided, for this reason."""
        self.stopped = why
        self.ruling = adjudicate(self.plan, self.blocks, stopped=why)


def _observation(record: RunRecord) -> Observation:
    seen = {f: Seen(w.held, w.evidence) for f, w in record.witness.items()}
    return Observation(record.metrics, seen, record.dose)
