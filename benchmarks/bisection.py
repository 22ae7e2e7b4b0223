"""Does a search name the commit that changed the speed, and how often another?

Simulated: 64 and 512 commits, one of which, drawn anew for each search, costs an effect of 2, 1 or
0.5 times the noise of a pair of runs; noise is normal, or has the heavy tails of Student's t with
three degrees. The search is asked for effects from two thirds of the true one on. What `git bisect`
does with one, five and twenty pairs of good commit and middle at a step stands beside it; it is
given the true effect, so that it can draw its line halfway. Every simulated machine drifts: what a
block shares is ten times its noise, and cancels.

A row of two changes counts searches that name both, and those that name a commit that changed
nothing; a row without a change counts searches that name anything.

    python benchmarks/bisection.py [--quick] [--json] [--searches N]
    python benchmarks/bisection.py --real 10     # on this machine, which has to be quiet

`--real N` searches a planted repository of 200 commits of a small server, one of which costs 5 % of
throughput, N times: by `assay bisect`; by `git bisect run` with ten runs of each of two commits and
a t test, as scripts around hyperfine do; and by `git bisect run` with one run and a threshold
halfway between the means of ten runs of each end.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from outcome import Row, write_json
from simulated.rows import Table, share, summary

from assay.stats import Rule
from assay.stats.bisection import MakeNode, Search

NOISE = 0.03  # of a pair of runs, in log units
COMMITS, EFFECTS, PAIRS = (64, 512), (2.0, 1.0, 0.5), (1, 5, 20)
SHARED = 10 * NOISE
ASKED = 2 / 3
WRONG, NAMED = 0.01, 0.80
"""The goals: at most so many searches name another commit, and at least so many name the right one
where the effect is at least the noise."""

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]


def normal(rng: np.random.Generator, runs: int) -> Floats:
    """Runs whose pair differs by `NOISE`, normal."""
    return rng.normal(0, NOISE / math.sqrt(2), runs)


def heavy(rng: np.random.Generator, runs: int) -> Floats:
    """The same deviation with the tails of Student's t with three degrees."""
    return rng.standard_t(3, runs) * NOISE / math.sqrt(2) / math.sqrt(3)


NOISES: dict[str, Draw] = {"normal": normal, "heavy tails": heavy}


@dataclass(frozen=True)
class World:
    """Levels of commits in log units, and the noise of a run."""

    rng: np.random.Generator
    levels: Floats
    draw: Draw

    def block(self, nodes: tuple[int, ...]) -> Floats:
        """One run of each node, on a machine that is as fast as it likes."""
        drift = self.rng.normal(0, SHARED)
        return self.levels[list(nodes)] + self.draw(self.rng, len(nodes)) + drift


@dataclass(frozen=True)
class Outcome:
    """What one search named, and what it took."""

    named: frozenset[int]
    runs: int
    builds: int


def history(count: int, *changes: tuple[int, float]) -> Floats:
    """Levels that fall by so much at each of these commits."""
    levels = np.zeros(count)
    for node, size in changes:
        levels[node:] -= size
    return levels


def searched(world: World, expected: float) -> Outcome:
    """A whole search of Assay's."""
    search = Search(len(world.levels), Rule(expected, expected))
    runs = builds = 0
    while (step := search.next()) is not None:
        if isinstance(step, MakeNode):
            search.built(step.node, str(step.node))
            builds += 1
            continue
        values = world.block(step.nodes)
        runs += len(values)
        search.measured(dict(zip(step.nodes, values.tolist(), strict=True)))
    return Outcome(frozenset(c.high for c in search.culprits), runs, builds)


def git_bisect(world: World, pairs: int, effect: float) -> Outcome:
    """`git bisect` whose script makes so many pairs of the first commit and the middle."""
    low, high, runs, builds = 0, len(world.levels) - 1, 0, 1
    while high - low > 1:
        middle = (low + high) // 2
        blocks = np.array([world.block((0, middle)) for _ in range(pairs)])
        runs, builds = runs + 2 * pairs, builds + 1
        slower = float(np.mean(blocks[:, 0] - blocks[:, 1]))
        low, high = (low, middle) if slower > effect / 2 else (middle, high)
    return Outcome(frozenset({high}), runs, builds)


@dataclass(frozen=True)
class Case:
    """A history's length, its effect in units of the noise, and the noise's shape."""

    commits: int
    effect: float
    shape: str

    @property
    def title(self) -> str:
        return f"{self.commits} commits, effect {self.effect:g} x noise, {self.shape}"

    @property
    def size(self) -> float:
        """The effect in log units."""
        return self.effect * NOISE

    @property
    def asked(self) -> float:
        """The smallest effect the search is asked for, as a fraction."""
        return math.expm1(ASKED * self.size)

    def worlds(self, searches: int, seed: int, rival: int = 0) -> Iterator[tuple[int, World]]:
        """Each search's culprit, and its world; the same culprits for every rival."""
        for number in range(searches):
            place = [seed, self.commits, round(10 * self.effect), len(self.shape), number]
            culprit = int(np.random.default_rng(place).integers(1, self.commits))
            rng = np.random.default_rng([*place, 1 + rival])
            yield (
                culprit,
                World(rng, history(self.commits, (culprit, self.size)), NOISES[self.shape]),
            )


def case_rows(case: Case, searches: int, seed: int) -> list[Row]:
    """Named, named wrong, runs and builds, beside `git bisect`."""
    found = [(c, searched(w, case.asked)) for c, w in case.worlds(searches, seed)]
    right = sum(o.named == {c} for c, o in found)
    wrong = sum(bool(o.named - {c}) for c, o in found)
    goal = NAMED if case.effect >= 1 else None
    rows = [share(f"named, {case.title}", right, searches, at_least=goal)]
    for number, pairs in enumerate(PAIRS, 1):
        theirs = [
            (c, git_bisect(w, pairs, case.size)) for c, w in case.worlds(searches, seed, number)
        ]
        missed = sum(bool(o.named - {c}) for c, o in theirs)
        rival = f"git bisect, {pairs} pairs a step"
        title = f"named wrong, {case.title}"
        rows.append(share(title, wrong, searches, rival=rival, theirs=missed / searches))
    runs, builds = ([getattr(o, name) for _, o in found] for name in ("runs", "builds"))
    for name, values in (("runs", runs), ("builds", builds)):
        low, high = np.percentile(values, [10, 90])
        mean = float(np.mean(values))
        rows.append(Row(f"{name}, {case.title}", "", name, mean, None, None, low, high))
    return rows


def without_change(searches: int, seed: int) -> Row:
    """Histories in which nothing changed: how often anything is named."""
    named = 0
    for number in range(searches):
        world = World(np.random.default_rng([seed, 1, number]), history(64), normal)
        named += bool(searched(world, math.expm1(NOISE)).named)
    return share("anything named, 64 commits without a change", named, searches, at_most=WRONG)


def two_changes(searches: int, seed: int) -> list[Row]:
    """Two changes of twice the noise, a third of the history apart at least."""
    both = wrong = 0
    for number in range(searches):
        rng = np.random.default_rng([seed, 2, number])
        first = int(rng.integers(1, 32))
        second = int(rng.integers(first + 21, 64))
        changes = ((first, 2 * NOISE), (second, 2 * NOISE))
        found = searched(World(rng, history(64, *changes), normal), math.expm1(NOISE)).named
        both += found == {first, second}
        wrong += bool(found - {first, second})
    title = "64 commits, two changes of 2 x noise"
    return [
        share(f"both named, {title}", both, searches),
        share(f"named wrong, {title}", wrong, searches, at_most=WRONG),
    ]


def wrong_in_all(rows: list[Row], searches: int) -> Row:
    """Searches of all cases that named another commit than the right one."""
    each = {row.metric: row.ours for row in rows if row.metric.startswith("named wrong")}
    count = round(sum(each.values()) * searches)
    return share("named wrong, all cases", count, len(each) * searches, at_most=WRONG)


def simulated(searches: int, seed: int, quick: bool) -> Table:
    """Every case, and the goals over all of them."""
    cases = [Case(n, e, s) for n in COMMITS for e in EFFECTS for s in NOISES]
    rows = [row for c in (cases[:1] if quick else cases) for row in case_rows(c, searches, seed)]
    rows.append(wrong_in_all(rows, searches))
    rows.append(without_change(searches, seed))
    rows += two_changes(searches, seed)
    return Table("\n".join(line(row) for row in rows), rows)


def line(row: Row) -> str:
    """A row for people."""
    ours = f"{row.ours:8.3f}" if row.unit == "share" else f"{row.ours:8.0f}"
    rival = f"  {row.rival}: {row.theirs:.3f}" if row.theirs is not None else ""
    goal = f"  goal {row.goal} {'met' if row.met else 'MISSED'}" if row.goal else ""
    return f"{row.metric:58s}{ours}  [{row.low:.3f}, {row.high:.3f}]{rival}{goal}"


def main(arguments: list[str] | None = None) -> int:
    """Run and print; exit code 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny parameters, for the tests")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--searches", type=int, default=167, help="searches of each of 12 cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", type=int, default=0, metavar="N", help="real searches of each")
    options = parser.parse_args(arguments)
    if options.real:
        from planted.tries import tried

        table = tried(options.real, options.seed)
    else:
        table = simulated(3 if options.quick else options.searches, options.seed, options.quick)
    if options.json:
        write_json("bisection", table.rows)
    else:
        sys.stdout.write(f"{table.text}\n{summary(table.rows)}\n")
    return 1 if table.missed and not options.quick else 0


if __name__ == "__main__":
    raise SystemExit(main())
