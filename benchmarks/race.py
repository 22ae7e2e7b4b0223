"""Does a race keep the best arm, and what does letting the others go save?

Simulated studies of 8 arms, the baseline among them, at most 30 blocks, run-to-run deviation
2 %, on the invented machines of `verdict.py`. The arms still in run in random order inside every
block, so the machine drifts less far in a short block, as it does in life. A race is over when
one arm is left, or every two of the set lie within 2 % of each other, or after block 30.

Beside it, on the same machines: taking the largest mean of three runs each; leaving out whoever
loses a signed-rank test at 5 % at any look, which is what happens without spending the error;
running all arms to the end and testing once; and letting an arm go only on its verdict against
the baseline. Where all arms are equal each of them is a best, and the promise is made to each:
the row counts how often *one given* arm is lost.

    python benchmarks/race.py [--quick] [--json] [--studies N]

Sources: docs/method.md; Clopper & Pearson, Biometrika 26 (1934), for the binomial intervals.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from outcome import Row, write_json
from simulated.noise import NOISES, machine
from simulated.rows import clopper_pearson

from assay.stats import Rule, judge
from assay.stats.boundary import once, schedule
from assay.stats.selection import BestSet, best_set, settled
from assay.stats.signed_rank import SignedRank

Table = dict[int, dict[str, float]]

PLANNED, DEVIATION, ALPHA, MARGIN = 30, 0.02, 0.05, 0.02
SCHEDULE = schedule(PLANNED, ALPHA)
ARMS = ("baseline", "a", "b", "c", "d", "e", "f", "g")
EFFECTS = {
    "8 equal arms": (0, 0, 0, 0, 0, 0, 0, 0),
    "one at +2 %": (0, 2, 0, 0, 0, 0, 0, 0),
    "one at +3 %": (0, 3, 0, 0, 0, 0, 0, 0),
    "two at +3 %": (0, 3, 3, 0, 0, 0, 0, 0),
    "+3 +2 +1 0 0 -1 -2 -3 %": (0, 3, 2, 1, 0, -1, -2, -3),
    "+8 +5 +3 0 0 -2 -3 -5 %": (0, 8, 5, 3, 0, -2, -3, -5),
}
CASES = (
    ("8 equal arms", "calm"),
    ("8 equal arms", "realistic"),
    ("8 equal arms", "strong"),
    ("two at +3 %", "realistic"),
    ("one at +2 %", "realistic"),
    ("one at +3 %", "realistic"),
    ("one at +3 %", "strong"),
    ("+3 +2 +1 0 0 -1 -2 -3 %", "realistic"),
    ("+8 +5 +3 0 0 -2 -3 -5 %", "realistic"),
)
MEAN_OF_3 = "largest mean of 3 runs each, A..AB..B"
UNSPENT = "signed rank at 5 % at each look"
AT_THE_END = "all arms to block 30, one test"
AGAINST_BASELINE = "arms go on their verdict only"


class Machine:
    """A drifting machine: each block takes the next runs, in random order of its arms."""

    def __init__(self, rng: np.random.Generator, kind: str, effects: Mapping[str, float]) -> None:
        runs = len(effects) * PLANNED
        self.luck = machine(rng, NOISES[kind], DEVIATION, runs)
        self.rng, self.effects, self.used = rng, effects, 0

    def block(self, arms: frozenset[str]) -> dict[str, float]:
        order = self.rng.permutation(sorted(arms))
        found = {
            str(arm): self.effects[arm] + float(self.luck[self.used + slot])
            for slot, arm in enumerate(order)
        }
        self.used += len(order)
        return found


def race(machine: Machine) -> tuple[BestSet, int]:
    """The whole race: its set when it was over, and the runs it took."""
    table: Table = {}
    live = frozenset(ARMS)
    for done in range(1, PLANNED + 1):
        table[done - 1] = machine.block(live)
        if done in SCHEDULE.looks:
            best = best_set(table, ARMS, SCHEDULE, ALPHA, done)
            if settled(table, ARMS, SCHEDULE, ALPHA, done, MARGIN)[0]:
                break
            live = {*best.inside, ARMS[0]}
    return best, machine.used


def everything(machine: Machine) -> Table:
    """All arms in all blocks."""
    return {block: machine.block(frozenset(machine.effects)) for block in range(PLANNED)}


def largest_mean(rng: np.random.Generator, kind: str, effects: Mapping[str, float]) -> str:
    """Three runs of each arm, one arm after the other, and the winner by name."""
    luck = machine(rng, NOISES[kind], DEVIATION, 3 * len(ARMS)).reshape(-1, 3)
    order = rng.permutation(ARMS)
    means = {str(arm): effects[arm] + luck[k].mean() for k, arm in enumerate(order)}
    return max(means, key=means.__getitem__)


def lost_unspent(table: Table, arm: str) -> bool:
    """Whether some other arm is ahead at p <= 5 % at any look."""
    for rival in set(table[0]) - {arm}:
        ahead = [row[rival] - row[arm] for row in table.values()]
        for look in SCHEDULE.looks:
            sample = SignedRank(ahead[:look])
            if sample.estimate > 0 and sample.p_value() <= ALPHA:
                return True
    return False


def runs_until_verdicts(table: Table) -> int:
    """Runs when an arm leaves with its verdict against the baseline, which runs to the last."""
    series = {arm: [(b, row[arm] - row[ARMS[0]]) for b, row in table.items()] for arm in ARMS[1:]}
    found = judge(series, Rule(MARGIN, MARGIN, ALPHA), PLANNED, PLANNED)
    blocks = [judgement.blocks for judgement in found.values()]
    return sum(blocks) + max(blocks)


@dataclass
class Tally:
    """Counts over the studies of one case."""

    lost: int = 0
    lost_by_rival: int = 0
    exact: int = 0
    exact_at_the_end: int = 0


def case_rows(name: str, kind: str, studies: int, seed: int) -> list[Row]:
    """All rows of one case; the verdicts against the baseline are replayed for a fifth of it."""
    effects = {
        arm: math.log1p(effect / 100) for arm, effect in zip(ARMS, EFFECTS[name], strict=True)
    }
    top = max(effects.values())
    bests = {arm for arm in ARMS if effects[arm] == top}
    flat = len(bests) == len(ARMS)
    count, used, others_used = Tally(), [], []
    for k in range(studies):
        found, runs = race(Machine(np.random.default_rng((seed, k)), kind, effects))
        used.append(runs)
        count.lost += "a" not in found.inside
        count.exact += set(found.inside) == bests
        rng = np.random.default_rng((seed, k, 1))
        table = everything(Machine(rng, kind, effects))
        at_the_end = best_set(table, ARMS, once(PLANNED), ALPHA, PLANNED)
        count.exact_at_the_end += set(at_the_end.inside) == bests
        if flat:
            count.lost_by_rival += lost_unspent(table, "a")
        else:
            count.lost_by_rival += largest_mean(rng, kind, effects) not in bests
        if k < max(studies // 5, 1):
            others_used.append(runs_until_verdicts(table))
    title = f"{name}, {kind}"
    return [
        share(
            f"one given best lost, {title}", UNSPENT if flat else MEAN_OF_3,
            count.lost, count.lost_by_rival, studies, "<= 0.05",
        ),
        share(
            f"set is exactly the best, {title}", AT_THE_END,
            count.exact, count.exact_at_the_end, studies, "",
        ),
        mean_runs(title, AT_THE_END, used, [len(ARMS) * PLANNED]),
        mean_runs(title, AGAINST_BASELINE, used, others_used),
    ]  # fmt: skip


def two_arms(kind: str, studies: int, seed: int) -> Row:
    """Two equal arms: one rival has the whole of alpha, so nothing hides an error in its levels.

    The true share is close to .05 itself; hence a goal a little above it, and many studies.
    """
    pair = dict.fromkeys(ARMS[:2], 0.0)
    lost = theirs = 0
    for k in range(12 * studies):
        table = everything(Machine(np.random.default_rng((seed, k, 2)), kind, pair))
        best = best_set(table, list(pair), SCHEDULE, ALPHA, PLANNED)
        lost += "a" not in best.inside
        theirs += k % 12 == 0 and lost_unspent(table, "a")
    title = f"one given best lost, 2 equal arms, {kind}"
    return share(title, UNSPENT, lost, 12 * theirs, 12 * studies, "<= 0.06")


def share(metric: str, rival: str, hits: int, theirs: int, studies: int, goal: str) -> Row:
    """A share of the studies with its binomial interval; a goal is an upper limit."""
    low, high = clopper_pearson(hits, studies)
    return Row(
        metric, rival, "share", hits / studies, theirs / studies, hits / theirs if theirs else None,
        low, high, goal, not goal or high <= float(goal.removeprefix("<= ")),
    )  # fmt: skip


def mean_runs(title: str, rival: str, ours: list[int], theirs: list[int]) -> Row:
    """Mean runs per study; low and high bound our mean (normal, 90 %)."""
    mean, other = float(np.mean(ours)), float(np.mean(theirs))
    reach = 1.645 * float(np.std(ours)) / math.sqrt(len(ours))
    return Row(
        f"mean runs, {title}", rival, "runs", mean, other, mean / other,
        mean - reach, mean + reach, "", True,
    )  # fmt: skip


def table_text(rows: list[Row]) -> str:
    """The rows for people."""
    lines = [f"{'':62s} {'assay':>8s} {'rival':>8s}  90 % interval       goal"]
    for row in rows:
        interval = f"[{row.low:.3f}, {row.high:.3f}]"
        goal = f"{row.goal} {'met' if row.met else 'MISSED'}" if row.goal else ""
        lines.append(
            f"{row.metric:62s} {row.ours:8.3f} {row.theirs:8.3f}  {interval:18s}  {goal:14s}"
            f"  {row.rival}"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny parameters, for the tests")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--studies", type=int, default=500, help="studies per case")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    studies = 4 if options.quick else options.studies
    cases = CASES[1::4] if options.quick else CASES
    rows = [two_arms("calm", studies, options.seed)]
    rows += [row for name, kind in cases for row in case_rows(name, kind, studies, options.seed)]
    if options.json:
        write_json("race", rows)
    else:
        text = table_text(rows)
        sys.stdout.write(f"{studies} studies per case, seed {options.seed}\n{text}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
