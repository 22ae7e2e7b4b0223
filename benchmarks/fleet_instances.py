"""What can be said of types of machine with few instances of each? Simulated studies.

Two types, k instances of each, blocks that span all of them. Fresh instances of a type differ by
3 % (standard deviation), runs on one by 1 %; all machines drift together, and 2 % of runs are 10 %
off.
Printed is the share of studies that claim a difference:

    blocks       the unit is the block, as if the machines were the types: the negative control
    instances    the unit is the instance: what Assay does
    machines     one instance each: the claim is about these two machines, and is held against what
                 these two do; how often its interval misses that
    interaction  a change that gains 5 % more on one type, its gain differing by 1 % between
                 instances; the instances' own levels cancel

Goals: instances claim a difference of equal types in at most 5 % of studies (99th percentile of the
binomial), blocks do so in far more; intervals of the machines miss in at most 5 %.

    python benchmarks/fleet_instances.py [--quick] [--json] [--studies N] [--seed N]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from outcome import Row, write_json
from scipy.stats import binom

from assay.stats.instances import instances_needed, p_value, power, welch
from assay.stats.signed_rank import SignedRank

Values = NDArray[np.float64]

BETWEEN, RUN, BLOCKS, ALPHA = 0.03, 0.01, 20, 0.05
STUDIES, QUICK = 2000, 60
NUMBERS = (3, 5, 10)
"""Instances of each type; one says nothing of its type."""
EFFECTS = {"5 %": math.log1p(0.05), "2 %": math.log1p(0.02)}
CHANCES = (0.8, 0.9)
GAIN_SD = 0.01
"""How much the gain of a change differs between instances: a guess."""


@dataclass(frozen=True)
class Studies:
    """Simulated studies: values of both types by study, instance and block."""

    first: Values
    second: Values


def runs(rng: np.random.Generator, studies: int, instances: int) -> Values:
    """What runs add: mostly normal, a few far off."""
    shape = (studies, instances, BLOCKS)
    odd = 0.10 * (rng.random(shape) < 0.02)
    return rng.normal(0, RUN, shape) - odd


def made(rng: np.random.Generator, studies: int, instances: int, effect: float) -> Studies:
    """Fresh machines of two types, drifting together."""
    drift = np.cumsum(rng.normal(0, RUN / 2, (studies, 1, BLOCKS)), axis=-1)

    def kind() -> Values:
        level = rng.normal(0, BETWEEN, (studies, instances, 1))
        return drift + level + runs(rng, studies, instances)

    return Studies(kind(), kind() + effect)


def gains(rng: np.random.Generator, studies: int, instances: int, effect: float) -> Studies:
    """On minus off of a change on fresh machines of two types."""

    def kind() -> Values:
        gain = rng.normal(0, GAIN_SD, (studies, instances, 1))
        return gain + runs(rng, studies, instances) - runs(rng, studies, instances)

    return Studies(kind(), kind() + effect)


def by_instances(found: Studies) -> float:
    """The share of studies in which the types differ, instances as the unit."""
    compared = welch(found.first.mean(axis=-1), found.second.mean(axis=-1))
    return float(np.mean(p_value(*compared) < ALPHA))


def by_blocks(found: Studies) -> float:
    """The same with the block as the unit: wrong for types."""
    contrasts = found.second.mean(axis=1) - found.first.mean(axis=1)
    return float(np.mean([SignedRank(row).p_value() < ALPHA for row in contrasts]))


def missed(found: Studies, truth: Values) -> float:
    """The share of studies whose interval, over blocks, misses what these two machines do."""
    contrasts = found.second[:, 0, :] - found.first[:, 0, :]
    bounds = [SignedRank(row).interval(ALPHA) for row in contrasts]
    return float(
        np.mean([not low <= true <= high for (low, high), true in zip(bounds, truth, strict=True)])
    )


def machines(rng: np.random.Generator, studies: int) -> float:
    """One instance of each type; the truth is the difference of these two."""
    levels = rng.normal(0, BETWEEN, (2, studies, 1, 1))
    drift = np.cumsum(rng.normal(0, RUN / 2, (studies, 1, BLOCKS)), axis=-1)
    first, second = (drift + level + runs(rng, studies, 1) for level in levels)
    return missed(Studies(first, second), (levels[1] - levels[0])[:, 0, 0])


def allowed(studies: int) -> float:
    """What chance leaves of an error of 5 %: the 99th percentile."""
    return float(binom.ppf(0.99, studies, ALPHA)) / studies


def rows(studies: int, seed: int) -> Iterator[Row]:
    """Shares in percent, each with its goal."""
    limit = allowed(studies)

    def row(metric: str, rival: str, share: float, goal: str = "", met: bool = True) -> Row:
        return Row(metric, rival, "%", 100 * share, goal=goal, met=met)

    most = f"<= {100 * limit:.1f}"
    share = machines(np.random.default_rng((seed, 1)), studies)
    yield row("k=1: interval of these two machines misses", "machines", share, most, share <= limit)
    for k in NUMBERS:
        equal = made(np.random.default_rng((seed, k, 0)), studies, k, 0.0)
        share, wrong = by_instances(equal), by_blocks(equal)
        yield row(f"k={k}: equal types differ", "instances", share, most, share <= limit)
        yield row(f"k={k}: equal types differ", "blocks", wrong, "> 30", wrong > 0.3)
        for name, effect in EFFECTS.items():
            found = made(np.random.default_rng((seed, k, name == "2 %", 1)), studies, k, effect)
            yield row(f"k={k}: {name} is found", "instances", by_instances(found))
            yield row(f"k={k}: {name} is found", "formula", power(effect, k, BLOCKS, BETWEEN, RUN))
        same = gains(np.random.default_rng((seed, k, 2)), studies, k, 0.0)
        share = by_instances(same)
        yield row(f"k={k}: equal gains differ", "interaction", share, most, share <= limit)
        more = gains(np.random.default_rng((seed, k, 3)), studies, k, EFFECTS["5 %"])
        share = by_instances(more)
        yield row(f"k={k}: 5 % more gain is found", "interaction", share, ">= 80", share >= 0.8)
    yield from needed()


def needed() -> Iterator[Row]:
    """Instances of each type that see a difference, by the formula."""
    for name, effect in EFFECTS.items():
        for chance in CHANCES:
            count = instances_needed(effect, BLOCKS, BETWEEN, RUN, chance)
            metric = f"instances of each type for {name} with {chance:.0%}"
            yield Row(metric, "formula", "instances", float(count or math.inf))


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few studies: no numbers to use")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--studies", type=int, default=STUDIES, help="studies of each kind")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    found = list(rows(QUICK if options.quick else options.studies, options.seed))
    if options.json:
        write_json("fleet_instances", found)
    else:
        for row in found:
            word = "" if not row.goal else "met" if row.met else "MISSED"
            print(
                f"{row.metric:46s} {row.rival:12s} {row.ours:6.1f} {row.unit:9s} {row.goal:8s} "
                f"{word}".rstrip()
            )
    return 0 if options.quick or all(row.met for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
