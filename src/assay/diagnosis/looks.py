"""How much of a server's time a mechanism takes: one class for each kind of evidence.

A share of CPU time has the interval of Wilson over samples, which takes them as independent. Code
without names that nobody has looked into may belong to any mechanism: the upper end counts it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Protocol

from assay.diagnosis.records import CpuSecond, Gathered, HotCode
from assay.record import RunProfile
from assay.stats.proportion import Z, wilson
from assay.verdict.rows import Bounded

CPU_TIME, STATEMENT_TIME = "the server's CPU time", "the time of its statements"
BUSY_TIME = "the time in which its threads run or wait for the disk"
KERNEL = "[kernel]"
"""Where the kernel's functions are; also their one name where /proc/kallsyms shows no addresses."""


@dataclass(frozen=True)
class TimeShare:
    """A mechanism's share of some time. `lacking`: what else takes time in it and is not seen."""

    share: Bounded
    of: str
    evidence: tuple[str, ...]
    lacking: tuple[str, ...] = ()


class TimeLook(Protocol):
    """One kind of evidence."""

    def seen(self, gathered: Gathered) -> TimeShare | str:
        """The share, or why it cannot be seen."""
        ...


@dataclass(frozen=True)
class InCode:
    """CPU time in functions themselves, the kernel's left out: by name, by kinds of instructions
    that they hold, or because a loop in them waits."""

    pattern: str = r"(?!)"
    instructions: tuple[str, ...] = ()
    spins: bool = False
    named: bool = False
    """Whether its functions have names wherever they are, so that none without one is of them."""

    def seen(self, gathered: Gathered) -> TimeShare | str:
        profile = gathered.profile
        if profile is None:
            return "there is no profile"
        known = {(c.name, c.module): c for c in gathered.code}
        counts, unknown = Counter[str](), 0
        for place, count in own_samples(profile).items():
            function = profile.functions[place]
            about = known.get((function.name, function.module))
            if function.module == KERNEL:
                continue
            if re.search(self.pattern, function.name) or (about and self._is_it(about)):
                counts[function.name] += count
            elif about is None and not self.named and is_unnamed(function.name):
                unknown += count
        return _of_samples(counts, profile.samples, unknown)

    def _is_it(self, code: HotCode) -> bool:
        held = any(code.instructions.get(kind) for kind in self.instructions)
        return held or (self.spins and code.spins)


@dataclass(frozen=True)
class InCalls:
    """CPU time in functions and all that they call; mostly the kernel's, whose chains are whole."""

    pattern: str
    kernel: bool = True

    def seen(self, gathered: Gathered) -> TimeShare | str:
        profile = gathered.profile
        if profile is None:
            return "there is no profile"
        if self.kernel and not sees_kernel(profile):
            return "the kernel's functions are not seen here"
        names = [f.name for f in profile.functions]
        wanted = {i for i, name in enumerate(names) if re.search(self.pattern, name)}
        counts = Counter[str]()
        for stack in profile.stacks:
            first = next((i for i in stack.frames if i in wanted), None)
            if first is not None:
                counts[names[first]] += stack.count
        return _of_samples(counts, profile.samples, 0)


@dataclass(frozen=True)
class InWaits:
    """Time that statements wait for events that the server counts."""

    pattern: str

    def seen(self, gathered: Gathered) -> TimeShare | str:
        answers = gathered.answers
        if answers is None or answers.running_ns is None:
            return "waits of statements are not counted here"
        whole = sum(answers.waited_ns.values()) + answers.running_ns
        waited = {e: ns for e, ns in answers.waited_ns.items() if re.search(self.pattern, e)}
        if not whole:
            return "no statement ran"
        share = sum(waited.values()) / whole
        # Without looks the server's own clock has measured it.
        low, high = (
            wilson(round(share * answers.looks), answers.looks) if answers.looks else (share, share)
        )
        named = sorted(waited, key=lambda e: -waited[e])[:3]
        evidence = tuple(f"{e} {_percent(waited[e] / whole)} of statement time" for e in named)
        return TimeShare(Bounded(value=share, low=low, high=high), STATEMENT_TIME, evidence)


@dataclass(frozen=True)
class OnDisk:
    """Time that threads wait for the disk, of that in which they have something to do. Unless it
    is `sure` that they wait for this mechanism, the share may be nothing."""

    sure: bool = True

    def seen(self, gathered: Gathered) -> TimeShare | str:
        if not gathered.threads:
            return "states of its threads are not seen here"
        waits = sum(t.share for t in gathered.threads if t.state == "D")
        runs = sum(t.share for t in gathered.threads if t.state == "R")
        share = waits / (waits + runs) if waits + runs else 0.0
        looks = max(round(gathered.thread_looks * (waits + runs)), 1)
        low, high = wilson(round(share * looks), looks)
        evidence = (f"threads wait for the disk in {_percent(share)} of the time they work",)
        of = Bounded(value=share, low=low if self.sure else 0.0, high=high)
        return TimeShare(of, BUSY_TIME, evidence if share else ())


@dataclass(frozen=True)
class InSoftirqs:
    """Time that soft interrupts take from the CPU that has most of them, as far as the CPU that
    idles most could take it."""

    def seen(self, gathered: Gathered) -> TimeShare | str:
        readings: dict[float, list[CpuSecond]] = {}
        for second in gathered.cpus:
            readings.setdefault(second.at_s, []).append(second)
        if not readings:
            return "times of the CPUs are not seen here"
        cpus = {s.cpu for s in gathered.cpus}
        means = {c: fmean(s.softirq for s in gathered.cpus if s.cpu == c) for c in cpus}
        most = max(means, key=lambda cpu: means[cpu])
        movable = [_movable(seconds, most) for seconds in readings.values()]
        middle, reach = fmean(movable), 0.0
        if len(movable) > 1:
            reach = Z * stdev(movable) / math.sqrt(len(movable))
        share = Bounded(value=middle, low=max(middle - reach, 0.0), high=min(middle + reach, 1.0))
        evidence = f"CPU {most} spends {_percent(means[most])} of its time in soft interrupts"
        return TimeShare(share, f"the time of CPU {most}", (evidence,) if middle else ())


def _movable(seconds: Sequence[CpuSecond], most: int) -> float:
    """Of one reading: soft interrupts of a CPU above those of the next, and no more than another
    CPU idles."""
    own = sum(s.softirq for s in seconds if s.cpu == most)
    others = [s for s in seconds if s.cpu != most]
    if not others:
        return 0.0
    idle = max(1 - s.user - s.system - s.irq - s.softirq - s.steal for s in others)
    return max(min(own - max(s.softirq for s in others), idle), 0.0)


@dataclass(frozen=True)
class InWalks:
    """Cycles of page walks."""

    def seen(self, gathered: Gathered) -> TimeShare | str:
        if gathered.walks is None:
            return "page walks are not counted here"
        evidence = (f"page walks take {_percent(gathered.walks.value)} of the cycles",)
        return TimeShare(gathered.walks, "its cycles", evidence)


def together(looks: Sequence[TimeLook], gathered: Gathered) -> TimeShare | str:
    """The largest share that any look sees, its ends the highest of all; no upper one where some
    look cannot be had, as nothing bounds it then. Why, where no look can be had.

    Time on CPUs in a mechanism and waits for it add up where statements are seen doing both.
    """
    found = [look.seen(gathered) for look in looks]
    shares = [f for f in found if isinstance(f, TimeShare)]
    whys = tuple(dict.fromkeys(f for f in found if isinstance(f, str)))
    if not shares:
        return "; ".join(whys)
    shares += _added(shares, gathered)
    most = max(shares, key=lambda s: s.share.value)
    high = None if whys else max(s.share.high or 0.0 for s in shares)
    evidence = tuple(dict.fromkeys(text for s in shares for text in s.evidence))
    low = max(s.share.low or 0.0 for s in shares)
    share = Bounded(value=most.share.value, low=low, high=high)
    return TimeShare(share, most.of, evidence, whys)


def _added(shares: Sequence[TimeShare], gathered: Gathered) -> list[TimeShare]:
    """CPU time, in the part of the time of statements in which they run, and their waits."""
    on_cpu = next((s for s in shares if s.of == CPU_TIME), None)
    waiting = next((s for s in shares if s.of == STATEMENT_TIME), None)
    answers = gathered.answers
    if on_cpu is None or waiting is None or answers is None or answers.running_ns is None:
        return []
    runs = answers.running_ns / (answers.running_ns + sum(answers.waited_ns.values()))
    names = ("value", "low", "high")
    ends = {n: getattr(waiting.share, n) + runs * getattr(on_cpu.share, n) for n in names}
    return [TimeShare(Bounded(**ends), STATEMENT_TIME, ())]


def sees_kernel(profile: RunProfile) -> bool:
    """Whether the kernel's functions are sampled and have names."""
    return profile.kernel and not any(f.name == KERNEL for f in profile.functions)


def is_unnamed(name: str) -> bool:
    """Whether a function's name was stripped."""
    return name.startswith("[") and "]+" in name


def address_of(name: str) -> int | None:
    """The link-time address in the name of a stripped function: "[x]+0x1234 (before y)"."""
    found = re.match(r"\[[^\]]*\]\+0x([0-9a-f]+)", name)
    return int(found[1], 16) if found else None


def own_samples(profile: RunProfile) -> Counter[int]:
    """Samples in each function itself, by its place."""
    found: Counter[int] = Counter()
    for stack in profile.stacks:
        found[stack.frames[-1]] += stack.count
    return found


def bounded(hits: int, samples: int, more: int = 0) -> Bounded:
    """A share of samples with its interval; `more` may belong to it too."""
    low, _ = wilson(hits, samples)
    _, high = wilson(hits + more, samples)
    return Bounded(value=hits / samples if samples else 0.0, low=low, high=high)


def _of_samples(counts: Counter[str], samples: int, unknown: int) -> TimeShare:
    evidence = [
        f"{name} {_percent(count / samples)} of CPU time" for name, count in counts.most_common(3)
    ]
    if unknown and counts:
        evidence.append(f"up to {_percent(unknown / samples)} more in code without names")
    elif unknown:
        evidence.append(f"{_percent(unknown / samples)} of CPU time is in code without names")
    return TimeShare(bounded(counts.total(), samples, unknown), CPU_TIME, tuple(evidence))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
