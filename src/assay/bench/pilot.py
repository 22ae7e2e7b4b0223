"""The pilot: a few runs that never count, to choose how long to warm up and how long to measure.

Each arm runs three times in each case, in blocks of random order, without warm-up and in short
intervals. From where the runs became steady follows the warm-up, from the noise inside and
between them the window; both are then fixed and the same for every run of the study. Where most
runs of an arm never became steady, the pilot is made again with runs four times as long, as
long as its share of the budget lasts.

A throughput's series is operations per second, also for metrics that intervals do not show (CPU
per operation, contention): they are taken to settle when it does. A latency's is that latency.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from assay.bench.commands import CommandJournal, pending, undo_commands
from assay.bench.environment import surrounded
from assay.bench.guard import void_reason
from assay.bench.life import REAL, Clocks, started
from assay.bench.measuring import may_take_turns
from assay.bench.preflight import fit
from assay.bench.progress import Silent, Watcher
from assay.core.errors import BundleError, InputError, RunError, VoidError
from assay.core.histograms import value_at
from assay.core.interrupt import stop_if_asked
from assay.core.units import format_duration
from assay.plan import PilotedArm, PilotedCase, PlannedPilot, Slot, block_order, workload_seed
from assay.record.replay import MAX_ATTEMPTS
from assay.stats.latency import latency_count, requests_needed
from assay.stats.warmup import (
    LEAST_WINDOWS,
    between_variance,
    drift,
    has_settled,
    inside_variance,
    mser5,
    run_windows,
    warmup_seconds,
)
from assay.study import AUTO_TIMES, Arm, Case, Study, arms, least_runs
from assay.study.pilot import LEAST_S, RUNS, SHARE, pilot_cost_s, piloted_arms
from assay.targets import TARGETS, Measured, Target

LENGTH_S = 2.0
"""The length of a first pilot's runs, where the budget and the study's own window allow it."""

INTERVALS = 400
"""Intervals of a pilot run. MSER-5 cuts a steady run by some batches of them for no reason, so
many short ones keep that small."""

INTERVAL_LEAST_S = 0.005
"""Shorter ones would hold too few operations, and cost the server CPU to report."""

LONGER = 4
"""How much longer runs are made when a pilot did not see them become steady."""

WINDOW_LEAST_S = 0.3
"""The guard's limit of 0.10 CPUs is three ticks of the kernel's CPU accounting in such a window."""

TURNS_S = 1.0
"""The window of an arm where arms take turns: a longer one buys less than another block."""

ROUNDED_S = 0.01
TOLD_EVERY_S = 0.25


def pilot(
    study: Study,
    targets: Mapping[str, Target],
    clocks: Clocks,
    folder: Path,
    seed: int,
    watcher: Watcher,
    allowance_s: float | None = None,
) -> PlannedPilot:
    """Make a pilot of the study and choose what `study.auto` names; nothing counts, no plan yet.

    `folder` gets the logs of servers that said something and the journal of commands. The pilot
    takes at most `allowance_s`, by default its share of the budget; InputError where that is too
    little. VoidError if a run failed twice or stayed void.
    """
    allowance = SHARE * study.budget_s if allowance_s is None else allowance_s
    found: PlannedPilot | None = None
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    try:
        found = _Pilot(study, targets, clocks, folder, seed, watcher).found(allowance)
        return found
    except KeyboardInterrupt:
        raise KeyboardInterrupt("a pilot keeps nothing: start it again") from None
    finally:
        watcher.piloted(found)
        for left in (folder / "logs", folder):
            with suppress(OSError):
                left.rmdir()


def pilot_alone(
    study: Study,
    facts: Mapping[str, Any],
    seed: int,
    watcher: Watcher | None = None,
    *,
    targets: Mapping[str, Target] = TARGETS,
    clocks: Clocks = REAL,
) -> PlannedPilot:
    """What a pilot would choose for the study's warm-up and window; nothing is kept.

    It may take its share of the study's budget, and at least what runs of two seconds take.
    """
    fitted = replace(fit(study, facts, targets), auto=AUTO_TIMES)
    least = pilot_cost_s(fitted, _beside(fitted, targets), LENGTH_S)
    allowance = max(SHARE * study.budget_s, least)
    with tempfile.TemporaryDirectory(prefix="assay-pilot-") as folder:
        watching = watcher or Silent()
        return pilot(fitted, targets, clocks, Path(folder), seed, watching, allowance)


def require_affordable(study: Study, found: PlannedPilot) -> None:
    """InputError if the budget cannot pay for the times that a pilot chose."""
    runs = least_runs(study, arms(study)) * len(study.opening)
    one = found.overhead_s + study.warmup_s + study.window_s
    rest = study.budget_s - found.took_s
    if runs * one > rest:
        raise InputError(
            f"budget too small: with a warm-up of {format_duration(study.warmup_s)} and a window "
            f"of {format_duration(study.window_s)}, which a pilot found, the {runs} runs before "
            f"anything can be decided take {format_duration(runs * one)}, and "
            f"{format_duration(rest)} are left",
            next_step=f'write budget = "{2 * runs * one + found.took_s:.0f}s" or more, '
            "or give warmup and window",
        )


def require_no_pilot(folder: Path) -> None:
    """BundleError if a folder has only what a killed pilot left. Commands that it names are not
    run, since there is no study to hold them against: the study's new start undoes them."""
    if (folder / "logs").is_dir() and not (folder / "plan.json").exists():
        left = [" ".join(applied.undo) for applied in pending(folder / "journal.jsonl")]
        still = f"; still to be undone: {'; '.join(left)}" if left else ""
        raise BundleError(
            f"{folder} has no plan: its pilot was cut off{still}",
            next_step=f"start the study again with `--out {folder}`, which undoes what is left",
        )


@dataclass(frozen=True)
class _PilotRun:
    """One run of the pilot: one number per interval, all of them positive."""

    case: str
    arm: str
    series: NDArray[np.float64]
    overhead_s: float
    latencies_per_s: float


class _Pilot:
    """The making of one pilot."""

    def __init__(
        self,
        study: Study,
        targets: Mapping[str, Target],
        clocks: Clocks,
        folder: Path,
        seed: int,
        watcher: Watcher,
    ) -> None:
        self.study, self.targets, self.clocks = study, targets, clocks
        self.folder, self.seed, self.watcher = folder, seed, watcher
        self.journal = CommandJournal(folder / "journal.jsonl", undo_commands(study))
        self.arms = {a.name: a for a in piloted_arms(study)}
        self.cases = {c.name: c for c in study.opening}
        self.made = self.blocks = self.total = 0
        self.run_s = self.spent_s = self.told = 0.0
        self.busy = False
        """Whether the machine did not get quiet once: from there on it is measured as it is."""

    def found(self, allowance_s: float) -> PlannedPilot:
        """Passes with longer and longer runs, until all settle or the allowance is used up."""
        self.journal.undo()
        wanted = LENGTH_S
        if "window" not in self.study.auto:
            wanted = max(wanted, 5 * self.study.window_s)
        beside = _beside(self.study, self.targets)
        overhead_s = pilot_cost_s(self.study, beside, 0.0) / self.runs_of_a_pass
        length = min(wanted, self.affordable(allowance_s, overhead_s))
        if length < LEAST_S:
            raise InputError(
                f"budget too small for a pilot: {format_duration(allowance_s)} for "
                f"{self.runs_of_a_pass} runs of at least {format_duration(LEAST_S)} each",
                next_step="give a larger budget, or write warmup and window into the study",
            )
        while True:
            passed = self.one_pass(length, overhead_s)
            overhead_s = float(np.mean([r.overhead_s for r in passed]))
            longer = min(LONGER * length, self.affordable(allowance_s - self.spent_s, overhead_s))
            if longer < 2 * length or not self.unsettled(passed):
                return self.chosen(passed, length)
            length = longer

    @property
    def runs_of_a_pass(self) -> int:
        return RUNS * len(self.arms) * len(self.cases)

    def affordable(self, allowance_s: float, overhead_s: float) -> float:
        """The length of a run so that a pass takes no longer than allowed; whole ms."""
        length_s = allowance_s / self.runs_of_a_pass - overhead_s
        return math.floor(round(1000 * length_s, 6)) / 1000

    def one_pass(self, length_s: float, overhead_s: float) -> list[_PilotRun]:
        study = replace(
            self.study, warmup_s=0.0, window_s=length_s, interval_s=_interval_s(length_s)
        )
        slots = [Slot(case=c, arm=a) for c in self.cases for a in self.arms]
        self.total += self.runs_of_a_pass
        self.run_s = length_s + overhead_s
        passed = []
        for _ in range(RUNS):
            self.blocks += 1
            for slot in block_order(self.seed, -self.blocks, 0, slots):
                passed.append(self.one(study, slot))
                self.made += 1
        self.tell(0.0)
        return passed

    def one(self, study: Study, slot: Slot) -> _PilotRun:
        """A run of one arm, made again where the machine disturbed it or it failed once."""
        reasons: list[str] = []
        failed = False
        for attempt in range(MAX_ATTEMPTS):
            try:
                measured, took_s = self.measured(study, slot)
                series = _series(measured, study)
                self.busy = self.busy or attempt == MAX_ATTEMPTS - 1
                reason = void_reason(measured, alike=self.busy)
            except RunError as error:
                if failed:
                    raise self.given_up(slot, f"failed twice: {error.message}") from error
                failed = True
                continue
            if not reason:
                latencies = latency_count(measured.operations, measured.latency_of)
                return _PilotRun(
                    slot.case,
                    slot.arm,
                    series,
                    overhead_s=max(0.0, took_s - measured.window_s),
                    latencies_per_s=latencies / measured.window_s,
                )
            reasons.append(reason)
            self.clocks.settle(self.watcher.waiting)
        raise self.given_up(slot, f"was disturbed {len(reasons)} times: {reasons[-1]}")

    def given_up(self, slot: Slot, why: str) -> VoidError:
        return VoidError(
            f"no pilot: a run of arm {slot.arm} ({slot.case}) {why}",
            next_step="mend that, or write warmup and window into the study; "
            f"logs of servers are in {self.folder / 'logs'}",
        )

    def measured(self, study: Study, slot: Slot) -> tuple[Measured, float]:
        """One run and the seconds it took; they are spent whatever comes of it."""
        stop_if_asked()
        case, arm, began = self.cases[slot.case], self.arms[slot.arm], self.clocks.monotonic()
        launch = study.launch(case, arm, seed=workload_seed(self.seed, -self.blocks))
        log = self.folder / "logs" / f"pilot-{self.made:05d}.log"
        self.tell(0.0)
        target, application = self.targets[case.target], study.application(arm, case.target)
        try:
            with (
                surrounded(target, launch, application, study.network) as around,
                started(target, around.launch, application, log, self.journal) as server,
            ):
                measured = server.measure(lambda _, spent_s: self.tell(spent_s))
        finally:
            took_s = self.clocks.monotonic() - began
            self.spent_s += took_s
        if not measured.complete:
            raise KeyboardInterrupt
        return measured, took_s

    def tell(self, spent_s: float) -> None:
        """Progress, at the start of each run and now and then in it."""
        now = self.clocks.monotonic()
        if spent_s and now - self.told < TOLD_EVERY_S:
            return
        self.told = now
        left_s = self.run_s * (self.total - self.made) - spent_s
        self.watcher.piloting(self.made, self.total, max(0.0, left_s))

    def unsettled(self, passed: Sequence[_PilotRun]) -> bool:
        """Whether some arm was still changing when its runs ended."""
        return not all(self.settled(list(runs)) for _, _, runs in self.by_arm(passed))

    def settled(self, runs: Sequence[_PilotRun]) -> bool:
        """Whether most runs of one arm were seen to become steady.

        Noise alone puts MSER-5's minimum into the second half now and then, so an arm is called
        unsettled only if it also still moved by more than half the margin.
        """
        late = sum(not has_settled(r.series) for r in runs)
        moved = abs(float(np.mean([drift(r.series) for r in runs])))
        return late <= len(runs) / 2 or moved <= math.log1p(self.study.margin) / 2

    def by_arm(self, passed: Sequence[_PilotRun]) -> Iterator[tuple[str, str, list[_PilotRun]]]:
        for case in self.cases:
            for arm in self.arms:
                yield case, arm, [r for r in passed if (r.case, r.arm) == (case, arm)]

    def chosen(self, passed: Sequence[_PilotRun], length_s: float) -> PlannedPilot:
        """What follows from the runs of the last pass."""
        interval_s = _interval_s(length_s)
        warmup_s = self.study.warmup_s
        if "warmup" in self.study.auto:
            warmup_s = _rounded_up(warmup_seconds((r.series for r in passed), interval_s))
        cut = max(mser5(r.series) for r in passed)
        cases = [self.case(case, passed, cut, interval_s, warmup_s) for case in self.cases]
        found = PlannedPilot(
            chosen=sorted(self.study.auto),
            runs=self.made,
            took_s=round(self.spent_s, 3),
            length_s=length_s,
            interval_s=interval_s,
            warmup_s=warmup_s,
            window_s=self.study.window_s,
            cases=cases,
        )
        if "window" in self.study.auto:
            rate = min(r.latencies_per_s for r in passed)
            found = found.model_copy(update={"window_s": self.window_s(found, rate)})
        return found

    def case(
        self, case: str, passed: Sequence[_PilotRun], cut: int, interval_s: float, warmup_s: float
    ) -> PilotedCase:
        """The noise of one case, over what is left of its runs when all are cut alike."""
        seen = []
        for of, arm, runs in self.by_arm(passed):
            if of != case:
                continue
            rest = [r.series[cut:] for r in runs]
            inside = float(np.mean([inside_variance(s) for s in rest]))
            means = [s.mean() for s in rest]
            piloted = PilotedArm(
                arm=arm,
                cuts_s=[round(mser5(r.series) * interval_s, 3) for r in runs],
                settled=self.settled(runs),
                inside_variance=inside,
                between_variance=between_variance([[m] for m in means], inside, len(rest[0])),
            )
            seen.append((piloted, means, len(rest[0])))
        inside = float(np.mean([piloted.inside_variance for piloted, _, _ in seen]))
        table = np.array([means for _, means, _ in seen]).T
        between = between_variance(table, inside, min(count for _, _, count in seen))
        overhead_s = float(np.mean([r.overhead_s for r in passed if r.case == case]))
        return PilotedCase(
            case=case,
            inside_variance=inside,
            between_variance=between,
            overhead_s=round(overhead_s, 4),
            intervals=run_windows(inside, between, overhead_s + warmup_s, interval_s),
            arms=[piloted for piloted, _, _ in seen],
        )

    def window_s(self, found: PlannedPilot, latencies_per_s: float) -> float:
        """The cheapest window, long enough for the guard and the metric, short enough to pay for.

        Of several cases the longest counts. Twice the runs that the study needs at least must
        fit into what is left of the budget.
        """
        cheapest = max(c.intervals for c in found.cases) * found.interval_s
        if may_take_turns(self.study, self.targets):
            cheapest = TURNS_S
        runs = 2 * least_runs(self.study, arms(self.study)) * len(self.cases)
        rest = self.study.budget_s - found.took_s
        affordable = rest / runs - found.overhead_s - found.warmup_s
        needed = (requests_needed(self.study.primary) or 0) / max(latencies_per_s, 1e-9)
        return _rounded_up(max(WINDOW_LEAST_S, 1.2 * needed, min(cheapest, affordable)))


def _beside(study: Study, targets: Mapping[str, Target]) -> Callable[[Case, Arm], float]:
    """A guess of what a run takes beside its window, per case and arm."""
    bare = replace(study, warmup_s=0.0, window_s=0.0)
    return lambda case, arm: targets[case.target].seconds(bare.launch(case, arm, seed=0))


def _interval_s(length_s: float) -> float:
    whole_ms = math.floor(round(1000 * length_s / INTERVALS, 6))
    return max(INTERVAL_LEAST_S, whole_ms / 1000)


def _rounded_up(seconds: float) -> float:
    return round(math.ceil(round(seconds / ROUNDED_S, 6)) * ROUNDED_S, 6)


def _series(measured: Measured, study: Study) -> NDArray[np.float64]:
    """One number per interval; RunError where there are too few to judge by.

    The last interval is what was left of the window: it counts from half a length on.
    """
    whole = [i for i in measured.intervals if i.length_ms >= 500 * study.interval_s]
    quantile = _quantile(study.primary)
    if quantile is None:
        found = [i.operations / i.length_ms for i in whole]
    else:
        found = [_latency(i.histogram, quantile) for i in whole if i.operations]
    if len(found) < LEAST_WINDOWS or not measured.operations:
        raise RunError(
            f"{len(found)} of the {len(measured.intervals)} intervals show {study.primary}, "
            f"and a pilot needs {LEAST_WINDOWS}"
        )
    return np.array(found, dtype=float)


def _quantile(name: str) -> float | None:
    """The percentile behind a latency metric; 0 stands for its mean, None for no latency."""
    if not name.startswith("latency_"):
        return None
    needed = requests_needed(name)
    return 0.0 if needed is None else 100 * (1 - 100 / needed)


def _latency(encoded: str, percentile: float) -> float:
    histogram = HdrHistogram.decode(encoded)
    if percentile == 0.0:
        return float(histogram.get_mean_value())
    return value_at(histogram, percentile)
