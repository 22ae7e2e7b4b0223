"""The time identity: throughput is CPU time used over CPU time per operation, and what these are.

    throughput             = CPUs used / CPU time per operation
    CPU time per operation = instructions per operation
                             / (instructions per cycle x cycles per CPU second)

so the log of a gain is a sum of logs, and each term says by which of them it came. What comes from
more CPUs used, or from more cycles a second, is no gain of a change that makes work cheaper: the
arms were not given the same machine. The second line needs a processor that counts.

Source: the iron law of processor performance (Emer and Clark, ISCA 1984).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.core.metrics import INSTRUCTIONS
from assay.explain.comparison import Comparison
from assay.plan import Plan
from assay.verdict.rows import Bounded

NS = 1e9


@dataclass(frozen=True)
class Term:
    """What one factor of the identity gives to the gain, as a fraction; up is more throughput."""

    name: str
    gain: Bounded


@dataclass(frozen=True)
class Identity:
    """The terms of a gain. `elsewhere` names those that are surely larger than the margin and are
    not work per operation: more CPUs used, or faster ones."""

    terms: tuple[Term, ...]
    elsewhere: tuple[str, ...]


def cpus_used(metrics: Mapping[str, float]) -> float | None:
    """CPU seconds a second."""
    speed, cost = metrics.get("throughput"), metrics.get("cpu_per_operation")
    return speed * cost / NS if speed and cost else None


def cpu_per_operation(metrics: Mapping[str, float]) -> float | None:
    return metrics.get("cpu_per_operation")


def instructions(metrics: Mapping[str, float]) -> float | None:
    return metrics.get(INSTRUCTIONS)


def per_cycle(metrics: Mapping[str, float]) -> float | None:
    return metrics.get("instructions_per_cycle")


def cycles_per_cpu_s(metrics: Mapping[str, float]) -> float | None:
    """Cycles of the server's a CPU second: the clock that it really had."""
    work, rate, cost = instructions(metrics), per_cycle(metrics), cpu_per_operation(metrics)
    return work / rate / cost * NS if work and rate and cost else None


Value = Callable[[Mapping[str, float]], float | None]
"""A factor of the identity, from the metrics of a run; None where the run lacks one of them."""

USED, CLOCK = "CPUs used", "cycles per CPU second"
TERMS: tuple[tuple[str, Value, int], ...] = (
    (USED, cpus_used, 1),
    ("CPU time per operation", cpu_per_operation, -1),
)
WITH_COUNTERS: tuple[tuple[str, Value, int], ...] = (
    (USED, cpus_used, 1),
    ("instructions per operation", instructions, -1),
    ("instructions per cycle", per_cycle, 1),
    (CLOCK, cycles_per_cpu_s, 1),
)


def identity(plan: Plan, compared: Comparison) -> Identity | None:
    """How a gain in throughput came about; None where CPU time was not measured."""
    for wanted in (WITH_COUNTERS, TERMS):
        logs = {
            name: found
            for name, value, sign in wanted
            if (found := _log(compared, value, sign)) is not None
        }
        if len(logs) == len(wanted):
            margin = math.log1p(plan.margin)
            apart = tuple(n for n, b in logs.items() if n in (USED, CLOCK) and _beyond(b, margin))
            return Identity(tuple(Term(name, _fraction(b)) for name, b in logs.items()), apart)
    return None


def _log(compared: Comparison, value: Value, sign: int) -> Bounded | None:
    def ratio(mine: Mapping[str, float], other: Mapping[str, float]) -> float | None:
        a, b = value(mine), value(other)
        return sign * math.log(a / b) if a and b else None

    return compared.over_blocks(ratio)


def _beyond(logs: Bounded, margin: float) -> bool:
    if logs.low is None or logs.high is None:
        return False
    return logs.low > margin or logs.high < -margin


def _fraction(logs: Bounded) -> Bounded:
    low, high = (None if end is None else math.expm1(end) for end in (logs.low, logs.high))
    return Bounded(value=math.expm1(logs.value), low=low, high=high)
