"""Where the time went: the profiles of two arms, compared function by function.

A run's profile gives each function its share of the run's samples: its own (samples in it) and its
total (samples in it or in what it called). Two arms are compared as a study compares them, block by
block; the interval is that of signed ranks over the blocks' differences, so it needs six blocks. A
share is a part of a total that may itself change. Where the study measured the server's CPU time
per operation, each function's part of it, share times CPU time per operation, is compared too.

Many functions are compared, so that some seem to move by chance: `stands_out` holds the false
discovery rate at 10 % over all functions of all comparisons. Each function's part of that error is
in proportion to its mean share of both arms, which says nothing of how they differ: else a function
that takes half of the time would need as many blocks as one that takes a hundredth. Nothing here is
a verdict.

Functions are told apart by name, so that one of two libraries' builds is one function; those of
no name keep their file's.

Source: Genovese, Roeder & Wasserman, "False discovery control with p-value weighting", Biometrika
93 (2006).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from assay.plan import CONTROLS
from assay.record import Bundle, RunProfile, RunRecord, counting
from assay.stats.secondary import FALSE_DISCOVERY_RATE, benjamini_hochberg
from assay.stats.signed_rank import SignedRank
from assay.verdict.rows import Verdicts

LEVEL = 0.05
"""Intervals of 95 %."""

SHOWN = 0.005
"""A function with less than this share of its own in both arms is one of the others."""

OTHERS = "others"

APART = 0.1
"""The share of a window by which a profile may be late, or of another length, and still be of it:
that of counters beside a run."""

CPU = "cpu_per_operation"


@dataclass(frozen=True)
class Between:
    """A number in two arms, means over runs, and how much the second is more.

    `difference` is the signed-rank estimate over blocks, with its 95 % interval; the ends are None
    where there are too few blocks to bound it.
    """

    before: float
    after: float
    difference: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Moved:
    """A function in two arms: `own` and `total` shares, as fractions; `cost`: its own CPU time per
    operation in ns, None where the study did not measure it. `total` is None for the others."""

    name: str
    modules: tuple[str, ...]
    own: Between
    total: Between | None
    cost: Between | None
    p_value: float
    stands_out: bool = False


@dataclass(frozen=True)
class ArmProfile:
    """The profiles of an arm's runs that count, by block, with their runs."""

    arm: str
    runs: Mapping[int, tuple[RunRecord, RunProfile]]

    def only(self, blocks: Iterable[int]) -> ArmProfile:
        """Of these blocks."""
        return ArmProfile(self.arm, {b: self.runs[b] for b in blocks})

    @cached_property
    def samples(self) -> int:
        """Of all runs."""
        return sum(p.samples for _, p in self.runs.values())

    @cached_property
    def lost(self) -> int:
        """Of all runs."""
        return sum(p.lost for _, p in self.runs.values())

    @cached_property
    def stacks(self) -> Counter[tuple[str, ...]]:
        """All samples by chain of functions, outermost first."""
        found: Counter[tuple[str, ...]] = Counter()
        for _, profile in self.runs.values():
            names = [f.name for f in profile.functions]
            for stack in profile.stacks:
                found[tuple(names[i] for i in stack.frames)] += stack.count
        return found

    @cached_property
    def modules(self) -> dict[str, set[str]]:
        """The files that a function of a name was seen in."""
        found: dict[str, set[str]] = {}
        for _, profile in self.runs.values():
            for function in profile.functions:
                found.setdefault(function.name, set()).add(function.module)
        return found


@dataclass(frozen=True)
class ProfileDifference:
    """Two arms of a case: what grew and shrank, by how much it moved; the others stand last.

    `blocks`: those in which both were profiled; `unused`: profiles left out because they were not
    of their run's window; `in_process`: the load is part of what was sampled.
    """

    case: str
    before: ArmProfile
    after: ArmProfile
    blocks: int
    functions: list[Moved]
    unused: int
    in_process: bool

    @property
    def arm(self) -> str:
        """The arm that is judged."""
        return self.after.arm

    @property
    def against(self) -> str:
        """The arm it is compared with."""
        return self.before.arm


def compared(verdicts: Verdicts, arms: Iterable[str]) -> list[tuple[str, str, str]]:
    """Case, arm, and arm it is compared with, of every verdict that compares two arms."""
    known = set(arms)
    rows = [
        (row.case, row.arm, row.contrast.against)
        for row in verdicts.verdicts
        if row.arm in known - CONTROLS and row.contrast.against in known
    ]
    return list(dict.fromkeys(rows))


def profiles_of(bundle: Bundle, blocks: int) -> tuple[dict[tuple[str, str], ArmProfile], int]:
    """By case and arm the profiles of runs that count, and how many were not of their window.

    AlteredError if a profile's file is not the one that was written.
    """
    found: dict[tuple[str, str], dict[int, tuple[RunRecord, RunProfile]]] = {}
    unused = 0
    for run in counting(bundle.runs(), blocks):
        profile = bundle.profile(run)
        if profile is None:
            continue
        off_s = max(profile.late_s, abs(profile.seconds - run.window_s))
        if not profile.samples or off_s > APART * run.window_s:
            unused += 1
            continue
        found.setdefault((run.case, run.arm), {})[run.block] = (run, profile)
    return {key: ArmProfile(key[1], runs) for key, runs in found.items()}, unused


def differences(bundle: Bundle, verdicts: Verdicts | None = None) -> list[ProfileDifference]:
    """What each verdict's two arms spent their time in; empty where no run was profiled.

    `verdicts`: those of the bundle where they are not in its file yet.
    """
    if not any(run.profile for run in bundle.runs()):
        return []
    said = verdicts or bundle.verdicts()
    profiles, unused = profiles_of(bundle, said.blocks)
    cases = [c.name for c in bundle.plan.cases]
    found = []
    for case, arm, against in compared(said, [a.name for a in bundle.plan.arms]):
        before, after = profiles.get((case, against)), profiles.get((case, arm))
        if case in cases and before and after and before.runs.keys() & after.runs.keys():
            found.append(_difference(case, before, after, unused))
    return _marked(found)


def _difference(case: str, before: ArmProfile, after: ArmProfile, unused: int) -> ProfileDifference:
    blocks = sorted(before.runs.keys() & after.runs.keys())
    before, after = before.only(blocks), after.only(blocks)
    pair = (
        [_ProfiledRun.of(*before.runs[b]) for b in blocks],
        [_ProfiledRun.of(*after.runs[b]) for b in blocks],
    )
    names = {name for side in pair for run in side for name in run.own}
    shown = {n for n in names if any(_mean(r.own.get(n, 0.0) for r in s) >= SHOWN for s in pair)}
    modules = {n: before.modules.get(n, set()) | after.modules.get(n, set()) for n in shown}
    moved = [_moved(n, tuple(sorted(modules[n] - {""})), {n}, pair) for n in sorted(shown)]
    moved.sort(key=lambda m: (-abs(m.own.difference), m.name))
    rest = names - shown
    if rest:
        moved.append(_moved(OTHERS, (), rest, pair))
    runs = [*before.runs.values(), *after.runs.values()]
    in_process = any(
        run.health is not None and run.health.loader == "in-process" for run, _ in runs
    )
    return ProfileDifference(case, before, after, len(blocks), moved, unused, in_process)


@dataclass(frozen=True)
class _ProfiledRun:
    """One run: shares by function, and its CPU time per operation."""

    own: Mapping[str, float]
    total: Mapping[str, float]
    cpu_ns: float | None

    @classmethod
    def of(cls, run: RunRecord, profile: RunProfile) -> _ProfiledRun:
        names = [f.name for f in profile.functions]
        own: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for stack in profile.stacks:
            chain = [names[i] for i in stack.frames]
            own[chain[-1]] += stack.count
            # A function that calls itself is in a sample once.
            for name in set(chain):
                total[name] += stack.count
        return cls(
            {n: c / profile.samples for n, c in own.items()},
            {n: c / profile.samples for n, c in total.items()},
            run.metrics.get(CPU),
        )


Pair = tuple[Sequence[_ProfiledRun], Sequence[_ProfiledRun]]


def _moved(name: str, modules: tuple[str, ...], of: set[str], pair: Pair) -> Moved:
    """One function, or several taken as one, in both arms."""
    own = [[sum(run.own.get(n, 0.0) for n in of) for run in side] for side in pair]
    between, ranks = _between(*own)
    total, cost = None, None
    if name != OTHERS:
        totals = [[run.total.get(name, 0.0) for run in side] for side in pair]
        total, _ = _between(*totals)
    costs = [
        [share * run.cpu_ns for share, run in zip(shares, side, strict=True) if run.cpu_ns]
        for shares, side in zip(own, pair, strict=True)
    ]
    if all(len(values) == len(own[0]) for values in costs):
        cost, _ = _between(*costs)
    return Moved(name, modules, between, total, cost, ranks.p_value())


def _between(before: Sequence[float], after: Sequence[float]) -> tuple[Between, SignedRank]:
    apart = [b - a for a, b in zip(before, after, strict=True)]
    # Ranks are of numbers of the size of logarithms; nanoseconds are larger.
    scale = max(1.0, *map(abs, apart))
    ranks = SignedRank(d / scale for d in apart)
    low, high = (scale * end if math.isfinite(end) else None for end in ranks.interval(LEVEL))
    return Between(_mean(before), _mean(after), scale * ranks.estimate, low, high), ranks


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


def _marked(found: Sequence[ProfileDifference]) -> list[ProfileDifference]:
    """With what stands out among all functions of all comparisons."""
    tested = {
        f"{i}/{moved.name}": moved
        for i, difference in enumerate(found)
        for moved in difference.functions
        if moved.name != OTHERS
    }
    sizes = {key: m.own.before + m.own.after for key, m in tested.items()}
    usual = sum(sizes.values()) / max(len(sizes), 1)
    p_values = {key: m.p_value * usual / sizes[key] for key, m in tested.items()}
    chosen = benjamini_hochberg(p_values, FALSE_DISCOVERY_RATE)
    return [
        replace(
            difference,
            functions=[
                replace(m, stands_out=m.name != OTHERS and f"{i}/{m.name}" in chosen)
                for m in difference.functions
            ],
        )
        for i, difference in enumerate(found)
    ]
