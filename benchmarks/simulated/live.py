"""Whole studies on machines whose speed wanders: arms in turns, calibrated runs, plain runs.

Each machine is a path of speeds on a grid of 10 ms, the same for whichever design lives on it. A
server's life has luck of its own (2 %), a window or slice 1 %. Two arms; the study has 600 s, and
starting and warming up costs 1.1 s for each server. Every design gives one contrast a block to the
same procedure: pilot of 8 blocks, plan, looks, stop.

None of the machines was fitted: they are the ones that ruin long windows.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.stats import Rule, Word
from assay.stats.calibration import CalibratedRun, calibrated_levels
from assay.stats.rounds import levels_of

from .noise import Floats
from .procedure import Tally, whole
from .rows import Table, alarms_allowed, covered_needed, grid, share, summary, three_digits
from .scale import Scale, Steps

STEP_S, SLICE_S, BUDGET_S, START_S = 0.01, 0.1, 600.0, 1.1
STEPS = round(BUDGET_S / STEP_S)
LUCK, WINDOW_NOISE = 0.02, 0.01
RULE = Rule(0.05, 0.05)
GAIN = 0.05
SHARE = 10
"""One study in so many of the other tables' number: a path of 600 s is 60,000 numbers."""

Path = Callable[[np.random.Generator], Floats]
"""The speed of each CPU at each step, shape (2, STEPS): both rows alike where they share it."""


def two_speeds(dwell_s: float, cpus: int = 1) -> Path:
    """Full or half speed, each for `dwell_s` on average; `cpus` paths of their own."""

    def path(rng: np.random.Generator) -> Floats:
        changes = rng.random((cpus, STEPS)) < STEP_S / dwell_s
        state = (np.cumsum(changes, axis=1) + rng.integers(0, 2, (cpus, 1))) % 2
        return np.broadcast_to(1.0 - 0.5 * state, (2, STEPS))

    return path


def drift(rng: np.random.Generator) -> Floats:
    """A random walk of 3 % in a minute."""
    kicks = rng.normal(0, 0.03 * np.sqrt(STEP_S / 60), STEPS)
    return np.broadcast_to(np.exp(np.cumsum(kicks)), (2, STEPS))


def bursts(rng: np.random.Generator) -> Floats:
    """Other work takes half of the machine for 0.2 s, once in two seconds."""
    begins = rng.random(STEPS) < STEP_S / 2
    busy = np.convolve(begins, np.ones(20), "full")[:STEPS] > 0
    return np.broadcast_to(np.where(busy, 0.5, 1.0), (2, STEPS))


@dataclass(frozen=True)
class Machine:
    """A path of speeds, and what a turn costs the next one if that is another's (a fraction)."""

    path: Path
    deferred: float = 0.0


MACHINES = {
    **{f"two speeds, dwell {s:g} s": Machine(two_speeds(s)) for s in (0.5, 1.0, 3.0, 10.0, 20.0)},
    "CPUs of independent speed": Machine(two_speeds(3.0, cpus=2)),
    "slow drift": Machine(drift),
    "bursts of other work": Machine(bursts),
    "work left to the next turn": Machine(two_speeds(3.0), deferred=0.03),
}


@dataclass(frozen=True)
class Design:
    """How a block is measured: windows of `window_s`, as one piece, as slices in turns, or as
    slices of one arm with calibrations of `calibrate_s` between them."""

    window_s: float
    slice_s: float | None = None
    calibrate_s: float = 0.0

    @property
    def rounds(self) -> int:
        """Slices of an arm."""
        return round(self.window_s / (self.slice_s or self.window_s))

    @property
    def run_s(self) -> float:
        """What an arm takes."""
        return START_S + self.window_s + (self.rounds + 1) * self.calibrate_s

    @property
    def block_s(self) -> float:
        """What a block of two arms takes."""
        return 2 * self.run_s


DESIGNS = {
    "runs of 3 s": Design(3.0),
    "runs of .3 s": Design(0.3),
    "calibrated": Design(1.0, SLICE_S, calibrate_s=0.01),
    "slices": Design(1.0, SLICE_S),
}


def contrasts(design: Design, machine: Machine, rng: np.random.Generator, gain: float) -> Floats:
    """One study's contrasts (log units), as many as its budget pays for."""
    done = np.concatenate([np.zeros((2, 1)), np.cumsum(machine.path(rng), axis=1)], axis=1)
    blocks = int(BUDGET_S / design.block_s)
    found, runs = np.empty(blocks), []
    for block in range(blocks):
        luck = rng.normal(0, LUCK, 2) + np.array([0.0, np.log1p(gain)])
        cpu = rng.integers(0, 2, 2)
        if design.calibrate_s:
            runs.append(_calibrated(design, rng, done, block * design.block_s, cpu, luck))
            continue
        measure = _run if design.slice_s is None else _slices
        levels = measure(design, machine, rng, done, block * design.block_s, cpu)
        found[block] = levels[1] + luck[1] - levels[0] - luck[0]
    if runs:
        return np.array([row["1"] - row["0"] for row in calibrated_levels(runs)])
    return found


def _log(done: Floats, cpu: int, start_s: float, length_s: float) -> float:
    """Log of the mean speed of a CPU from a moment on."""
    first, last = round(start_s / STEP_S), round((start_s + length_s) / STEP_S)
    return float(np.log((done[cpu, last] - done[cpu, first]) / (last - first)))


def _run(design: Design, machine: Machine, rng: np.random.Generator, done: Floats, start_s: float,
         cpu: Floats) -> list[float]:  # fmt: skip
    """Each arm's level from a window of its own; nothing is deferred to a server that is new."""
    levels = [0.0, 0.0]
    for place, arm in enumerate(rng.permutation(2)):
        begin = start_s + place * design.run_s + START_S
        noise = rng.normal(0, WINDOW_NOISE)
        levels[arm] = _log(done, cpu[arm], begin, design.window_s) + noise
    return levels


def _calibrated(design: Design, rng: np.random.Generator, done: Floats, start_s: float,
                cpu: Floats, luck: Floats) -> dict[str, CalibratedRun]:  # fmt: skip
    """Each arm's slices, with what both CPUs did just before and after each."""
    runs = {}
    for place, arm in enumerate(rng.permutation(2)):
        begin = start_s + place * design.run_s + START_S
        did, speed = [], []
        for _ in range(design.rounds):
            own, around = begin + design.calibrate_s, (begin, begin + design.calibrate_s + SLICE_S)
            speeds = [_log(done, c, at, design.calibrate_s) for at in around for c in (0, 1)]
            speed.append(float(np.mean(speeds)))
            noise = rng.normal(0, WINDOW_NOISE)
            did.append(_log(done, cpu[arm], own, SLICE_S) + noise + luck[arm])
            begin += design.calibrate_s + SLICE_S
        runs[str(arm)] = CalibratedRun(did, speed)
    return runs


def _slices(design: Design, machine: Machine, rng: np.random.Generator, done: Floats,
            start_s: float, cpu: Floats) -> list[float]:  # fmt: skip
    """Each arm's level from rounds of slices."""
    assert design.slice_s is not None
    begin, before = start_s + 2 * START_S, -1
    rounds = []
    for _ in range(design.rounds):
        row = [0.0, 0.0]
        for arm in rng.permutation(2):
            pays = machine.deferred if before not in (-1, arm) else 0.0
            noise = rng.normal(0, WINDOW_NOISE)
            row[arm] = _log(done, cpu[arm], begin, design.slice_s) + noise + np.log1p(-pays)
            begin, before = begin + design.slice_s, arm
        rounds.append(row)
    return levels_of(rounds)


def wandering(scale: Scale) -> Steps:
    """What each design makes of each machine: equal arms, and one that is 5 % faster."""
    studies = max(2, scale.studies // SHARE)
    body, rows, done = [], [], 0
    for name, machine in MACHINES.items():
        for title, design in DESIGNS.items():
            equal, faster = (_tally(design, machine, name, t, studies, scale) for t in (0.0, GAIN))
            false = equal.count(Word.HELPS, Word.HURTS)
            decided = equal.count(Word.NO_DIFFERENCE), faster.count(Word.HELPS)
            covered = equal.covered + faster.covered
            took = [np.mean(t.blocks) * design.block_s for t in (equal, faster)]
            metric = f"{name}: {title}"
            rows += [
                share(f"{metric}: A/A false", false, studies, at_most=alarms_allowed(studies)),
                share(f"{metric}: covered", covered, 2 * studies,
                      at_least=covered_needed(2 * studies)),
                share(f"{metric}: A/A shown equal", decided[0], studies),
                share(f"{metric}: +5 % found", decided[1], studies),
            ]  # fmt: skip
            shares = (false, decided[0], decided[1])
            cells = [three_digits(hits / studies) for hits in shares]
            cells.append(three_digits(covered / (2 * studies)))
            body.append((metric, [*cells, *(f"{s:.0f} s" for s in took)]))
            done += 1
            yield done / (len(MACHINES) * len(DESIGNS))
    heads = [["false", "equal", "+5 %", "cover", "equal", "+5 %"]]
    text = f"machines whose speed wanders; {BUDGET_S:.0f} s, margin 5 %, {studies} studies each\n"
    return Table(text + grid(heads, body, 44) + "\n" + summary(rows), rows)


def _tally(
    design: Design, machine: Machine, name: str, truth: float, studies: int, scale: Scale
) -> Tally:
    tally = Tally(RULE, truth)
    for study in range(studies):
        rng = np.random.default_rng([scale.seed, zlib.crc32(name.encode()), study])
        values = contrasts(design, machine, rng, truth)
        tally.add([whole(values, RULE, len(values))])
    return tally
