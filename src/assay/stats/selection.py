"""Which arms may be the best: multiple comparisons with the best, look by look.

An arm is out when another arm *beats* it: the repeated lower bound of their difference, over the
blocks that have both, lies above zero. Each ordered pair has a one-sided error of alpha/(m-1)
over the whole study, m being the number of arms at the start. Pure and replayed from the first
look on every call, like `sequence.py`.

The promise: with chance at least 1 - alpha the true best is inside at every look. Proof: let b
be the best. It leaves only if some rival j beats it although y_j - y_b is centred at or below
zero; a repeated one-sided bound errs so with chance at most alpha/(m-1) over all looks together,
and b has m-1 rivals. Of several equal bests each is kept with that chance. Which pairs are looked
at may depend on the data, for looking at fewer can only keep more. Hence

- the pairs of a look are those of the arms that were in when it began: order is of no account,
  and an arm that is beaten there still beats others there;
- an arm that is out beats nobody later. It is not measured any more, and the levels of later
  looks are not made for a sample that stands still; whoever beat it goes on in its place;
- where all arms of a look beat each other in a circle (ranks allow it), nobody leaves;
- the run order among those still in stays random, so two equal arms stay symmetric.

The bounds hold together for the rivals of one arm, not for all pairs of the study. This alpha is
the set's own; verdicts against the baseline have theirs.

Not here: how much an arm gains over the baseline (`sequence.py`); which arms the bench runs.

Sources: Hsu, Multiple Comparisons (1996), chapter 4, for the set; Paulson, Ann. Math. Stat. 35
(1964), elimination by pairs with a union bound; Jennison & Turnbull, Group Sequential Methods
(2000), chapters 9 and 16, repeated intervals and several arms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.reasons import Code, Reason
from assay.stats.boundary import Schedule
from assay.stats.constants import STANDARD
from assay.stats.robustness import within
from assay.stats.signed_rank import DECIMALS, SignedRank, critical_count

Table = Mapping[int, Mapping[str, float]]
"""Block index, from 0 -> arm -> signed natural log of the metric, up is better."""


@dataclass(frozen=True)
class Beaten:
    """Why an arm is out: `by` is better by more than `low` (a fraction) on `blocks` blocks.
    Of several arms that beat it at the same look, the one with the largest bound."""

    by: str
    blocks: int
    low: float

    @property
    def reason(self) -> Reason:
        """Why its own verdict is not waited for."""
        return Reason.of(Code.LEFT_RACE, by=self.by, low=self.low, blocks=self.blocks)

    @property
    def why(self) -> Reason:
        """Why it is out."""
        return Reason.of(Code.BEATEN, by=self.by, low=self.low, blocks=self.blocks)


@dataclass(frozen=True)
class BestSet:
    """The arms that may be the best, and what became of the others.

    inside    by name
    out       in the order they left, then by name
    looks     how many looks were read
    level     one-sided error over the whole study of each comparison: alpha/(m-1)
    reason    what is known of the best
    """

    inside: tuple[str, ...]
    out: dict[str, Beaten]
    looks: int
    level: float
    reason: Reason


def best_set(
    table: Table,
    arms: Sequence[str],
    schedule: Schedule,
    alpha: float,
    blocks_done: int,
) -> BestSet:
    """Replay every look of `schedule` that `blocks_done` blocks have reached.

    `arms`: all that were in the race at the start, the baseline too where doing nothing may be
    the best. A block may lack arms; what it holds of
    arms that are out, or from a look on that is not reached, is not read. Raises ValueError
    without arms, when one is named twice, on an alpha outside (0, 0.5) and on values that are
    not finite.
    """
    race = _Race(table, arms, schedule, alpha, blocks_done)
    start: State = (0, race.arms, {})
    looks, inside, out = [start, *race.replay()][-1]
    return BestSet(inside, out, looks, race.error, race.reason(looks, inside))


def settled(
    table: Table,
    arms: Sequence[str],
    schedule: Schedule,
    alpha: float,
    blocks_done: int,
    margin: float,
    equivalence: float = STANDARD.equivalence,
) -> tuple[bool, Reason]:
    """Whether a race is over, and why; arguments as for `best_set`, `margin` a fraction,
    `equivalence` the two-sided level of "within the margin".

    Over means: one arm is left, or every two arms of the set lie within the margin of each other
    (repeated intervals, 5 % per side and pair, not corrected for how the set came about), or the
    planned blocks are done. It stays over, whatever blocks follow.
    """
    race = _Race(table, arms, schedule, alpha, blocks_done)
    inside = race.arms
    for looks, inside, _ in race.replay():
        if len(inside) == 1:
            return True, Reason.of(Code.RACE_WON, arm=inside[0], **race.place(looks))
        if race.equal(looks, inside, math.log1p(margin), equivalence):
            return True, Reason.of(
                Code.RACE_EQUAL, names=inside, margin=margin, **race.place(looks)
            )
    count = {"inside": len(inside), "arms": len(race.arms)}
    if blocks_done >= schedule.planned:
        return True, Reason.of(Code.RACE_DONE, planned=schedule.planned, **count)
    return False, Reason.of(Code.RACE_OPEN, **count)


def sweet_spot(
    inside: Sequence[str],
    efforts: Mapping[str, str | None],
    lows: Mapping[str, float | None],
    changes: Mapping[str, int] | None = None,
) -> str | None:
    """The arm of the best set that costs least; None for an empty set.

    `efforts`: letters A to F, None for the baseline, which costs nothing. `lows`: lower bound of
    the gain over the baseline, a fraction; None where unbounded. `changes`: how many changes an
    arm is made of. Of equal efforts the fewest changes go first, then the larger bound, then the
    name. Points at an effort, never at an estimate.
    """

    def cost(arm: str) -> tuple[str, int, float, str]:
        low = lows.get(arm)
        count = 0 if changes is None else changes[arm]
        return efforts[arm] or "", count, math.inf if low is None else -low, arm

    return min(inside, key=cost, default=None)


def pareto(
    efforts: Mapping[str, str | None],
    lows: Mapping[str, float | None],
    changes: Mapping[str, int] | None = None,
) -> tuple[str, ...]:
    """The arms for which no other gains as much for less, or more for as little.

    Gain means its lower bound, so that luck does not draw the front; an arm whose bound is None,
    zero or below is not on it. The baseline (effort None) gains zero for nothing and is where
    the front starts. Of equal efforts the one of fewer `changes` is the smaller. Ascending in
    effort; arms equal in both are all on it, by name.
    """
    points = {
        arm: ((effort or "", 0 if changes is None else changes[arm]), low)
        for arm, effort in efforts.items()
        if (low := lows.get(arm) if effort else 0.0) is not None and (low > 0 or not effort)
    }
    front = [
        arm
        for arm, (effort, low) in points.items()
        if not any(e <= effort and g >= low and (e, g) != (effort, low) for e, g in points.values())
    ]
    return tuple(sorted(front, key=lambda arm: (points[arm][0], arm)))


Floats = NDArray[np.float64]
State = tuple[int, tuple[str, ...], dict[str, Beaten]]
"""Looks read so far, arms inside, arms out."""


class _Race:
    """The differences of all pairs, computed once, and the looks over them."""

    def __init__(
        self,
        table: Table,
        arms: Sequence[str],
        schedule: Schedule,
        alpha: float,
        blocks_done: int,
    ) -> None:
        self.arms = tuple(sorted(arms))
        if not arms or len(set(arms)) < len(arms):
            raise ValueError("a race needs at least one arm, and each arm once")
        if not 0 < alpha < 0.5:
            raise ValueError(f"alpha must lie between 0 and 0.5, not {alpha}")
        self.schedule, self.alpha = schedule, alpha
        self.error = alpha / max(len(arms) - 1, 1)
        self.reached = tuple(look for look in schedule.looks if look <= blocks_done)
        values = _grid(table, self.arms, max(self.reached, default=0))
        # [block, i, j] is how far j is ahead of i there, NaN where one of them is missing.
        self.ahead = np.round(values[:, None, :] - values[:, :, None], DECIMALS)
        self.shared = np.cumsum(~np.isnan(self.ahead), axis=0)
        self.behind = np.cumsum(self.ahead <= 0, axis=0)

    def replay(self) -> Iterator[State]:
        """The state after each look that is reached."""
        out: dict[str, Beaten] = {}
        for index, look in enumerate(self.reached):
            inside = [k for k, arm in enumerate(self.arms) if arm not in out]
            beaten = self._beaten(look, inside, self.level(index, 2 * self.error))
            if len(beaten) < len(inside):
                out = {**out, **beaten}
            yield index + 1, tuple(self.arms[k] for k in inside if self.arms[k] not in out), out

    def _beaten(self, look: int, inside: list[int], level: float) -> dict[str, Beaten]:
        """The arms that some other arm beats at this look.

        An arm with k blocks not ahead of its rival has k(k+1)/2 Walsh averages at or below zero
        from these alone; unless they are fewer than the depth of the interval, its bound cannot
        be above zero. That settles most pairs at a glance, a count of all averages the rest.
        """
        square = np.ix_(inside, inside)
        shared, behind = self.shared[look - 1][square], self.behind[look - 1][square]
        depth = np.zeros(look + 1)
        for count in set(shared.ravel().tolist()):
            depth[count] = critical_count(count, level)
        found: dict[str, Beaten] = {}
        for row, column in np.argwhere(behind * (behind + 1) / 2 < depth[shared]).tolist():
            i, j = inside[row], inside[column]
            values = self._pair(look, i, j)
            if _not_above_zero(values) >= depth[len(values)]:
                continue
            low = math.expm1(SignedRank(values).interval(level)[0])
            known = found.get(self.arms[i])
            if known is None or low > known.low:
                found[self.arms[i]] = Beaten(self.arms[j], len(values), low)
        return found

    def equal(self, looks: int, inside: tuple[str, ...], margin_log: float, level: float) -> bool:
        """Whether every two arms of the set are shown to lie within the margin."""
        look, nominal = self.reached[looks - 1], self.level(looks - 1, level)
        places = [self.arms.index(arm) for arm in inside]
        return all(
            len(values := self._pair(look, i, j)) > 0
            and within(SignedRank(values).interval(nominal), margin_log)
            for i, j in itertools.combinations(places, 2)
        )

    def _pair(self, look: int, i: int, j: int) -> Floats:
        values = self.ahead[:look, i, j]
        return values[~np.isnan(values)]

    def level(self, index: int, alpha: float) -> float:
        return self.schedule.levels(alpha)[index]

    def place(self, looks: int) -> dict[str, int]:
        """Where a look stands, as fields of a reason."""
        return {"look": looks, "looks": len(self.schedule.looks), "blocks": self.reached[looks - 1]}

    def reason(self, looks: int, inside: tuple[str, ...]) -> Reason:
        """What is known of the best after so many looks."""
        count = len(self.arms)
        if len(inside) == count == 1:
            return Reason.of(Code.ONLY_ARM, arm=inside[0])
        if looks == 0:
            return Reason.of(Code.BEST_LATER, block=self.schedule.looks[0])
        blocks = self.reached[looks - 1]
        unknowable = critical_count(blocks, self.level(looks - 1, 2 * self.error)) == 0
        if unknowable and len(inside) > 1:
            return Reason.of(Code.BEST_UNKNOWABLE, blocks=blocks, arms=count)
        if len(inside) == count:
            return Reason.of(Code.BEST_OPEN, arms=count, **self.place(looks))
        return Reason.of(
            Code.BEST, names=inside, arms=count, confidence=1 - self.alpha, **self.place(looks)
        )


def _not_above_zero(values: Floats) -> int:
    """How many Walsh averages are at or below zero, without forming them."""
    ordered = np.sort(values)
    both_ways = ordered.searchsorted(-ordered, side="right").sum()
    return int(both_ways + np.count_nonzero(values <= 0)) // 2


def _grid(table: Table, arms: tuple[str, ...], blocks: int) -> Floats:
    """Blocks by arms, NaN where a run is missing. Raises ValueError on values not finite."""
    values = np.full((blocks, len(arms)), np.nan)
    for block in range(blocks):
        row = table.get(block, {})
        for place, arm in enumerate(arms):
            if arm in row:
                if not math.isfinite(row[arm]):
                    raise ValueError(f"{arm}, block {block}: a value must be finite")
                values[block, place] = row[arm]
    return values
