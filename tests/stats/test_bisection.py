"""The search as pure numbers: what it names on made-up histories, and what it never names."""

import math

import numpy as np
import pytest

from assay.stats import Rule
from assay.stats.bisection import MakeNode, Measure, Search, StepAnswer, forecast_of
from assay.stats.bisection.search import outwards
from assay.stats.bisection.step import StepTest, rule_for

RULE = Rule(0.04, 0.02)
NOISE = 0.02


class History:
    """Speeds of nodes, what does not build, and which builds are equal."""

    def __init__(self, levels, broken=(), codes=None, noise=NOISE, seed=1):
        self.levels, self.broken = np.asarray(levels, float), set(broken)
        self.codes = codes or [str(k) for k in range(len(levels))]
        self.rng, self.noise = np.random.default_rng(seed), noise
        self.built, self.blocks = [], []

    def searched(self, rule=RULE):
        search = Search(len(self.levels), rule)
        while (step := search.next()) is not None:
            self.go(search, step)
        return search

    def go(self, search, step):
        if isinstance(step, MakeNode):
            self.built.append(step.node)
            if step.node in self.broken:
                search.failed(step.node)
            else:
                search.built(step.node, self.codes[step.node])
            return
        luck = self.rng.normal(0, self.noise / math.sqrt(2), len(step.nodes))
        shared = self.rng.normal(0, 10 * self.noise)
        values = self.levels[list(step.nodes)] + luck + shared
        self.blocks.append(step.nodes)
        search.measured(dict(zip(step.nodes, values, strict=True)))


def stepped(count, *changes):
    """Levels of a history whose speed changes by so much at these nodes."""
    levels = np.zeros(count)
    for node, change in changes:
        levels[node:] += change
    return levels


def named(search):
    return [(c.low, c.high) for c in search.culprits]


@pytest.mark.parametrize("culprit", [1, 17, 39])
def test_one_change_is_found_wherever_it_is(culprit):
    search = History(stepped(40, (culprit, -0.05))).searched()
    assert named(search) == [(culprit - 1, culprit)]
    found = search.culprits[0]
    assert found.interval[0] < -0.05 < found.interval[1] < 0
    assert not search.unresolved


def test_a_bad_end_that_is_faster_is_searched_too():
    search = History(stepped(40, (9, 0.05))).searched()
    assert named(search) == [(8, 9)]
    assert search.sign == 1
    assert search.culprits[0].estimate > 0


def test_two_changes_are_both_named_the_larger_half_first():
    search = History(stepped(40, (10, -0.05), (30, -0.08)), noise=0.01).searched()
    assert sorted(named(search)) == [(9, 10), (29, 30)]
    assert StepAnswer.BETWEEN in [s.answer for s in search.stages]
    assert named(search)[0] == (29, 30)


def test_without_a_difference_nothing_is_searched():
    search = History(stepped(40)).searched()
    assert not search.culprits
    assert not search.told_apart
    assert [s.kind for s in search.stages] == ["ends"]


def test_equal_builds_are_one_node():
    """Node 20 alone changes the program: the step over each other node costs a build, no run."""
    codes = ["old"] * 20 + ["new"] * 20
    history = History(stepped(40, (20, -0.05)), codes=codes)
    search = history.searched()
    assert named(search) == [(19, 20)]
    assert {s.kind for s in search.stages} == {"ends", "same", "pair"}
    assert {len(nodes) for nodes in history.blocks} == {2}


def test_ends_of_equal_builds_are_not_measured():
    history = History(stepped(40), codes=["same"] * 40)
    search = history.searched()
    assert search.over
    assert search.same_ends
    assert not history.blocks


def test_a_range_that_does_not_build_stays_a_range():
    """The culprit is among the broken ones: the first that builds again is not blamed alone."""
    history = History(stepped(40, (20, -0.05)), broken=range(16, 26))
    search = history.searched()
    assert named(search) == [(15, 26)]


def test_a_broken_stretch_is_left_after_few_builds():
    history = History(stepped(200, (30, -0.05)), broken=range(60, 140))
    assert named(history.searched()) == [(29, 30)]
    assert len(set(history.built) & history.broken) <= 15


def test_a_middle_that_never_runs_gives_way_to_a_neighbour():
    history = History(stepped(10, (7, -0.05)))
    search = Search(10, RULE)
    while (step := search.next()) is not None:
        if isinstance(step, Measure) and len(step.nodes) == 3 and step.nodes[1] == 4:
            search.measured({step.nodes[0]: 0.0, step.nodes[2]: 0.0})
        else:
            history.go(search, step)
    assert 4 in search.broken
    assert named(search) == [(6, 7)]


def test_an_end_that_does_not_build_stops_the_search():
    search = History(stepped(10, (7, -0.05)), broken=[9]).searched()
    assert "end" in search.stopped


def test_a_stopped_search_leaves_the_range_it_was_in():
    history = History(stepped(40, (20, -0.05)))
    search = Search(40, RULE)
    while (step := search.next()) is not None:
        if len([s for s in search.stages if s.kind == "step"]) == 2:
            search.stop("time")
        else:
            history.go(search, step)
    (left,) = search.unresolved
    assert left.why == "stopped"
    assert left.low < 20 <= left.high
    assert not search.culprits


def test_the_same_events_give_the_same_search():
    events = []

    class Written(History):
        def go(self, search, step):
            before = search.measured
            search.measured = lambda values: (events.append(values), before(values))
            super().go(search, step)
            search.measured = before

    first = Written(stepped(20, (5, -0.05))).searched()
    again, told = Search(20, RULE), iter(events)
    while (step := again.next()) is not None:
        if isinstance(step, MakeNode):
            again.built(step.node, str(step.node))
        else:
            again.measured(next(told))
    assert again.stages == first.stages
    assert named(again) == named(first)


def test_a_step_of_equal_runs_errs_as_rarely_as_it_says():
    """Two equal ends and a middle: a claim is false; each is made in alpha/2 of steps at most."""
    rng = np.random.default_rng(3)
    rule = rule_for(0.04, 0.1)
    false = 0
    for _ in range(200):
        asked = StepTest(rule, 20)
        while asked.answer is None:
            low, middle, high = rng.normal(0, NOISE, 3)
            asked.add(middle - low, high - middle)
        false += asked.answer is not StepAnswer.UNCLEAR
    assert false <= 33  # both claims: 10 % at most, the 99.9th percentile of 200


def test_the_forecast_grows_with_the_history_by_its_logarithm():
    small, large = (forecast_of(n, 0.025, 0.05, 0.05, 0.02) for n in (64, 512))
    assert (small.builds, large.builds) == (6, 9)
    assert small.runs < large.runs < 2 * small.runs
    assert small.runs <= small.runs_most


def test_neighbours_come_outwards_and_all_once():
    assert next(outwards(0, 10)) == 5
    assert sorted(outwards(0, 40)) == list(range(1, 40))
