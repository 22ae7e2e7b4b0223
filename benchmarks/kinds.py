"""How often is a kind of request called faster or slower that is not, and how many true ones are
found?

Studies of two arms and 40 kinds of request are simulated run by run and ruled by Assay's own
`adjudicate`: they stop when the primary metric is decided, as real ones do. Runs of an arm share
their luck (kinds depend on each other), and each kind has noise of its own. "nothing" has no effect
at all; in "some" the arm makes eight kinds 10 % faster and the rest not; "all alike" makes every
kind 3 % faster, so that the study stops early.

Next to Assay stand two common ways on the same runs: every kind by itself at 5 %, and Benjamini and
Hochberg on plain p values of whatever blocks there are. `low` and `high` bound a 95 % interval.

    python benchmarks/kinds.py [--json] [--studies N] [--full]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from outcome import Row, write_bounded
from scipy.stats import binomtest

from assay.plan import Plan
from assay.stats.secondary import benjamini_hochberg
from assay.stats.signed_rank import SignedRank
from assay.study import make_plan, read
from assay.verdict.observations import Block, KindSeen, Observation
from assay.verdict.ruling import adjudicate

KINDS = 40
METRIC = "latency_p50"
ENOUGH = 1_000
"""Requests of a kind in a run: enough for a median."""
SHARED, OWN = 0.02, 0.02
"""Standard deviations of the log of a run: of all its kinds together, and of each by itself."""
EFFECTS = {
    "nothing": np.zeros(KINDS),
    "some": np.log1p(np.where(np.arange(KINDS) < 8, 0.10, 0.0)),
    "all alike": np.full(KINDS, np.log1p(0.03)),
}
RATE = 0.10
STUDY = """
name = "kinds"
question = "Is a kind of request called faster that is not?"
[target]
kind = "engine"
[workload]
kind = "ycsb"
[measure]
primary = "throughput"
warmup = "100ms"
window = "300ms"
[[factor]]
name = "hint"
change = "engine.spin_hint"
on = "pause"
[design]
kind = "one-at-a-time"
[decide]
smallest = "2%"
margin = "2%"
budget = "60s"
"""


@dataclass(frozen=True)
class Found:
    """The kinds that were called in a study, by each way, as indices."""

    ours: set[int]
    plain: set[int]
    uncorrected: set[int]
    blocks: int


def plan_of(seed: int, full: bool) -> Plan:
    """The plan of one study."""
    study = read("kinds.toml", STUDY, Path())
    return make_plan(
        study, version="0", seed=seed, study_sha256="", base="", overrides={},
        stand_ins={"engine": None}, full=full, cpus=2,
    )  # fmt: skip


def simulated(effects: np.ndarray, seed: int, full: bool = False) -> Found:
    """One study, run to where it stops."""
    plan, draws = plan_of(seed, full), np.random.default_rng(seed)
    case, arm = plan.cases[0].name, plan.arms[1].name
    blocks: list[Block] = []
    while not (ruling := adjudicate(plan, blocks)).finished:
        blocks.append(block(case, (plan.baseline, arm), effects, draws))
    row = next(r for r in ruling.rows if r.arm == arm and r.metric == plan.primary)
    called = {int(k.request) for k in row.by_kind if k.metric == METRIC and k.word in SURE}
    return Found(called, *others(blocks, case, (plan.baseline, arm)), len(blocks))


SURE = ("helps", "hurts")


def block(
    case: str, arms: tuple[str, str], effects: np.ndarray, draws: np.random.Generator
) -> Block:
    """One run of each arm; the second has the effects."""
    cells = {}
    for arm, gain in zip(arms, (0.0 * effects, effects), strict=True):
        logs = gain + draws.normal(0, SHARED) + draws.normal(0, OWN, KINDS)
        kinds = {
            str(kind): KindSeen({METRIC: 1e6 * np.exp(-log), "throughput": 100.0}, ENOUGH)
            for kind, log in enumerate(logs)
        }
        rate = 1e5 * float(np.exp(logs.mean()))
        cells[case, arm] = Observation({"throughput": rate}, {}, {}, kinds=kinds)
    return Block(cells, 0.6)


def others(blocks: Sequence[Block], case: str, arms: tuple[str, str]) -> tuple[set[int], set[int]]:
    """What plain p values call, with Benjamini and Hochberg's procedure and without any."""
    p_values = {}
    for kind in range(KINDS):
        latencies = np.array(
            [[b.cells[case, arm].kinds[str(kind)].metrics[METRIC] for arm in arms] for b in blocks]
        )
        contrasts = np.log(latencies[:, 0] / latencies[:, 1])
        p_values[str(kind)] = SignedRank(contrasts).p_value()
    plain = {int(name) for name in benjamini_hochberg(p_values, RATE)}
    return plain, {int(name) for name, p in p_values.items() if p <= 0.05}


def rows_of(name: str, studies: int, seed: int, full: bool) -> Iterator[Row]:
    """The rows of one kind of truth."""
    effects = EFFECTS[name]
    true = set(np.flatnonzero(effects).tolist())
    found = [simulated(effects, seed + n, full) for n in range(studies)]
    for way in ("plain", "uncorrected"):
        if len(true) < KINDS:
            yield _false(name, way, found, true)
    if true:
        power = statistics.fmean(len(f.ours & true) / len(true) for f in found)
        rival = statistics.fmean(len(f.plain & true) / len(true) for f in found)
        yield Row(f"{name}: true ones found", "plain", "fraction", power, rival)
    blocks = statistics.fmean(f.blocks for f in found)
    yield Row(f"{name}: blocks", "", "blocks", blocks)


def _false(name: str, way: str, found: Sequence[Found], true: set[int]) -> Row:
    """The false discovery rate: the mean share of false ones among those called."""
    ours = [_share(f.ours, true) for f in found]
    theirs = [_share(getattr(f, way), true) for f in found]
    rate = statistics.fmean(ours)
    # Where nothing is true a share is 0 or 1; elsewhere this bounds it from outside.
    low, high = binomtest(round(sum(ours)), len(ours)).proportion_ci(method="exact")
    return Row(
        f"{name}: false discovery rate", way, "fraction", rate, statistics.fmean(theirs),
        low=low, high=high, goal=f"at most {RATE:g}", met=low <= RATE,
    )  # fmt: skip


def _share(called: set[int], true: set[int]) -> float:
    return len(called - true) / len(called) if called else 0.0


def main(words: Sequence[str] | None = None) -> int:
    """Print the rows; 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="run all planned blocks")
    asked = parser.parse_args(words)
    rows = [r for name in EFFECTS for r in rows_of(name, asked.studies, asked.seed, asked.full)]
    write_bounded("kinds", rows, asked.json)
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
