"""From a plan and its lines to what comes next: running, resuming and verifying are this one fold.

    a block          its nodes once each, in a random order drawn from seed, block and attempt
    a failed run     is tried once more at the end of its block, and is then missing from it
    a void run       ends its attempt: the block is made again in a new order, three times at most;
                     the last time it is judged by its client alone, as in a study
    a false witness  ends the search: what ran was not what was to run
    the budget       ends the search before what comes next, and what is open stays a range

What the blocks mean is `assay.stats.bisection`; nothing here looks at a metric but to hand it on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from assay.bisection.lines import BuildLine, DifferenceLine, Entry, RunLine
from assay.bisection.plan import COMMITS, SearchPlan
from assay.core.errors import AlteredError
from assay.plan import Slot, block_order
from assay.record.observations import observation
from assay.record.replay import MAX_ATTEMPTS, Step
from assay.record.run import RunRecord
from assay.stats.bisection import MakeNode, Measure, Search
from assay.stats.constants import STANDARD
from assay.verdict.observations import Block, table

OUT_OF_BUDGET = "the budget is used up"


@dataclass(frozen=True)
class NextRun:
    """The run to make next: a step as a study has it, and the nodes of its block in their order."""

    step: Step
    node: int
    stage: int
    order: tuple[int, ...]


@dataclass(frozen=True)
class Compare:
    """Say what a confirmed culprit changed in the program."""

    low: int
    high: int


class SearchReplay:
    """The state of a search, folded from its lines."""

    def __init__(self, plan: SearchPlan) -> None:
        self.plan = plan
        self.search = Search(len(plan.nodes), plan.rule)
        self.names = {node.name: k for k, node in enumerate(plan.nodes)}
        self.builds: list[BuildLine] = []
        self.runs: list[RunLine] = []
        self.differences: dict[int, DifferenceLine] = {}
        """By the node that is to blame."""
        self.stopped = ""
        """Why it stopped where it may go on: voids, or somebody who stopped it."""
        self.spent_s = 0.0
        self.last = ""
        """The digest of the last line."""
        self.blocks = 0
        self._attempt = 0
        self._current: list[RunRecord] = []
        self._busy = False

    def add(self, entry: Entry) -> None:
        """Take in the next line; AlteredError if it is not what the search has here."""
        if isinstance(entry, RunLine) and entry.run.attempt == self._attempt:
            self.go_on()
        step = self.next()
        self.spent_s += entry.took_s
        self.last = entry.digest
        if isinstance(entry, DifferenceLine):
            if step != Compare(entry.after, entry.node):
                raise _unexpected(f"the difference of node {entry.node}")
            self.differences[entry.node] = entry
        elif isinstance(entry, BuildLine):
            self._built(entry, step)
        else:
            self._ran(entry, step)
        if self.spent_s >= self.plan.runs_budget_s and not self._current and not self._attempt:
            self.search.stop(OUT_OF_BUDGET)

    def next(self) -> MakeNode | NextRun | Compare | None:
        """What to do next, or None when the search is over or stopped."""
        if self.stopped:
            return None
        for culprit in self.search.culprits if self.plan.over == COMMITS else ():
            if culprit.high not in self.differences:
                return Compare(culprit.low, culprit.high)
        asked = self.search.next()
        if not isinstance(asked, Measure):
            return asked
        order = self._order(asked)
        found = self._slot(order)
        assert found is not None, "a block without a next run is complete"
        slot, retry = found
        name = self.plan.nodes[order[slot]].name
        step = Step(self.blocks, self._attempt, slot, self.plan.case, name, retry, 0)
        return NextRun(step, order[slot], asked.stage, order)

    @property
    def over(self) -> bool:
        return self.search.over

    @property
    def as_it_is(self) -> bool:
        """Whether the machine did not get quiet, for this block or an earlier one."""
        return self._busy or self._attempt % MAX_ATTEMPTS == MAX_ATTEMPTS - 1

    @property
    def run_s(self) -> float:
        """What a run takes: the mean of the last twenty; zero before the first."""
        took = [r.run.took_s for r in self.runs[-20:]]
        return sum(took) / len(took) if took else 0.0

    @property
    def build_s(self) -> float:
        """What a build takes when it has to be made; zero before the first."""
        took = [b.seconds for b in self.builds if b.status == "ok"]
        return sum(took) / len(took) if took else 0.0

    def left_s(self) -> float:
        """Seconds still to go if every stage takes its planned blocks; zero before it is known."""
        left = self.search.left()
        return left.builds * self.build_s + left.runs_most * self.run_s

    def stop(self, why: str) -> None:
        """End it here, to be gone on with."""
        self.stopped = why

    def go_on(self) -> None:
        """Try again what was void too often, or was stopped."""
        self.stopped = ""

    def _order(self, asked: Measure) -> tuple[int, ...]:
        slots = [Slot(case=self.plan.case, arm=self.plan.nodes[n].name) for n in asked.nodes]
        drawn = block_order(self.plan.seed, self.blocks, self._attempt, slots)
        return tuple(self.names[slot.arm] for slot in drawn)

    def _slot(self, order: tuple[int, ...]) -> tuple[int, bool] | None:
        """The next place of the block, first those not run, then the failed ones."""
        made = Counter(r.slot for r in self._current)
        failed = {r.slot for r in self._current if r.status == "failed"}
        for slot in range(len(order)):
            if not made[slot]:
                return slot, False
        again = (slot for slot in sorted(failed) if made[slot] == 1)
        return next(((slot, True) for slot in again), None)

    def _built(self, line: BuildLine, step: MakeNode | NextRun | Compare | None) -> None:
        if not isinstance(step, MakeNode) or step.node != line.node:
            raise _unexpected(f"the build of node {line.node}")
        self.builds.append(line)
        if line.status == "ok":
            self.search.built(line.node, line.code)
        else:
            self.search.failed(line.node)

    def _ran(self, line: RunLine, step: MakeNode | NextRun | Compare | None) -> None:
        run = line.run
        seen = (run.case, run.arm, run.block, run.attempt, run.slot, run.retry, line.stage)
        if not isinstance(step, NextRun) or seen != (
            *(step.step.case, step.step.arm, step.step.block, step.step.attempt, step.step.slot),
            *(step.step.retry, step.stage),
        ):
            raise _unexpected(run.title())
        self.runs.append(line)
        if run.status == "void":
            self._void(run)
            return
        self._current.append(run)
        false = [f"{f}: {w.evidence}" for f, w in run.witness.items() if not w.held]
        if run.status == "ok" and false:
            self.search.stop(f"{run.title()} did not run what it was to run ({false[0]})")
        elif self._slot(step.order) is None:
            self._complete()

    def _void(self, run: RunRecord) -> None:
        self._current = []
        self._attempt += 1
        if self._attempt % MAX_ATTEMPTS == 0:
            times = f"block {run.block} was void {self._attempt} times"
            self.stop(f"{times}; the last time: {run.reason}")

    def _complete(self) -> None:
        kept = [r for r in self._current if r.status == "ok"]
        cells = {(r.case, r.arm): observation(r, STANDARD) for r in kept}
        self._busy = self._busy or any(seen.disturbed for seen in cells.values())
        lost = next((r.reason for r in reversed(self._current) if r.status == "failed"), "")
        self._current, self._attempt = [], 0
        self.blocks += 1
        row = table([Block(cells, 0.0)], self.plan.case, self.plan.primary)[0]
        self.search.measured({self.names[arm]: value for arm, value in row.items()})
        if self.search.stopped and lost:
            self.search.stopped += f": {lost}"


def _unexpected(what: str) -> AlteredError:
    return AlteredError(
        f"{what} is not what the search has there",
        next_step="use the bundle as it was written",
    )
