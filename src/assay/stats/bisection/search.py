"""The search itself: what to build or to measure next, from everything seen so far.

A pure state machine over nodes 0 (good) to `count - 1` (bad). It is told what builds and blocks
gave, and `next` says what comes next, so running, resuming and verifying a search are one fold.

    ends    blocks {good, bad}, by the rule of any study: told apart, or there is nothing to search
    step    blocks {end, middle, end} of a range (`step.py`); "between" leaves both halves to search
    same    a middle whose build is that of an end is that end: nothing is measured
    broken  a middle that does not build or run gives way to a neighbour; where none is left, the
            range stays a range, and its last node is not blamed
    pair    what is left of a range is measured on fresh blocks; named only if it is confirmed

Errors: half of alpha is shared by the steps of a path, `alpha / 2 / ceil(log2 n)` each; where both
halves are searched, each has half of what is left, and of the error of confirmations. What is named
has been found by a path and confirmed by blocks that the path has not seen.

Sources: Karp & Kleinberg, SODA (2007), noisy binary search; the rest is house method.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from assay.stats.bisection.forecast import Forecast, forecast_of, steps_of
from assay.stats.bisection.step import (
    EXTENSIONS,
    StepAnswer,
    StepTest,
    blocks_for,
    levels_of,
    pooled,
    rule_for,
)
from assay.stats.rule import Rule, Word
from assay.stats.sample_size import plan_looks
from assay.stats.sequence import Judgement, extended, judge
from assay.stats.signed_rank import SignedRank

Kind = Literal["ends", "step", "same", "pair"]
MISSES_OF_MIDDLE, MISSES_OF_END = 2, 3
"""Blocks in a row without a node, after which it does not run."""
PAIR = "pair"


@dataclass(frozen=True)
class MakeNode:
    """Build this node next."""

    node: int


@dataclass(frozen=True)
class Measure:
    """Make a block of these nodes next; `stage` counts what is asked, from 0."""

    nodes: tuple[int, ...]
    stage: int


@dataclass(frozen=True)
class OpenRange:
    """Neighbouring nodes known to hold a change. `effect` (log, above zero) is what to look for;
    `path` and `pair` are the errors left for its steps and for its confirmation."""

    low: int
    high: int
    effect: float
    path: float
    pair: float

    @property
    def gaps(self) -> int:
        return self.high - self.low


@dataclass
class Stage:
    """One thing that was asked, for whoever draws the search. Log units, towards bad."""

    kind: Kind
    low: int
    high: int
    middle: int | None
    answer: str = ""
    blocks: int = 0
    planned: int | None = None
    estimate: float | None = None
    interval: tuple[float | None, float | None] = (None, None)
    right_estimate: float | None = None
    right_interval: tuple[float | None, float | None] = (None, None)
    alpha: float = 0.0


@dataclass(frozen=True)
class Culprit:
    """A change that was found and confirmed: it lies after `low`, at `high` at the latest.

    Nodes between them do not build. `estimate` and interval are log units of `high` against
    `low`, up is better, over the blocks of the confirmation alone.
    """

    low: int
    high: int
    estimate: float
    interval: tuple[float, float]
    blocks: int
    judgement: Judgement


@dataclass(frozen=True)
class Unresolved:
    """A range that holds a change which was not pinned down, and why."""

    low: int
    high: int
    why: Literal["unclear", "unconfirmed", "stopped"]


@dataclass
class Search:
    """A search over `count` nodes. `rule`: its smallest effect is the smallest worth finding."""

    count: int
    rule: Rule
    cap: int | None = None
    """The most blocks that the ends may take."""
    codes: dict[int, str] = field(default_factory=dict)
    broken: set[int] = field(default_factory=set)
    stages: list[Stage] = field(default_factory=list)
    culprits: list[Culprit] = field(default_factory=list)
    unresolved: list[Unresolved] = field(default_factory=list)
    ends: Judgement | None = None
    stopped: str = ""
    sign: float = 0.0
    """-1 where the bad end is slower, +1 where it is faster; 0 before it is known."""
    noises: list[float] = field(default_factory=list)
    _open: list[OpenRange] = field(default_factory=list)
    _span: OpenRange | None = None
    _middle: int | None = None
    _asked: StepTest | None = None
    _sample: list[float] = field(default_factory=list)
    """Of the ends or of a confirmation: ln(high / low), up is better."""
    _planned: int | None = None
    _misses: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ValueError(f"a search needs two nodes at least, not {self.count}")

    # what comes next

    def next(self) -> MakeNode | Measure | None:
        """What to do next; None when the search is over."""
        if self.over:
            return None
        for end in (0, self.last):
            if end not in self.codes:
                return MakeNode(end)
        if self.ends is None or not self.ends.final:
            return self._measure(0, self.last)
        span = self._span
        assert span is not None, "an open search has a range"
        if self._middle is None:
            return self._measure(span.low, span.high)
        if self._middle not in self.codes:
            return MakeNode(self._middle)
        return self._measure(span.low, self._middle, span.high)

    @property
    def last(self) -> int:
        return self.count - 1

    @property
    def over(self) -> bool:
        if self.stopped or self.same_ends:
            return True
        return self.ends is not None and self.ends.final and self._span is None

    @property
    def same_ends(self) -> bool:
        """Whether both ends are the same build, so that there is nothing to search."""
        return self.last in self.codes and self.codes.get(0) == self.codes[self.last]

    @property
    def told_apart(self) -> bool:
        return self.ends is not None and self.ends.word in (Word.HELPS, Word.HURTS)

    @property
    def span(self) -> OpenRange | None:
        """The range that is searched now."""
        return self._span

    def open_spans(self) -> list[OpenRange]:
        """The range that is searched now, and those that wait."""
        return [s for s in (self._span, *self._open) if s is not None]

    def _measure(self, *nodes: int) -> Measure:
        return Measure(nodes, len(self.stages))

    # what is told

    def built(self, node: int, code: str) -> None:
        """A node was built; equal codes are equal builds."""
        self.codes[node] = code
        span = self._span
        if span is None or node != self._middle:
            return
        for end, answer in ((span.low, StepAnswer.GOOD), (span.high, StepAnswer.BAD)):
            if code == self.codes[end]:
                self.stages.append(Stage("same", span.low, span.high, node, answer.value))
                self._narrow(answer, span)
                return
        rule = rule_for(span.effect, 2 * span.path / steps_of(span.gaps))
        self._asked = StepTest(rule, blocks_for(self.noise, rule))

    def failed(self, node: int) -> None:
        """A node does not build or run. An end that does not stops the search."""
        if node == self._middle:
            self.broken.add(node)
            self.codes.pop(node, None)
            self._asked = None
            self._choose()
        else:
            self.stop("an end does not build or run")

    def measured(self, values: Mapping[int, float]) -> None:
        """A complete block: log speed by node, up is better; nodes that did not run are missing."""
        asked = self.next()
        assert isinstance(asked, Measure), "a block was measured that was not asked for"
        missing = [node for node in asked.nodes if node not in values]
        self._misses = {n: self._misses.get(n, 0) + 1 for n in missing}
        if missing:
            self._missed(missing)
            return
        at = [values[node] for node in asked.nodes]
        if len(at) == 3:
            self._stepped(at)
        elif self.ends is None or not self.ends.final:
            self._ended(at[1] - at[0])
        else:
            self._confirmed(at[1] - at[0])

    def stop(self, why: str) -> None:
        """End the search here; what is open stays a range."""
        if self.over:
            return
        self.stopped = why
        self._leave()
        self.unresolved += [Unresolved(s.low, s.high, "stopped") for s in self.open_spans()]
        self._span, self._open = None, []

    # the ends

    def _ended(self, contrast: float) -> None:
        self._sample.append(contrast)
        done = len(self._sample)
        series = {PAIR: list(enumerate(self._sample))}
        sized = plan_looks(series, self.rule, self.cap, done)
        if sized is None:
            return
        looks = sized[1]
        self._planned = looks.planned
        if done in looks.looks:
            self.ends = judge(series, self.rule, looks, done)[PAIR]
            if self.ends.final:
                self._begin()

    def _begin(self) -> None:
        """The ends have their verdict: search, where it tells them apart."""
        assert self.ends is not None
        sample = SignedRank(self._sample)
        self.noises.append(sample.noise())
        self._close(self.ends, Stage("ends", 0, self.last, None))
        if not self.told_apart:
            return
        self.sign = math.copysign(1.0, sample.estimate)
        effect = _cautious(self.ends, self.rule)
        self._open = [OpenRange(0, self.last, effect, self.rule.alpha / 2, self.rule.alpha)]
        self._take()

    # a step

    def _stepped(self, at: list[float]) -> None:
        asked = self._asked
        assert asked is not None
        asked.add(self.sign * (at[1] - at[0]), self.sign * (at[2] - at[1]))
        if asked.answer is not None:
            span = self._leave()
            assert span is not None
            self._narrow(asked.answer, span, asked)

    def _leave(self) -> OpenRange | None:
        """Write down the step that is under way."""
        span, asked, self._asked = self._span, self._asked, None
        if span is None or asked is None or not asked.blocks:
            return span
        if asked.blocks > 1:
            self.noises.append(asked.noise())
        left, right = asked.estimates()
        self.stages.append(
            Stage(
                "step", span.low, span.high, self._middle, asked.answer or "", asked.blocks,
                asked.planned, left, _ends(asked.left_interval),
                right, _ends(asked.right_interval), asked.rule.alpha / 2,
            )
        )  # fmt: skip
        return span

    def _narrow(self, answer: StepAnswer, span: OpenRange, asked: StepTest | None = None) -> None:
        """Go on with the half, or the halves, that an answer leaves."""
        middle = self._middle
        assert middle is not None
        if answer is StepAnswer.UNCLEAR:
            self.unresolved.append(Unresolved(span.low, span.high, "unclear"))
            self._take()
            return
        spent = span.path / steps_of(span.gaps) if asked else 0.0
        left, right = asked.estimates() if asked else (span.effect, span.effect)
        rest = replace(span, path=span.path - spent)
        halves = {
            StepAnswer.BAD: replace(rest, high=middle, effect=self._effect(span, left)),
            StepAnswer.GOOD: replace(rest, low=middle, effect=self._effect(span, right)),
        }
        if answer is not StepAnswer.BETWEEN:
            self._open.append(halves[answer])
        else:
            self._open += [replace(h, path=h.path / 2, pair=h.pair / 2) for h in halves.values()]
        self._take()

    def _effect(self, span: OpenRange, estimate: float) -> float:
        """What to look for in a half: what was seen there, never more than before, as a step that
        ended early saw too much."""
        return max(self.rule.smallest_log / 2, min(estimate, span.effect))

    def _take(self) -> None:
        """The open range with the largest effect comes next."""
        self._span = max(self._open, key=lambda s: s.effect, default=None)
        if self._span is not None:
            self._open.remove(self._span)
            self._choose()

    def _choose(self) -> None:
        """The middle of the range, or nothing where only a confirmation is left."""
        span = self._span
        assert span is not None
        candidates = (n for n in outwards(span.low, span.high) if n not in self.broken)
        self._middle = next(candidates, None)
        self._sample, self._planned = [], None
        if self._middle is None:
            rule = rule_for(span.effect, span.pair)
            self._planned = blocks_for(self.noise, rule)
        elif self._middle in self.codes:
            self.built(self._middle, self.codes[self._middle])

    # a confirmation

    def _confirmed(self, contrast: float) -> None:
        span, planned = self._span, self._planned
        assert span is not None
        assert planned is not None
        self._sample.append(contrast)
        rule = rule_for(span.effect, span.pair)
        done = len(self._sample)
        if done not in levels_of(rule, planned):
            return
        extensions = sum(extended(planned, k + 1) <= done for k in range(EXTENSIONS))
        found = self._judge(rule, extensions)
        hopeless = found.final and done < planned
        if found.word is Word.UNDECIDED and not hopeless and done < extended(planned, EXTENSIONS):
            return
        self.noises.append(SignedRank(self._sample).noise())
        self._close(found, Stage("pair", span.low, span.high, None, alpha=span.pair))
        told = found.word in (Word.HELPS, Word.HURTS)
        if told and math.copysign(1.0, found.estimate or 0.0) == self.sign:
            self.culprits.append(self._culprit(span, found))
        else:
            self.unresolved.append(Unresolved(span.low, span.high, "unconfirmed"))
        self._take()

    def _culprit(self, span: OpenRange, found: Judgement) -> Culprit:
        assert found.low is not None
        assert found.high is not None
        sample = SignedRank(self._sample)
        interval = math.log1p(found.low), math.log1p(found.high)
        return Culprit(span.low, span.high, sample.estimate, interval, found.blocks, found)

    # shared

    def _judge(self, rule: Rule, extensions: int) -> Judgement:
        assert self._planned is not None
        series = {PAIR: list(enumerate(self._sample))}
        done = len(self._sample)
        return judge(series, rule, self._planned, done, extensions=extensions)[PAIR]

    def _close(self, found: Judgement, stage: Stage) -> None:
        """Write down the ends or a confirmation with what was found."""
        stage.answer, stage.blocks, stage.planned = found.word.value, found.blocks, self._planned
        stage.estimate = SignedRank(self._sample).estimate
        if found.low is not None and found.high is not None:
            stage.interval = math.log1p(found.low), math.log1p(found.high)
        stage.alpha = stage.alpha or self.rule.alpha
        self.stages.append(stage)

    def _missed(self, missing: list[int]) -> None:
        for node in missing:
            limit = MISSES_OF_MIDDLE if node == self._middle else MISSES_OF_END
            if self._misses[node] >= limit:
                self.failed(node)
                return

    @property
    def noise(self) -> float:
        """Standard deviation of the difference of a pair of runs, over all stages (log units)."""
        return pooled(self.noises)

    @property
    def done(self) -> int:
        """Blocks of what is asked now."""
        return self._asked.blocks if self._asked else len(self._sample)

    @property
    def planned(self) -> int | None:
        """Blocks that what is asked now takes at most before an extension; None while unknown."""
        return self._asked.planned if self._asked else self._planned

    def left(self) -> Forecast:
        """What the rest takes, once the ends are told apart; nothing more before and after."""
        found = Forecast(0, 0, 0)
        for span in self.open_spans():
            args = span.gaps, span.path, span.pair, span.effect, max(self.noise, 1e-6)
            found = found.plus(forecast_of(*args))
        return found


def outwards(low: int, high: int) -> Iterator[int]:
    """Nodes between two, the middle first, then farther ones, each time twice as far, then the
    rest by distance: a broken stretch is left after few builds."""
    middle = (low + high) // 2
    inside = sorted(range(low + 1, high), key=lambda n: (abs(n - middle), n))
    jumps = {0} | {1 << k for k in range(high.bit_length())}
    yield from (n for n in inside if abs(n - middle) in jumps)
    yield from (n for n in inside if abs(n - middle) not in jumps)


def _cautious(found: Judgement, rule: Rule) -> float:
    """An effect to size steps for (log, above zero): halfway from the estimate to the near end of
    the interval, since a study that stops early sees too much."""
    assert found.estimate is not None
    assert found.low is not None
    assert found.high is not None
    size = abs(math.log1p(found.estimate))
    near = min(abs(math.log1p(found.low)), abs(math.log1p(found.high)))
    return max(rule.smallest_log / 2, (size + near) / 2)


def _ends(interval: tuple[float, float] | None) -> tuple[float | None, float | None]:
    if interval is None or math.isinf(interval[0]):
        return None, None
    return interval
